"""The command ``disambig`` and how it ends: 0 done, 1 the work failed, 2 bad input."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from disambig._core.errors import ClusterError, DisambigError, DownloadError
from disambig._version import __version__
from disambig.cli import datasets, fetch, methods, reproduce, study

__all__ = ["app", "main"]

app = typer.Typer(
    name="disambig",
    help="Learn from rows with several candidate labels of which one is right.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
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
    """Run the command; turn the package's own errors into a message and an exit code."""
    try:
        app()
    except DisambigError as error:
        Console(stderr=True).print(
            f"disambig: {error}", markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(1 if isinstance(error, ClusterError | DownloadError) else 2)
