"""The rows of a delimited export as records, and which of its columns hold the answers."""

from collections.abc import Iterator, Sequence
from typing import Any

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.files.content import FileContent, beginning
from disambig.tabular.files.text import read_delimited

_MOST_LOOKED_AT = 1 << 16
_DELIMITERS = (",", "\t", ";")  # some spreadsheets write the last
# How a question is named.
FIELD_OPTION = "disambig import --field (in Python field=)"


def read_rows(content: FileContent, options: ReadOptions) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every row, and before it what messages call it."""
    header = beginning(content, _MOST_LOOKED_AT).partition("\n")[0]
    frame = read_delimited(
        content,
        delimiter=max(_DELIMITERS, key=header.count),
        encoding=options.encoding,
        check_delimiter=False,
    )
    names = list(frame.columns)
    rows = zip(*(column.tolist() for _, column in frame.items()), strict=True)
    for number, row in enumerate(rows, start=1):
        yield f"Row {number:,} of {content.name}", dict(zip(names, row, strict=True))


def choose_field(fields: Sequence[str], options: ReadOptions, name: str) -> str:
    """Return the one field of answers, or the one that was asked for."""
    if not fields:
        raise TableError(
            f"{name} has no answers. Check that it is the export of the tool named by --from (in "
            "Python tool=), and complete."
        )
    if options.field is not None and options.field not in fields:
        raise TableError(
            f"{name} has no answers to a question {options.field!r}. It has {join_names(fields)}: "
            f"name one of them: {FIELD_OPTION}."
        )
    if options.field is None and len(fields) > 1:
        raise TableError(
            f"{name} has answers to several questions: {join_names(fields)}. Name the one whose "
            f"answers are the labels: {FIELD_OPTION}."
        )
    return options.field or fields[0]
