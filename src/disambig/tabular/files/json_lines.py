"""JSON lines: one object a line, lists and objects in cells stay."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

import pandas as pd

from disambig._core.errors import TableError
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.formats import check_names
from disambig.tabular.files.text import decode_lines
from disambig.tabular.table_cells import LARGEST_EXACT_INTEGER, json_value

_ROWS_AT_ONCE = 2_000
_TYPE_NAMES = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def read_json_lines(source: FileContent, *, encoding: str | None) -> Any:
    """Return a data frame; keys that an object does not have are None."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    # In JSON a lone CR is a space.
    with decode_lines(source, encoding, newline="\n") as lines:
        records = _records(lines, source.name)
        while some := list(islice(records, _ROWS_AT_ONCE)):
            for record in some:
                if record.keys() != columns.keys():
                    columns.update(
                        {name: [None] * n_rows for name in record if name not in columns}
                    )
            for name, column in columns.items():
                column.extend([record.get(name) for record in some])
            n_rows += len(some)
    if not n_rows:
        raise TableError(f"{source.name} needs at least one JSON object. It is empty.")
    check_names(columns, source.name)
    series = {name: _as_series(column) for name, column in columns.items()}
    return pd.DataFrame(series, copy=False)


def write_json_lines(frame: Any, stream: BinaryIO) -> None:
    """Write one object a row, in UTF-8; missing values are null, lists stay lists."""
    names = list(frame.columns)
    encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False)
    for start in range(0, len(frame), _ROWS_AT_ONCE):
        some = frame.iloc[start : start + _ROWS_AT_ONCE]
        rows = zip(*(_json_cells(column) for _, column in some.items()), strict=True)
        lines = (encoder.encode(dict(zip(names, row, strict=True))) for row in rows)
        stream.write("".join(f"{line}\n" for line in lines).encode())


class _RepeatedKeyError(Exception):
    """A key is in an object twice."""


def _records(lines: Iterable[str], name: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)
    for number, line in enumerate(lines, start=1):
        if not line.isspace():
            yield _read_line(line, decoder, f"line {number:,} of {name}")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return record


def _read_line(line: str, decoder: json.JSONDecoder, place: str) -> dict[str, Any]:
    try:
        record = decoder.decode(line.strip())
        if "\\ud" in line or "\\uD" in line:
            # Characters can be written as two halves, and one alone cannot be encoded.
            json.dumps(record, ensure_ascii=False).encode()
    except _RepeatedKeyError as error:
        raise TableError(
            f"An object needs every key once. {place.capitalize()} has {str(error)!r} more than "
            "once. Take one of them out."
        ) from None
    # Raised by the decoder for numbers that are too long, and brackets that are too deep.
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"Every line needs to be one JSON object. {place.capitalize()} cannot be read: "
            f"{error}. {_advice(line)}"
        ) from error
    if not isinstance(record, dict):
        found = _TYPE_NAMES.get(type(record), "a number")
        raise TableError(
            f"Every line needs to be one JSON object. {place.capitalize()} is {found}. "
            f"{_advice(line)}"
        )
    return record


def _advice(line: str) -> str:
    if line.lstrip().startswith("["):
        return "A file that is one list needs to be rewritten, one object a line."
    return 'It needs to look like {"name": "value"}.'


def _as_series(values: list[Any]) -> Any:
    """Return a column of numbers or strings where that changes no value, else one of objects."""
    kinds = set(map(type, values))
    dtype: Any = object
    if kinds == {bool}:
        dtype = bool
    elif kinds <= {str, type(None)} and str in kinds:
        dtype = "str"
    elif kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        dtype = "int64"
    elif float in kinds and kinds <= {int, float, type(None)}:
        whole = (value for value in values if type(value) is int)
        if all(abs(value) <= LARGEST_EXACT_INTEGER for value in whole):
            dtype = "float64"
    return pd.Series(values, dtype=dtype)


def _json_cells(column: Any) -> list[Any]:
    cells: list[Any] = column.tolist()
    is_simple = column.dtype == "str" or column.dtype.kind in "biuf"
    return cells if is_simple and not column.isna().any() else [json_value(cell) for cell in cells]
