"""``disambig example``: a table to try the commands on."""

from pathlib import Path
from typing import Annotated

import typer

from disambig._core.errors import ParameterError


def example(
    folder: Annotated[Path, typer.Argument(help="Where to put the two files.")] = Path(),
) -> None:
    """Write vehicles.csv, whose labels are ambiguous, and new-vehicles.csv, which has none.

    Example: disambig example
    """
    # keeps --help quick
    from disambig.cli.console import say
    from disambig.datasets.synthetic import example_tables
    from disambig.tabular.files.formats import write_table

    tables = example_tables()
    there = next((folder / name for name in tables if (folder / name).exists()), None)
    if there is not None:
        raise ParameterError(f"{there} is there already, and is left as it is. Name a folder.")
    for name, frame in tables.items():
        write_table(frame, folder / name)
        say(f"{folder / name}: {len(frame)} rows, {len(frame.columns)} columns")
