"""The command ``disambig`` and how it ends: 0 done, 1 the work failed, 2 bad input."""

import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from disambig._core.errors import ClusterError, DisambigError, DownloadError, TrainingError
from disambig._core.processes import OBJECTS_BETWEEN_COLLECTIONS
from disambig._version import __version__
from disambig.cli import (
    ask,
    audit,
    clean,
    datasets,
    example,
    exports,
    fetch,
    fit,
    imports,
    methods,
    new_method,
    predict,
    report,
    reproduce,
    review,
    serve,
    study,
)
from disambig.cli.console import (
    Terminal,
    collected_notices,
    fall_silent,
    open_streams,
    say,
    say_usage,
    speak_again,
)
from disambig.cli.help_pages import PlainCommand, PlainGroup
from disambig.cli.together import launched_rank_and_size, process_name, takes_no_part

# The input was right, and yet it did not work.
_FAILED_WORK = (ClusterError, DownloadError, TrainingError)
# Where the path that was given is at fault, not the disk.
_BAD_PATH = (
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)
# Of click, which older versions of typer need and newer ones have a copy of.
_WrongUsageError: type[Exception] = typer.BadParameter.__mro__[1]
# About one screen, whatever a file makes a message say.
_LONGEST_MESSAGE = 1_600

_ABOUT = """Train classifiers on ambiguous labels.

A row may say cat|dog, where one of the two is right.

Start with: disambig example
"""
# The commands of each panel of --help, in the order in which they are used.
_COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Your own table": {
        "example": example.example,
        "audit": audit.audit,
        "fit": fit.fit,
        "clean": clean.clean,
        "ask": ask.ask,
        "predict": predict.predict,
        "serve": serve.serve,
    },
    "Annotation tools": {"import": imports.import_, "export": exports.export},
    "Pages in the browser": {"report": report.report, "review": review.review},
    "Research": {
        "methods": methods.methods,
        "datasets": datasets.datasets,
        "fetch": fetch.fetch,
        "study": study.study,
        "reproduce": reproduce.reproduce,
        "new-method": new_method.new_method,
    },
}

app = typer.Typer(
    name="disambig",
    help=_ABOUT,
    cls=PlainGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",  # lines of a paragraph flow together
    pretty_exceptions_enable=False,
)
for _panel, _commands in _COMMANDS.items():
    for _name, _command in _commands.items():
        app.command(_name, cls=PlainCommand, rich_help_panel=_panel)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(__version__, Terminal())
        raise typer.Exit


@app.callback(help=_ABOUT)
def _options(
    version: Annotated[  # typer calls back
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take the options that no command has."""


def main() -> None:
    """Run the command; whatever goes wrong ends in a message and an exit code."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    open_streams()
    if takes_no_part(sys.argv[1:]):
        return
    if launched_rank_and_size()[0] > 0:
        fall_silent()
    try:
        with collected_notices():
            # Not standing alone, typer hands over errors instead of printing what users typed.
            sys.exit(app(standalone_mode=False))
    except _WrongUsageError as error:
        _end_usage(error)
    except DisambigError as error:
        _end(str(error), 1 if isinstance(error, _FAILED_WORK) else 2)
    except MemoryError:
        _end("There is not enough memory for this. Try fewer rows or columns.", 1)
    except OSError as error:
        _end(*_disk_message(error))
    # Nobody should have to read a traceback.
    except Exception as error:  # noqa: BLE001
        if os.environ.get("DISAMBIG_DEBUG"):
            say("".join(traceback.format_exception(error)))
            sys.exit(1)
        _end(
            f"This should not happen. It is a bug in disambig: {type(error).__name__}: {error}. "
            "Please report it, with what the command prints under DISAMBIG_DEBUG=1.",
            1,
        )


def _end_usage(error: Any) -> NoReturn:
    """Say how a command is called, unless typer has shown its help already, and end."""
    if type(error).__name__ != "NoArgsIsHelpError":
        hint = f"Try '{error.ctx.command_path} --help' for help."
        say_usage(error.ctx.get_usage(), hint, error.format_message())
    sys.exit(error.exit_code)


def _disk_message(error: OSError) -> tuple[str, int]:
    """Return what to say of an error of the system, and how to end."""
    if error.errno in _BAD_PATH and error.filename is not None:
        return (
            f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}. Choose another "
            "path, or check that you may read and write there.",
            2,
        )
    return str(error), 1  # a full disk, for example


def _end(message: str, code: int) -> NoReturn:
    if len(message) > _LONGEST_MESSAGE:  # a name or a cell of the file that goes on and on
        half = _LONGEST_MESSAGE // 2
        message = f"{message[:half]} ... {message[-half:]}"
    speak_again()
    say(f"{process_name()}: {message}")
    sys.exit(code)
