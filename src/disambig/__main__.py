"""The command ``disambig``; ``python -m disambig`` is the same."""

import signal
import sys

_INTERRUPTED = 130  # as shells have it


def main() -> None:
    """Run the command; an interrupt ends it without a traceback, while it loads and ends too."""
    # Not where a shell has put the command into the background.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process at once
    from disambig.cli.main import main as run  # takes a moment

    try:
        if is_heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    finally:
        if is_heard:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
