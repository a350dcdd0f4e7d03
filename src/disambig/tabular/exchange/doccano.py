"""doccano: the JSON lines, or JSON, of a project that classifies texts or images."""

from collections.abc import Sequence
from typing import Any

from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.queue import Queue, json_lines
from disambig.tabular.exchange.records import (
    label_text,
    object_in,
    objects_in,
    read_records,
    texts_in,
    wrong,
)
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tasks import HINT, Reading, Task
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.formats import split_name

_LABELS = ("label", "labels", "cats", "annotations")
_NOT_DATA = (
    *("id", "doc_id", "username", "user", "meta", "metadata", "Comments", "entities"),
    *("annotation_approver", "annotation_approver_username"),
)


def read_doccano(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read exports of doccano: a file for each annotator, named after them, or one for all."""
    reading = Reading(contents[0], options)
    for content in contents:
        # A project that is not shared exports a file for each user.
        who = split_name(content.name)[0] if len(contents) > 1 else None
        for place, record in read_records(content, options.encoding):
            reading.tasks.append(_task(record, place, who, options))
    return reading.imported()


def _task(record: dict[str, Any], place: str, who: str | None, options: ReadOptions) -> Task:
    fields = [name for name in _LABELS if name in record]
    field = options.field or next(iter(fields), None)
    if field is None or field not in record:
        raise wrong(place, f"its labels in {field or _LABELS[0]!r}", None)
    name = label_text(record.get("id", record.get("doc_id"))) or None
    data = {key: value for key, value in record.items() if key not in (*_NOT_DATA, *fields, field)}
    for key in ("meta", "metadata"):
        if isinstance(record.get(key), dict):
            data |= object_in(record, key, place)
    task = Task(name, data)
    if field == "annotations":  # of version 1: who gave the label with which number
        for each in objects_in(record, field, place):
            if "start_offset" in each:
                raise wrong(place, "labels of whole texts, and no spans", each)
            labels = texts_in(each.get("label"), place, "a label")
            task.answers.append(Answer(label_text(each.get("user")) or who, labels))
    else:
        who = who or label_text(record.get("username")) or None
        task.answers.append(Answer(who, texts_in(record[field], place, repr(field))))
    return task


def write_doccano(queue: Queue) -> bytes:
    """Return texts with the chosen label; doccano keeps what else is said of them."""
    reserved = (*_NOT_DATA, *_LABELS, "text")
    return json_lines(
        {
            "text": str(row.data.get(queue.shown, "")),
            "label": [row.label],
            **{name: cell for name, cell in row.data.items() if name not in reserved},
            HINT: row.hint(),
        }
        for row in queue.rows
    )
