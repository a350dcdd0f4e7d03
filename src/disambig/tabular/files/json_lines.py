"""JSON records, one object a line or a list of objects; lists and objects in cells stay."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import quote_value
from disambig._core.parsing import DEEPEST, is_too_deep, without_repeats
from disambig.tabular.files.content import FileContent, decode_lines, half_character
from disambig.tabular.files.formats import check_names
from disambig.tabular.files.text import BYTES_OF_COLUMN, CELLS_AT_ONCE
from disambig.tabular.table_cells import LARGEST_EXACT_INTEGER, json_value

_ROWS_AT_ONCE = 2_000
_BYTES_OF_CELL = 24  # in a list, in an array, and while one is made of the other
_KEY = re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*:')
_SPACE = re.compile(r"[ \t\n\r]*")
_SHOWN = 30
_ADVICE = 'It needs to look like {"name": "value"}.'
DECODER = json.JSONDecoder(object_pairs_hook=without_repeats)
_TYPE_NAMES = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def read_json_lines(source: FileContent, *, encoding: str | None) -> Any:
    """Return a data frame; keys that an object does not have are None.

    A file that is one list of objects is read as what it is.
    """
    # In JSON a lone CR is a space.
    with decode_lines(source, encoding, place_in_json, newline="\n") as lines:
        begun = []
        for line in lines:
            begun.append(line)
            if not line.isspace():
                break
        lines = chain(begun, lines)
        is_list = bool(begun) and begun[-1].lstrip().startswith("[")
        records = (
            records_of_list("".join(lines), source.name)
            if is_list
            else json_records(lines, source.name)
        )
        return frame_of_records(records, source)


def frame_of_records(records: Iterable[dict[str, Any]], source: FileContent) -> Any:
    """Return a data frame of objects; keys that an object does not have are None."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for some in _batches(records):
        new = _new_keys(some, columns)
        n_columns, n_rows_then = len(columns) + len(new), n_rows + len(some)
        # Objects with keys of their own make a table that is mostly gaps.
        source.check_memory(
            (BYTES_OF_COLUMN + _BYTES_OF_CELL * n_rows_then) * n_columns,
            f"The table of {n_rows_then:,} rows and {n_columns:,} different keys",
        )
        columns.update({name: [None] * n_rows for name in new})
        for name, column in columns.items():
            column.extend([record.get(name) for record in some])
        n_rows = n_rows_then
    if not n_rows:
        raise TableError(f"{source.name} needs at least one JSON object. It is empty.")
    check_names(columns, source.name)
    arrays = {name: column_of(column) for name, column in columns.items()}
    return pd.DataFrame(arrays, copy=False)


def records_of_list(text: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, one after the other."""
    end = after_space(text, after_space(text) + 1)
    number = 0
    while text[end : end + 1] != "]" or number:
        number += 1
        place = f"Object {number:,} of {name}"
        try:
            record, after = DECODER.raw_decode(text, end)
        except (ValueError, RecursionError) as error:
            raise TableError(
                f"A list of rows is made of JSON objects. {place} cannot be read: {error}. Is the "
                "file complete?"
            ) from error
        if not isinstance(record, dict):
            raise TableError(
                f"A list of rows is made of JSON objects. {place} is {type_name(record)}. It needs "
                'to look like {"name": "value"}.'
            )
        check_cells(record, text[end:after], place)
        yield record
        end = after_space(text, after)
        if text[end : end + 1] != ",":
            break
        end = after_space(text, end + 1)
    behind = after_space(text, end + 1)
    if text[end : end + 1] != "]" or behind < len(text):
        raise TableError(
            f"A list of rows ends in a bracket, and nothing follows it. {name} has "
            f"{quote_value(text[end : end + _SHOWN])} behind object {number:,}. Is the file "
            "complete?"
        )


def after_space(text: str, start: int = 0) -> int:
    """Return where the first character is that is not a space."""
    space = _SPACE.match(text, start)
    return start if space is None else space.end()


def write_json_lines(frames: Iterable[Any], stream: BinaryIO) -> None:
    """Write one object a row, in UTF-8; missing values are null, lists stay lists."""
    for lines in chain.from_iterable(map(json_objects, frames)):
        stream.write("".join(f"{line}\n" for line in lines).encode())


def json_objects(frame: Any) -> Iterator[list[str]]:
    """Yield the rows of a data frame as JSON objects, some at a time."""
    names = list(frame.columns)
    encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False)
    for start in range(0, len(frame), _ROWS_AT_ONCE):
        some = frame.iloc[start : start + _ROWS_AT_ONCE]
        rows = zip(*(_json_cells(column) for _, column in some.items()), strict=True)
        yield [encoder.encode(dict(zip(names, row, strict=True))) for row in rows]


def _batches(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield some objects at a time, few where they are large."""
    some: list[dict[str, Any]] = []
    n_cells = 0
    for record in records:
        some.append(record)
        n_cells += len(record)
        if len(some) >= _ROWS_AT_ONCE or n_cells >= CELLS_AT_ONCE:
            yield some
            some, n_cells = [], 0
    if some:
        yield some


def _new_keys(records: list[dict[str, Any]], known: Mapping[str, Any]) -> dict[str, None]:
    """Return the keys, in order, that no object before has had."""
    new: dict[str, None] = {}
    for record in records:
        if record.keys() != known.keys():
            new.update(dict.fromkeys(name for name in record if name not in known))
    return new


def json_records(lines: Iterable[str], name: str) -> Iterator[dict[str, Any]]:
    """Yield the object of every line that is not blank; ``name`` is what messages call the file."""
    for number, line in enumerate(lines, start=1):
        if not line.isspace():
            yield _read_line(line, f"Line {number:,} of {name}")


def _read_line(line: str, place: str) -> dict[str, Any]:
    try:
        record = DECODER.decode(line.strip())
    # Also for numbers that are too long, brackets that are too deep and keys that are there twice.
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"Every line needs to be one JSON object. {place} cannot be read: {error}. {_ADVICE}"
        ) from error
    if not isinstance(record, dict):
        raise TableError(
            f"Every line needs to be one JSON object. {place} is {type_name(record)}. {_ADVICE}"
        )
    check_cells(record, line, place)
    return record


def type_name(value: Any) -> str:
    """Return what messages call a value that is not an object."""
    return _TYPE_NAMES.get(type(value), "a number")


def check_cells(record: dict[str, Any], text: str, place: str) -> None:
    """Refuse what could be read from a text, and not be worked with and written."""
    # Seldom: characters can be written as two halves, and brackets be in each other.
    if "\\ud" in text or "\\uD" in text or text.count("[") + text.count("{") > DEEPEST:
        for name, value in record.items():
            check_cell(name, value, place)


def check_cell(name: str, value: Any, place: str) -> None:
    """Refuse what could be read, and not be worked with and written."""
    if is_too_deep(value):
        raise TableError(
            f"Lists and objects in a cell may lie {DEEPEST} deep in each other. {place} has a "
            f"deeper one in column {quote_value(name)}. Take it out, or make it a string."
        )
    for text in (name, json.dumps(value, ensure_ascii=False)):
        half = half_character(text)
        if half is not None:
            raise TableError(
                f"Text needs whole characters. {place} has half of one, {half}, in column "
                f"{quote_value(name)}. Take it out."
            )


def place_in_json(before: str) -> str:
    """Return the column of what begins behind some text."""
    keys = _KEY.findall(before, before.rfind("\n") + 1)
    return f"column {keys[-1]!r}" if keys else ""


def column_of(values: list[Any]) -> Any:
    """Return a column of numbers or strings where that changes no value, else one of objects."""
    kinds = set(map(type, values))
    if kinds == {bool}:
        return np.array(values, dtype=bool)
    if kinds <= {str, type(None)} and str in kinds:
        return pd.array(values, dtype="str")
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    if float in kinds and kinds <= {int, float, type(None)}:
        whole = (value for value in values if type(value) is int)
        if all(abs(value) <= LARGEST_EXACT_INTEGER for value in whole):
            return np.array(values, dtype=np.float64)
    objects = np.empty(len(values), dtype=object)  # np.array would look into lists
    objects[:] = values
    return objects


def _json_cells(column: Any) -> list[Any]:
    cells: list[Any] = column.tolist()
    is_simple = column.dtype == "str" or column.dtype.kind in "biuf"
    return cells if is_simple and not column.isna().any() else [json_value(cell) for cell in cells]
