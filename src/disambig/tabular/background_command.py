"""Run disambig beside other work: after it, and no longer than the process that started this one.

``python -m disambig.tabular.background_command FOLDER WORDS...`` runs ``disambig WORDS...``. Its
standard input is a pipe that nobody writes to: it ends with the process that holds the other end,
however that ends. FOLDER is then removed, as nobody else is there to do it.
"""

import os
import runpy
import shutil
import sys
from threading import Thread

_LESS_URGENT = 10


def main() -> None:
    """Run the command that the arguments name."""
    folder, *words = sys.argv[1:]
    if hasattr(os, "nice"):  # not on Windows
        os.nice(_LESS_URGENT)
    Thread(target=_end_with_input, args=(folder,), daemon=True).start()
    sys.argv = ["disambig", *words]
    runpy.run_module("disambig", run_name="__main__")


def _end_with_input(folder: str) -> None:
    while os.read(0, 1024):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()
