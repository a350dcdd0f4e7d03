"""``disambig example``: a table to try the commands on."""

import io
from pathlib import Path
from typing import Annotated

import typer

from disambig._core.errors import ParameterError


def example(
    folder: Annotated[
        Path, typer.Argument(help="Where to put the two files.", metavar="FOLDER")
    ] = Path(),
) -> None:
    """Write two small tables to try the other commands on.

    vehicles.csv has ambiguous labels, and a column of true labels for some rows; new-vehicles.csv
    has no labels.

    Example: disambig example
    """
    # keeps --help quick
    from disambig.cli.console import path_word, say_next, say_path
    from disambig.datasets.synthetic import example_tables
    from disambig.tabular.files.formats import find_writer, write_table

    tables = example_tables()
    for name, frame in tables.items():
        path, content = folder / name, io.BytesIO()
        find_writer(path)([frame], content)
        # One that is the same is of an earlier run, which may have been killed before its end.
        if path.exists() and path.read_bytes() != content.getvalue():
            raise ParameterError(
                f"{path} already exists and was left unchanged. Name another folder: disambig "
                "example FOLDER."
            )
    for name, frame in tables.items():
        write_table(frame, folder / name)
        say_path(f"{len(frame)} rows, {len(frame.columns)} columns:", folder / name)
    table = path_word(folder / next(iter(tables)))
    say_next(("look at it", ["audit", table, "--labels", "label", "--truth", "checked"]))
