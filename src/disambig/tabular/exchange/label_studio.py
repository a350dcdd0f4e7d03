"""Label Studio: its JSON, JSON-MIN and CSV exports, and tasks with predictions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.queue import Queue
from disambig.tabular.exchange.records import (
    embedded,
    label_text,
    object_in,
    objects_in,
    read_records,
    texts_in,
    wrong,
)
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tables import FIELD_OPTION, read_rows
from disambig.tabular.exchange.tasks import LABEL, Answer, Reading, Task
from disambig.tabular.files.content import FileContent

# Answers about an item as a whole, by the type of the result: where their labels are.
_WHOLE = {"choices": "choices", "taxonomy": "taxonomy", "rating": "rating"}
_SHOWN = "item"  # what the interface calls that which people look at
# What a flat export has beside the fields of the task and the answers.
_OWN = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")


def read_label_studio(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read exports of Label Studio."""
    reading = Reading(contents[0], options)
    for content in contents:
        records = _records(content, options)
        if "data" in records[0][1]:
            field = _field_of([_results(record, place) for place, record in records], options)
            for place, record in records:
                reading.tasks.append(_task(record, place, field, reading))
        else:
            reading.tasks += _flat_tasks(records, options)
    return reading.imported()


def _records(content: FileContent, options: ReadOptions) -> list[tuple[str, dict[str, Any]]]:
    with content.open() as stream:
        start = stream.read(64).decode("utf-8-sig", "replace").lstrip()
    is_json = start.startswith(("{", "["))
    return list(read_records(content, options.encoding) if is_json else read_rows(content, options))


def _annotations(record: dict[str, Any], place: str) -> list[dict[str, Any]]:
    key = "annotations" if "annotations" in record else "completions"  # before version 1
    return objects_in(record, key, place)


def _results(record: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Return what people, and models, said of a task, a result for each question or region."""
    said = [*_annotations(record, place), *_predictions(record, place)]
    return [result for each in said for result in objects_in(each, "result", place)]


def _predictions(record: dict[str, Any], place: str) -> list[dict[str, Any]]:
    listed = record.get("predictions")
    # A snapshot may hold nothing but their numbers.
    if isinstance(listed, list) and all(isinstance(each, int) for each in listed):
        return []
    return objects_in(record, "predictions", place)


def _field_of(results: Iterable[list[dict[str, Any]]], options: ReadOptions) -> str | None:
    """Return the question whose answers are the labels; None if nothing was answered."""
    kinds: dict[str, str] = {}  # of every question
    for result in (each for of_task in results for each in of_task):
        kinds.setdefault(label_text(result.get("from_name")), label_text(result.get("type")))
    whole = [name for name, kind in kinds.items() if kind in _WHOLE]
    if options.field is not None:
        if kinds and options.field not in kinds:
            raise TableError(
                f"There is no question {options.field!r} in the export. It has answers to "
                f"{join_names(kinds)}: name one of them: {FIELD_OPTION}."
            )
        return options.field
    if len(whole) > 1:
        raise TableError(
            f"The export has answers to several questions: {join_names(whole)}. Name the one whose "
            f"answers are the labels: {FIELD_OPTION}."
        )
    if kinds and not whole:
        found = join_names(f"{name} ({kind})" for name, kind in kinds.items())
        raise TableError(
            "Labels are answers about an item as a whole: choices, a taxonomy or a rating. The "
            f"export has only {found}. Regions and spans of items cannot be read."
        )
    return whole[0] if whole else None


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
    for result in objects_in(annotation, "result", place):
        if label_text(result.get("from_name")) != field:
            reading.left_out["unrelated answer"] += 1
            continue
        kind = label_text(result.get("type"))
        if kind not in _WHOLE:
            raise wrong(place, f"choices, a taxonomy or a rating as answer to {field!r}", kind)
        value = object_in(result, "value", place).get(_WHOLE[kind])
        if kind == "taxonomy" and isinstance(value, list):  # every label is a path
            value = [_path(each, place) for each in value]
        labels += texts_in(value, place, f"the answer to {field!r}")
    return tuple(dict.fromkeys(labels))


def _path(value: Any, place: str) -> str:
    return "/".join(texts_in(value, place, "a path of a taxonomy"))


def _annotator(annotation: Mapping[str, Any]) -> str | None:
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        by = by.get("email") or by.get("username") or by.get("id")
    return label_text(by) or None


# ---- the way back


def write_label_studio(queue: Queue) -> bytes:
    """Return tasks with the chosen label as a prediction."""
    tasks: list[dict[str, Any]] = [
        {
            "data": {**row.data, "candidates": row.hint()},
            "predictions": [
                {
                    "model_version": "disambig",
                    "score": row.confidence,
                    "result": [
                        {
                            "id": f"row{number}",
                            "from_name": LABEL,
                            "to_name": _SHOWN,
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
    SubElement(view, "Image" if queue.is_picture else "Text", name=_SHOWN, value=f"${queue.shown}")
    SubElement(view, "Header", value="$candidates")
    choices = SubElement(view, "Choices", name=LABEL, toName=_SHOWN, choice="single")
    for name in queue.classes:
        SubElement(choices, "Choice", value=name)
    indent(view)
    return tostring(view, encoding="unicode").encode()


# ---- exports with a record for each annotation


def _flat_tasks(records: list[tuple[str, dict[str, Any]]], options: ReadOptions) -> list[Task]:
    field = options.field or _flat_field(records)
    tasks = []
    for place, record in records:
        if field not in record:
            known = [name for name in record if name not in _OWN]
            raise wrong(place, f"the answer {field!r}; it has {join_names(known)}", None)
        labels = _flat_labels(record[field], place)
        data = {name: value for name, value in record.items() if name not in (*_OWN, field)}
        answer = Answer(label_text(record.get("annotator")) or None, labels)
        tasks.append(Task(label_text(record.get("id")) or None, data, [answer]))
    return tasks


def _flat_field(records: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the column of answers, if only one can be that."""
    names = list(dict.fromkeys(name for _, record in records for name in record))
    # JSON-MIN has the fields of the task, then "id", then the answers.
    listed = names[names.index("id") + 1 :] if "id" in names else names
    in_order = listed[: listed.index("annotator")] if "annotator" in listed else []
    first = records[0][1]
    several = [
        name for name in names
        if any(_choices(record.get(name)) is not None for _, record in records)
    ]  # fmt: skip
    possible = several or [name for name in in_order if name in first]
    if len(possible) != 1:
        columns = [name for name in names if name not in _OWN]
        raise TableError(
            "This export of Label Studio has answers and fields of the task side by side: "
            f"{join_names(columns)}. Name the one whose answers are the labels: "
            f"{FIELD_OPTION}."
        )
    return possible[0]


def _flat_labels(value: Any, place: str) -> tuple[str, ...]:
    choices = _choices(value)
    return texts_in(value if choices is None else choices, place, "its answer")


def _choices(value: Any) -> Any:
    """Return several choices, which are an object with a list, or text of one; else None."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        value = embedded(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value.get("choices") if isinstance(value, dict) else None
