"""The command ``disambig`` and how it ends: 0 done, 1 the work failed, 2 bad input."""

import errno
import gc
import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from disambig._core.errors import ClusterError, DisambigError, DownloadError, TrainingError
from disambig._core.processes import OBJECTS_BETWEEN_COLLECTIONS
from disambig._version import __version__
from disambig.cli import (
    audit,
    clean,
    datasets,
    example,
    fetch,
    fit,
    methods,
    predict,
    report,
    reproduce,
    review,
    study,
)
from disambig.cli.console import collected_notices, say

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
# About one screen, whatever a file makes a message say.
_LONGEST_MESSAGE = 1_600

app = typer.Typer(
    name="disambig",
    help="Learn from rows with several candidate labels of which one is right.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # lines of a paragraph flow together
    pretty_exceptions_enable=False,
)
app.command("audit")(audit.audit)
app.command("fit")(fit.fit)
app.command("clean")(clean.clean)
app.command("predict")(predict.predict)
app.command("report")(report.report)
app.command("review")(review.review)
app.command("example")(example.example)
app.command("reproduce")(reproduce.reproduce)
app.command("study")(study.study)
app.command("datasets")(datasets.datasets)
app.command("fetch")(fetch.fetch)
app.command("methods")(methods.methods)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # typer calls back
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn from rows with several candidate labels of which one is right."""


def main() -> None:
    """Run the command; whatever goes wrong ends in a message and an exit code."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What an old console has no character for is shown as \u4e2d, as on standard error.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with collected_notices():
            app()
    except DisambigError as error:
        _end(str(error), 1 if isinstance(error, _FAILED_WORK) else 2)
    except MemoryError:
        _end("There is not enough memory for this. Try fewer rows or columns.", 1)
    except OSError as error:
        _end(*_disk_message(error))
    except Exception as error:  # nobody should have to read a traceback
        if os.environ.get("DISAMBIG_DEBUG"):
            raise
        _end(
            f"This should not happen, and is a mistake in disambig: {type(error).__name__}: "
            f"{error}. Please report it, with what DISAMBIG_DEBUG=1 shows.",
            1,
        )


def _disk_message(error: OSError) -> tuple[str, int]:
    """Return what to say of an error of the system, and how to end."""
    if error.errno in _BAD_PATH and error.filename is not None:
        return (
            f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}. Name another, or "
            "check whether you may read and write there.",
            2,
        )
    return str(error), 1  # a full disk, for example


def _end(message: str, code: int) -> NoReturn:
    if len(message) > _LONGEST_MESSAGE:  # a name or a cell of the file that goes on and on
        half = _LONGEST_MESSAGE // 2
        message = f"{message[:half]} ... {message[-half:]}"
    say(f"disambig: {message}")
    sys.exit(code)
