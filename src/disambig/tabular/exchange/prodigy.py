"""Prodigy: the JSON lines of ``db-out``, and tasks for its choice interface."""

from collections.abc import Mapping, Sequence
from typing import Any

from disambig._core.errors import TableError
from disambig._core.messages import percent
from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.queue import Queue, QueuedRow, json_lines
from disambig.tabular.exchange.records import (
    label_text,
    object_in,
    objects_in,
    read_records,
    texts_in,
    wrong,
)
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tasks import Reading, Task
from disambig.tabular.files.content import FileContent

_ANSWERS = ("accept", "reject", "ignore")
# What Prodigy adds to a task, or shows beside it; none of it describes the item.
_NOT_DATA = ("answer", "accept", "label", "options", "config", "style", "html_template")
# What a model with which it learns says of the label of a task.
_OF_MODEL = ("score", "priority")
# Regions of an item. Where only these were asked for, no label is about the whole of it.
_PARTS = ("spans", "relations", "arcs", "head")


def read_prodigy(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read exports of Prodigy; rows about the same input are one item."""
    reading = Reading(contents[0], options, joins_answers=True, fields_may_differ=True)
    has_parts = False
    for content in contents:
        for place, record in read_records(content, options.encoding):
            task = Task(label_text(record.get("_input_hash")) or None, _data(record, place))
            reading.tasks.append(task)
            answer = _answer(record, place, reading)
            if answer is not None:
                task.answers.append(answer)
            has_parts = has_parts or any(record.get(part) for part in _PARTS)
    if has_parts and not any(task.answers for task in reading.tasks):
        raise TableError(
            "Labels are answers about an item as a whole: an accepted label, or options. "
            f"{contents[0].name} has only spans, relations or regions, which cannot be read."
        )
    return reading.imported()


def _answer(record: dict[str, Any], place: str, reading: Reading) -> Answer | None:
    """Return what was said; None where that is nothing about the item as a whole."""
    said = record.get("answer")
    if said is None:
        return None
    if said not in _ANSWERS:
        raise wrong(place, "accept, reject or ignore in 'answer'", said)
    if said == "ignore":
        reading.left_out["ignored task"] += 1
        return None
    who = label_text(record.get("_annotator_id") or record.get("_session_id")) or None
    if "options" in record or "accept" in record:
        if said == "reject":  # of the task, whatever was chosen
            reading.left_out["rejected task"] += 1
            return None
        return Answer(who, texts_in(record.get("accept"), place, "'accept'"))
    labels = texts_in(record.get("label"), place, "'label'")
    return (
        (Answer(who, labels) if said == "accept" else Answer(who, (), labels)) if labels else None
    )


def _data(record: dict[str, Any], place: str) -> Mapping[str, Any]:
    objects_in(record, "options", place)
    data = {
        name: value
        for name, value in record.items()
        if not name.startswith("_") and name not in (*_NOT_DATA, *_PARTS, "tokens", "meta")
    } | object_in(record, "meta", place)
    if "priority" in record:  # a model chose the task
        data = {name: value for name, value in data.items() if name not in _OF_MODEL}
    return data


def write_prodigy(queue: Queue) -> bytes:
    """Return tasks for the choice interface, the chosen label accepted already."""
    reserved = (*_NOT_DATA, *_PARTS, "tokens", "meta", "text", "image", queue.shown)
    return json_lines(
        {
            "image" if queue.is_picture else "text": str(row.data.get(queue.shown, "")),
            **{name: cell for name, cell in row.data.items() if name not in reserved},
            "options": [{"id": label, "text": _option(label, row)} for label in queue.ranked(row)],
            "accept": [row.label],
        }
        for row in queue.rows
    )


def _option(label: str, row: QueuedRow) -> str:
    share = row.candidates.get(label)
    return label if share is None else f"{label} ({percent(share)})"
