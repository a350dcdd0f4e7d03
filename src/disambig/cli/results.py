"""Where a command writes its table, looked at before the work begins."""

from pathlib import Path

from disambig._core.errors import ParameterError, TableError

__all__ = ["check_output", "output_delimiter", "partial_folder"]

_STANDARD_OUTPUT = "-"


def check_output(out: str, *, json: bool) -> None:
    """Refuse a place that no table can be written to."""
    from disambig.tables.files.formats import format_of  # keeps --help quick

    if out == _STANDARD_OUTPUT:
        if json:
            raise ParameterError(
                "Standard output can carry the table or the JSON, not both. Give --out a file."
            )
        return
    path = Path(out)
    format_of(path)
    if path.is_dir():
        raise TableError(f"{out} is a folder. Give the name of a file.")


def output_delimiter(out: str, delimiter: str | None) -> str | None:
    """Return what stands between cells of the output: that of the input, where it is a CSV too."""
    from disambig.tables.files.formats import format_of  # keeps --help quick

    is_csv = out == _STANDARD_OUTPUT or format_of(out) == "csv"
    return delimiter if is_csv else None


def partial_folder(out: str) -> str | None:
    """Return where unfinished work for an output is kept; nowhere for standard output."""
    return None if out == _STANDARD_OUTPUT else f"{out}.partial"
