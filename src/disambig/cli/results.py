"""Where a command writes its table, looked at before the work begins."""

from pathlib import Path

from disambig._core.errors import ParameterError, TableError

__all__ = ["STANDARD_OUTPUT", "check_output", "output_delimiter", "partial_folder", "where_it_is"]

STANDARD_OUTPUT = "-"


def check_output(out: str, *, json: bool) -> None:
    """Refuse a place that no table can be written to."""
    from disambig.tables.files.formats import SUFFIXES  # keeps --help quick

    if out == STANDARD_OUTPUT:
        if json:
            raise ParameterError(
                "Standard output can carry the table or the JSON, not both. Give --out a file."
            )
        return
    path = Path(out)
    if path.is_dir():
        raise TableError(f"{out} is a folder. Give --out the name of a file.")
    if path.suffix.lower() not in SUFFIXES:
        raise TableError(
            f"--out needs a name that ends in one of {', '.join(SUFFIXES)}, or - for a CSV on "
            f"standard output. Got {out!r}."
        )


def output_delimiter(out: str, delimiter: str | None) -> str | None:
    """Return what stands between cells of the output: that of the input, where it is a CSV too."""
    return delimiter if out == STANDARD_OUTPUT or Path(out).suffix.lower() == ".csv" else None


def partial_folder(out: str | Path) -> str | None:
    """Return where unfinished work for an output is kept; nowhere for standard output."""
    return None if out == STANDARD_OUTPUT else f"{out}.partial"


def where_it_is(out: str) -> str:
    """Return a sentence on where the table is, if that is a file."""
    return "" if out == STANDARD_OUTPUT else f" The table is in {out}."
