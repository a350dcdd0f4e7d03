"""The formats in which a table can be kept, and how they are told apart."""

import os
from pathlib import Path

from disambig._core.errors import ParameterError, TableError, UnknownNameError

__all__ = ["FORMATS", "SUFFIXES", "checked_delimiter", "format_of"]

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def format_of(path: str | os.PathLike[str], given: str | None = None) -> str:
    """Return the format of a table: the given one, or what the suffix of the file says."""
    if given is not None:
        if given not in FORMATS:
            raise UnknownNameError("format of tables", given, FORMATS)
        return given
    suffix = Path(path).suffix
    known = SUFFIXES.get(suffix.lower())
    if known is None:
        ending = f"ends in {suffix!r}" if suffix else "has no suffix"
        raise TableError(
            f"The name of a table says its format by one of the suffixes {', '.join(SUFFIXES)}. "
            f"{path} {ending}. Name the format by --format (in Python format=), one of "
            f"{', '.join(FORMATS)}."
        )
    return known


def checked_delimiter(format: str, given: str | None) -> str | None:  # noqa: A002
    """Return what stands between the cells of a line, or None where cells are no text."""
    usual = _DELIMITERS.get(format)
    if given is None:
        return usual
    if usual is None:
        raise ParameterError(
            f"A delimiter goes with csv and tsv only. Got {given!r} for {format}. Leave it out."
        )
    delimiter = "\t" if given == "\\t" else given  # as a shell hands it over
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ParameterError(
            "The delimiter must be one character, and neither a quote nor the end of a line. "
            f"Got {given!r}."
        )
    return delimiter
