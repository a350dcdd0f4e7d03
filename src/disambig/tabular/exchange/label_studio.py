"""Label Studio: its JSON, JSON-MIN and CSV exports, and tasks with predictions."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.label_studio_flat import WHOLE, flat_tasks, names_of
from disambig.tabular.exchange.queue import Queue
from disambig.tabular.exchange.records import (
    label_text,
    object_in,
    objects_in,
    read_records,
    wrong,
)
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tables import choose_field, read_rows
from disambig.tabular.exchange.tasks import HINT, LABEL, SHOWN, Reading, Task
from disambig.tabular.files.content import FileContent, beginning

_FEW_BYTES = 64
_ITEM = "item"  # what the interface calls that which people look at
# Names of fields that an interface can refer to.
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)


class _Result(NamedTuple):
    """What an annotation says to one question, about the item or about a region of it."""

    question: str
    kind: str
    labels: Any
    is_whole: bool


def read_label_studio(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read exports of Label Studio."""
    reading = Reading(contents[0], options)
    tasks: list[tuple[str, dict[str, Any]]] = []
    answers: list[tuple[str, dict[str, Any]]] = []
    for content in contents:
        records = _records(content, options)
        (tasks if "data" in records[0][1] else answers).extend(records)
    said = [
        result
        for place, record in tasks
        for each in (*_annotations(record, place), *_predictions(record, place))
        for result in _results(each, place)
    ]
    field = _field_of(said, reading)
    reading.tasks += [_task(record, place, field, reading) for place, record in tasks]
    if answers:
        reading.fields_may_differ = True  # with answers to other questions
        reading.tasks += flat_tasks(answers, reading)
    return reading.imported()


def _records(content: FileContent, options: ReadOptions) -> list[tuple[str, dict[str, Any]]]:
    if not beginning(content, _FEW_BYTES).startswith(("{", "[")):
        return list(read_rows(content, options))
    return [(place, _with_task(each)) for place, each in read_records(content, options.encoding)]


def _with_task(record: dict[str, Any]) -> dict[str, Any]:
    """Return a task with its annotation, where a target storage has the task inside of it."""
    task = record.get("task")
    return {**task, "annotations": [record]} if isinstance(task, dict) else record


def _annotations(record: dict[str, Any], place: str) -> list[dict[str, Any]]:
    key = "annotations" if "annotations" in record else "completions"  # before version 1
    return objects_in(record, key, place)


def _results(annotation: dict[str, Any], place: str) -> Iterator[_Result]:
    for result in objects_in(annotation, "result", place):
        kind, value = label_text(result.get("type")), object_in(result, "value", place)
        # That of a region says where it is, and that of one picture of several, which.
        is_whole = kind in WHOLE and value.keys() <= {kind} and "item_index" not in result
        yield _Result(label_text(result.get("from_name")), kind, value.get(kind), is_whole)


def _predictions(record: dict[str, Any], place: str) -> list[dict[str, Any]]:
    listed = record.get("predictions")
    # A snapshot may hold nothing but their numbers.
    if isinstance(listed, list) and all(isinstance(each, int) for each in listed):
        return []
    return objects_in(record, "predictions", place)


def _field_of(results: Iterable[_Result], reading: Reading) -> str | None:
    """Return the question whose answers are the labels; None if nothing was answered."""
    by_question: dict[str, _Result] = {}
    for result in results:
        by_question.setdefault(result.question, result)
    whole = [name for name, result in by_question.items() if result.is_whole]
    if whole:
        return choose_field(whole, reading.options, reading.content.name)
    if by_question:
        found = join_names(f"{name} ({_kind(result)})" for name, result in by_question.items())
        raise TableError(
            "Labels are answers about an item as a whole: choices, a taxonomy or a rating. The "
            f"export has only {found}. Regions and spans of items cannot be read."
        )
    return None


def _kind(result: _Result) -> str:
    about_regions = result.kind in WHOLE and not result.is_whole
    return f"{result.kind} of regions" if about_regions else result.kind


def _task(record: dict[str, Any], place: str, field: str | None, reading: Reading) -> Task:
    name = label_text(record.get("id")) or None
    task = Task(name, object_in(record, "data", place))
    for annotation in _annotations(record, place):
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            reading.left_out["skipped annotation"] += 1
            continue
        labels = _labels(annotation, place, field, reading)
        if annotation.get("ground_truth"):
            task.truth = labels[0] if len(labels) == 1 else None
        else:
            task.answers.append(Answer(_annotator(annotation), labels))
    for prediction in _predictions(record, place):
        if reading.options.predictions:
            model = label_text(prediction.get("model_version")) or "unnamed"
            labels = _labels(prediction, place, field, reading)
            task.answers.append(Answer(f"model {model}", labels))
        else:
            reading.left_out["model prediction"] += 1
    return task


def _labels(
    annotation: dict[str, Any], place: str, field: str | None, reading: Reading
) -> tuple[str, ...]:
    labels: list[str] = []
    for result in _results(annotation, place):
        if result.question != field:
            reading.left_out["unrelated answer"] += 1
            continue
        if not result.is_whole:
            raise wrong(
                place,
                f"choices, a taxonomy or a rating of the whole item as answer to {field!r}",
                _kind(result),
            )
        labels += names_of(result.labels, place)
    return tuple(dict.fromkeys(labels))


def _annotator(annotation: Mapping[str, Any]) -> str | None:
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        by = by.get("email") or by.get("username") or by.get("id")
    return label_text(by) or None


# ---- the way back


def write_label_studio(queue: Queue) -> bytes:
    """Return tasks with the chosen label as a prediction."""
    field = _shown_field(queue)
    tasks: list[dict[str, Any]] = [
        {
            "data": {**row.data, field: str(row.data.get(queue.shown, "")), HINT: row.hint()},
            "predictions": [
                {
                    "model_version": "disambig",
                    "score": row.confidence,
                    "result": [
                        {
                            "id": f"row{number}",
                            "from_name": LABEL,
                            "to_name": _ITEM,
                            "type": "choices",
                            "value": {"choices": [row.label]},
                        }
                    ],
                }
            ],
        }
        for number, row in enumerate(queue.rows, start=1)
    ]
    return json.dumps(tasks, ensure_ascii=False, indent=1).encode()


def label_studio_interface(queue: Queue) -> bytes:
    """Return the labelling interface of these tasks, to be pasted into a project."""
    view = Element("View")
    tag = "Image" if queue.is_picture else "Text"
    SubElement(view, tag, name=_ITEM, value=f"${_shown_field(queue)}")
    SubElement(view, "Header", value=f"${HINT}")
    choices = SubElement(view, "Choices", name=LABEL, toName=_ITEM, choice="single")
    for name in queue.classes:
        SubElement(choices, "Choice", value=name)
    indent(view)
    return tostring(view, encoding="unicode").encode()


def _shown_field(queue: Queue) -> str:
    return queue.shown if _PLAIN_NAME.fullmatch(queue.shown) else SHOWN
