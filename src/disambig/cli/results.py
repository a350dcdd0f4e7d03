"""Where a command writes its table, looked at before the work begins."""

from pathlib import Path

from disambig._core.errors import ParameterError, TableError
from disambig._core.optional import import_extra
from disambig.tables.files.file_content import STANDARD_STREAM

__all__ = ["check_output", "output_delimiter", "partial_folder", "where_it_is"]

# What writes a format, and which extra of disambig installs it.
_EXTRAS = {"parquet": ("pyarrow", "parquet"), "xlsx": ("openpyxl", "excel")}


def check_output(out: str, *, json: bool, source: str) -> None:
    """Refuse a place that no table can be written to, or where more than the table would go.

    Parameters
    ----------
    out, source : str
        Where the table goes, and where it comes from.
    json : bool
        Whether something else goes to standard output.
    """
    from disambig.tables.files.formats import SUFFIXES  # keeps --help quick

    if out == STANDARD_STREAM:
        if json:
            raise ParameterError(
                "Standard output can carry the table or the JSON, not both. Give --out a file."
            )
        return
    path = Path(out)
    try:
        is_folder = path.is_dir()
    except OSError as error:  # a name that is too long, and the like
        raise TableError(
            f"{out} cannot be written: {error.strerror or error}. Name another file."
        ) from error
    if is_folder:
        raise TableError(f"{out} is a folder. Give --out the name of a file.")
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise TableError(
            f"--out needs a name that ends in one of {', '.join(SUFFIXES)}, or - for a CSV on "
            f"standard output. Got {out!r}."
        )
    if kind in _EXTRAS:
        module, extra = _EXTRAS[kind]
        import_extra(module, extra=extra)
    if kind == "xlsx" and path.resolve() == Path(source).resolve():
        raise TableError(
            f"{out} is the file that is read. Its formulas and other sheets would be lost: give "
            "--out another name."
        )


def output_delimiter(out: str, delimiter: str | None) -> str | None:
    """Return what stands between cells of the output: that of the input, where it is a CSV too."""
    return delimiter if out == STANDARD_STREAM or Path(out).suffix.lower() == ".csv" else None


def partial_folder(out: str | Path) -> str | None:
    """Return where unfinished work for an output is kept; nowhere for standard output."""
    return None if out == STANDARD_STREAM else f"{Path(out).resolve()}.partial"


def where_it_is(out: str) -> str:
    """Return a line on where the table is, if that is a file."""
    return "" if out == STANDARD_STREAM else f"\nThe table is in {out}."
