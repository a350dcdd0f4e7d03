"""Tables in one JSON document: a list of objects, or an object of the forms that pandas writes."""

from collections.abc import Iterable
from typing import Any, BinaryIO

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import join_names
from disambig.tabular.files.content import FileContent, decode_lines
from disambig.tabular.files.json_lines import (
    DECODER,
    after_space,
    check_cells,
    frame_of_records,
    json_objects,
    place_in_json,
    read_json_lines,
    records_of_list,
)
from disambig.tabular.table_cells import UNNAMED

Records = Iterable[dict[str, Any]]

# Of memory, for a list or an object, and for what is between two commas.
_BYTES_OF_COLLECTION = 64
_BYTES_OF_ITEM = 32


def read_json(source: FileContent, *, encoding: str | None) -> Any:
    """Return a data frame with the cells that JSON lines of the same rows would have."""
    with decode_lines(source, encoding, place_in_json, newline="\n") as lines:
        text = "".join(lines)
    start = after_space(text)
    match text[start : start + 1]:
        case "[":
            return frame_of_records(records_of_list(text, source.name), source)
        case "{":
            value, end = _read_object(text, start, source)
        case _:
            raise TableError(
                f"{source.name} needs to be a JSON list of objects, one for each row. It "
                f"{'is empty' if start == len(text) else 'begins with something else'}."
            )
    if after_space(text, end) < len(text):  # objects behind it: one a line
        return read_json_lines(source, encoding=encoding)
    check_cells(value, text, source.name)
    return frame_of_records(_records_of_object(value, source.name), source)


def write_json(frame: Any, stream: BinaryIO) -> None:
    """Write a list with one object for each row, each in a line."""
    before = "[\n"
    for objects in json_objects(frame):
        stream.write((before + ",\n".join(objects)).encode())
        before = ",\n"
    stream.write(b"\n]\n" if before == ",\n" else b"[]\n")


def _read_object(text: str, start: int, source: FileContent) -> tuple[dict[str, Any], int]:
    collections, items = text.count("{") + text.count("["), text.count(",")
    # All of it is taken apart at once.
    needed = _BYTES_OF_COLLECTION * collections + _BYTES_OF_ITEM * items
    source.check_memory(needed, "The content")
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"{source.name} cannot be read as JSON: {error}. Is the file complete?"
        ) from error
    return value, end


def _records_of_object(value: dict[str, Any], name: str) -> Records:
    """Return the rows of a table that is one object."""
    lists = {key: cells for key, cells in value.items() if isinstance(cells, list)}
    objects = {key: cells for key, cells in value.items() if isinstance(cells, dict)}
    if {"columns", "data"} <= value.keys() <= {"columns", "index", "data"}:
        return _split(value, name)
    if len(lists) == 1:
        ((key, rows),) = lists.items()
        if rows and all(isinstance(row, dict) for row in rows):
            return _wrapped(value, key, rows, name)
    if value and len(lists) == len(value):
        return _columns(lists, name)
    if value and len(objects) == len(value):
        return _by_index(objects, name)
    if not lists and not objects:
        return [value] if value else []
    raise _no_table(name)


def _wrapped(value: dict[str, Any], key: str, rows: list[Any], name: str) -> Records:
    """Return the rows that are a list among other things, such as the schema that pandas adds."""
    others = [other for other in value if other not in (key, "schema")]
    if others:
        warn_caller(f"Rows are read from {key!r} of {name}; left out: {join_names(others)}.")
    return rows


def _columns(lists: dict[str, list[Any]], name: str) -> Records:
    sizes = {len(cells) for cells in lists.values()}
    if len(sizes) > 1:
        raise TableError(
            f"The columns of a table have the same number of cells. Those of {name} have "
            f"{min(sizes):,} to {max(sizes):,}."
        )
    return (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))


def _split(value: dict[str, Any], name: str) -> Records:
    names, rows, index = value["columns"], value["data"], value.get("index")
    is_table = (
        isinstance(names, list)
        and all(isinstance(each, str) for each in names)
        and len(set(names)) == len(names)
        and isinstance(rows, list)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
        and (index is None or (isinstance(index, list) and len(index) == len(rows)))
    )
    if not is_table:
        raise _no_table(name)
    records = (dict(zip(names, row, strict=True)) for row in rows)
    return records if index is None else _with_index(index, records)


def _by_index(objects: dict[str, dict[str, Any]], name: str) -> Records:
    """Return the rows of an object of columns, or of rows, whose cells, or which, are numbered."""
    rows_of = dict.fromkeys(key for cells in objects.values() for key in cells)
    if _are_numbers(rows_of) and not _are_numbers(objects):
        return ({column: cells.get(row) for column, cells in objects.items()} for row in rows_of)
    if _are_numbers(objects) and not _are_numbers(rows_of):
        return objects.values()
    raise _no_table(name)


def _are_numbers(names: Iterable[str]) -> bool:
    return all(name.isascii() and name.isdigit() for name in names)


def _with_index(index: list[Any], records: Records) -> Records:
    """Return rows with their names as the first column, unless they are just numbers."""
    if all(isinstance(name, int) for name in index):
        return records
    return ({UNNAMED: name, **record} for name, record in zip(index, records, strict=True))


def _no_table(name: str) -> TableError:
    return TableError(
        f"{name} is one JSON object, and which of its parts are rows is not clear. A table is a "
        "list of objects, one for each row (in pandas to_json(orient='records')), or an object "
        "with a list for each column."
    )
