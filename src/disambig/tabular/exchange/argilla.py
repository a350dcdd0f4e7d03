"""Argilla: records of version 2, feedback and text classification records of version 1."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from disambig._core.messages import plural
from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.queue import Queue
from disambig.tabular.exchange.records import (
    label_text,
    object_in,
    objects_in,
    read_records,
    texts_in,
)
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tables import choose_field
from disambig.tabular.exchange.tasks import HINT, LABEL, Reading, Task
from disambig.tabular.files.content import FileContent

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"
_NOT_DATA = ("id", "_server_id", "status", "external_id", "vectors", "inserted_at", "updated_at")


_DRAFTS = (
    "{} with responses that do not say whether they were submitted: all of them count. To leave "
    "out drafts, export what 'to_list(flatten=True)' of Argilla returns."
)


class _Said(NamedTuple):
    """An answer to a question, by a person or, as a suggestion, by a model."""

    question: str
    who: str | None
    value: Any
    suggested: bool = False


class _Record(NamedTuple):
    """A record of any version."""

    name: str | None
    data: Mapping[str, Any]
    said: list[_Said]
    discarded: int = 0
    may_be_draft: bool = False  # it is pending, and does not say which responses are submitted


def read_argilla(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read records that Argilla exported, nested or flat."""
    reading = Reading(contents[0], options)
    placed = [pair for content in contents for pair in read_records(content, options.encoding)]
    records = [(place, _record(record, place)) for place, record in placed]
    questions = list(dict.fromkeys(said.question for _, each in records for said in each.said))
    field = None
    drafts = sum(each.may_be_draft for _, each in records)
    notices = [_DRAFTS.format(plural(drafts, "pending record"))] if drafts else []
    if questions:
        field = choose_field(questions, options, contents[0].name)
    for place, record in records:
        task = Task(record.name, record.data)
        reading.tasks.append(task)
        if record.discarded:
            reading.left_out["unsubmitted response"] += record.discarded
        for said in record.said:
            if said.question != field:
                continue
            if said.suggested and not options.predictions:
                reading.left_out["suggestion"] += 1
                continue
            labels = texts_in(said.value, place, f"the answer to {field!r}")
            who = f"model {said.who or 'unnamed'}" if said.suggested else said.who
            task.answers.append(Answer(who, labels))
    return reading.imported(*notices)


def _record(record: dict[str, Any], place: str) -> _Record:
    name = label_text(record.get("id") or record.get("external_id")) or None
    if "fields" in record:
        return _nested(record, place, name)
    if "annotation" in record or "annotation_agent" in record:
        return _classification(record, place, name)
    return _flat(record, name)


def _nested(record: dict[str, Any], place: str, name: str | None) -> _Record:
    data = object_in(record, "fields", place) | object_in(record, "metadata", place)
    responses, suggestions = record.get("responses"), record.get("suggestions")
    said, discarded, may_be_draft = [], 0, False
    if isinstance(responses, list):  # version 1: by person, then by question
        for response in objects_in(record, "responses", place):
            if not _is_submitted(response.get("status")):
                discarded += 1
                continue
            who = label_text(response.get("user_id")) or None
            for question, value in object_in(response, "values", place).items():
                value = value.get("value") if isinstance(value, dict) else value
                said.append(_Said(question, who, value))
    else:
        by_question = object_in(record, "responses", place)
        for question in by_question:
            for response in objects_in(by_question, question, place):
                if not _is_submitted(response.get("status")):
                    discarded += 1
                    continue
                who = label_text(response.get("user_id")) or None
                said.append(_Said(question, who, response.get("value")))
                if record.get("status") == "pending" and response.get("status") is None:
                    may_be_draft = True
    said += _suggested(suggestions, record, place)
    return _Record(name, data, said, discarded, may_be_draft)


def _suggested(suggestions: Any, record: dict[str, Any], place: str) -> Iterator[_Said]:
    if isinstance(suggestions, list):
        for each in objects_in(record, "suggestions", place):
            question = label_text(each.get("question_name"))
            yield _Said(question, label_text(each.get("agent")) or None, each.get("value"), True)
        return
    by_question = object_in(record, "suggestions", place)
    for question in by_question:
        each = object_in(by_question, question, place)
        yield _Said(question, label_text(each.get("agent")) or None, each.get("value"), True)


def _classification(record: dict[str, Any], place: str, name: str | None) -> _Record:
    """Read a record of version 1 that has a single annotation, and predictions with scores."""
    said = []
    if record.get("status") != "Discarded":
        who = label_text(record.get("annotation_agent")) or None
        said.append(_Said("annotation", who, record.get("annotation")))
    predicted = record.get("prediction")
    if isinstance(predicted, list) and predicted:
        best = objects_in(record, "prediction", place)[0]
        agent = label_text(record.get("prediction_agent")) or None
        said.append(_Said("annotation", agent, best.get("label"), True))
    data = {"text": record["text"]} if "text" in record else {}
    inputs = record.get("inputs")
    data |= inputs if isinstance(inputs, dict) else {}
    data |= object_in(record, "metadata", place)
    return _Record(name, data, said, int(record.get("status") == "Discarded"))


def _flat(record: dict[str, Any], name: str | None) -> _Record:
    """Read a record whose questions are keys such as ``label.responses``."""
    said: list[_Said] = []
    discarded = 0
    data = {}
    for key, value in record.items():
        if key.endswith(_RESPONSES):
            values = value if isinstance(value, list) else []
            people = _listed(record.get(f"{key}.users"), len(values))
            for one, who, status in zip(
                values, people, _listed(record.get(f"{key}.status"), len(values)), strict=True
            ):
                if _is_submitted(status):
                    said.append(_Said(key.removesuffix(_RESPONSES), label_text(who) or None, one))
                else:
                    discarded += 1
        elif key.endswith(_SUGGESTION):
            who = label_text(record.get(f"{key}.agent")) or None
            if value is not None:
                said.append(_Said(key.removesuffix(_SUGGESTION), who, value, True))
        elif key not in _NOT_DATA and _RESPONSES not in key and _SUGGESTION not in key:
            data[key] = value
    return _Record(name, data, said, discarded)


def _listed(values: Any, length: int) -> list[Any]:
    """Return a list of that length, with None where there is nothing."""
    found = values if isinstance(values, list) else []
    return [*found, *[None] * length][:length]


def _is_submitted(status: Any) -> bool:
    return status in (None, "submitted")


def write_argilla(queue: Queue) -> bytes:
    """Return records with the chosen label as a suggestion."""
    records = [
        {
            "id": row.name,
            "fields": {queue.shown: str(row.data.get(queue.shown, ""))},
            "metadata": {
                **{
                    name: cell
                    for name, cell in row.data.items()
                    if name != queue.shown and isinstance(cell, str | int | float)
                },
                HINT: row.hint(),
            },
            "suggestions": {
                LABEL: {"value": row.label, "score": row.confidence, "agent": "disambig"}
            },
            "responses": {},
            "vectors": {},
        }
        for row in queue.rows
    ]
    return json.dumps(records, ensure_ascii=False, indent=1).encode()
