"""The records of a JSON file: a list of objects, one object, or an object a line."""

from collections.abc import Iterable, Iterator
from typing import Any

from disambig._core.errors import TableError
from disambig._core.messages import printable
from disambig._core.parsing import parse_json
from disambig.tabular.files.content import FileContent, decode_lines
from disambig.tabular.files.json_lines import check_cells, json_records, records_of_list

_LONGEST = 60


def read_records(
    content: FileContent, encoding: str | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every record, and before it what messages call it."""
    with decode_lines(content, encoding, lambda _: "", newline="\n") as decoded:
        lines = list(decoded)
    first = next((line.strip() for line in lines if not line.isspace()), "")
    if not first:
        raise TableError(f"{content.name} needs at least one JSON object. It is empty.")
    records: Iterable[dict[str, Any]]
    if first.startswith("["):
        records = records_of_list("".join(lines), content.name)
    elif first == "{":  # in JSON lines, objects end in the line in which they begin
        records = [_only_object("".join(lines), content.name)]
    else:
        records = json_records(lines, content.name)
    number = 0
    for number, record in enumerate(records, start=1):
        yield f"Record {number:,} of {content.name}", record
    if not number:
        raise TableError(f"{content.name} needs at least one JSON object. It is an empty list.")


def _only_object(text: str, name: str) -> dict[str, Any]:
    def refuse(reason: str) -> TableError:
        return TableError(f"{name} needs to be a JSON object, or a list of them, but {reason}.")

    value: dict[str, Any] = parse_json(text, refuse)
    check_cells(value, text, name)
    return value


def embedded(text: str) -> Any:
    """Return the value in a text that holds JSON; None if it holds none that can be used."""
    try:
        value = parse_json(text, ValueError)
        check_cells({"": value}, text, "")
    except (ValueError, TableError):
        return None
    return value


def wrong(place: str, needed: str, found: Any) -> TableError:
    """Return the error that a part of a record is not what it should be."""
    shown = "nothing" if found is None else printable(found, _LONGEST)
    return TableError(
        f"{place} needs {needed}. Got {shown}. Check that the file is the export of the tool named "
        "by --from (in Python tool=), and complete."
    )


def objects_in(record: dict[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    """Return the list of objects that a record has under a key; empty where it has none."""
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise wrong(place, f"a list of objects in {key!r}", value)
    return value


def object_in(record: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    """Return the object that a record has under a key; empty where it has none."""
    value = record.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong(place, f"an object in {key!r}", value)
    return value


def texts_in(value: Any, place: str, what: str) -> tuple[str, ...]:
    """Return one label, or a list of them, as strings; refuse anything else."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    for each in values:
        if isinstance(each, dict | list):
            raise wrong(place, f"labels of the whole item in {what}, and no spans or objects", each)
    return tuple(dict.fromkeys(text for text in map(label_text, values) if text))


def label_text(value: Any) -> str:
    """Return a label as a string; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()
