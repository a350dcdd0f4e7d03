"""``python -m disambig`` is the command ``disambig``."""

from disambig.cli.main import main

if __name__ == "__main__":
    main()
