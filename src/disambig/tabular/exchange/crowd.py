"""Crowds: result files of Toloka and of Mechanical Turk, and files of tasks for them."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.queue import Queue
from disambig.tabular.exchange.records import embedded, label_text, texts_in, wrong
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tables import choose_field, read_rows
from disambig.tabular.exchange.tasks import Reading, Task
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.text import write_delimited

_TOLOKA_STATUSES = ("", "SUBMITTED", "ACCEPTED", "APPROVED")
_CHECKED, _UNCHECKED = {"true", "on"}, {"false", "off", ""}
_ONE_LABEL = ".label"  # what a crowd classifier was given
_TASK_ANSWERS = "taskAnswers"  # of Mechanical Turk, for tasks made of crowd elements


def read_toloka(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read the TSV of assignments of a pool; control tasks have a true label."""
    reading = Reading(contents[0], options)
    rows = [pair for content in contents for pair in read_rows(content, options)]
    questions = list(dict.fromkeys(name for _, row in rows for name in _fields(row, "OUTPUT:")))
    field = choose_field(questions, options, reading.content.name)
    for place, row in rows:
        data = _fields(row, "INPUT:")
        name = row.get("ASSIGNMENT:task_id") or _name(data)
        truth = texts_in(_value(row.get(f"GOLDEN:{field}")), place, "GOLDEN")
        task = Task(name, data, truth=truth[0] if len(truth) == 1 else None)
        reading.tasks.append(task)
        status = row.get("ASSIGNMENT:status") or ""
        if status.upper() not in _TOLOKA_STATUSES:
            reading.left_out["unaccepted assignment"] += 1
            continue
        labels = texts_in(_value(row.get(f"OUTPUT:{field}")), place, repr(field))
        task.answers.append(Answer(row.get("ASSIGNMENT:worker_id") or None, labels))
    return reading.imported()


def read_mturk(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read the CSV of the results of a batch; rejected assignments are left out."""
    reading = Reading(contents[0], options)
    rows = [pair for content in contents for pair in read_rows(content, options)]
    boxes = _boxes([row for _, row in rows])
    said = [_mturk_answers(row, boxes, place) for place, row in rows]
    questions = list(dict.fromkeys(name for answers in said for name in answers))
    field = choose_field(questions, options, reading.content.name)
    for (place, row), answers in zip(rows, said, strict=True):
        data = _fields(row, "Input.")
        # The same item may come in several HITs.
        task = Task(_name(data) if data else row.get("HITId") or None, data)
        reading.tasks.append(task)
        if (row.get("AssignmentStatus") or "").lower() == "rejected":
            reading.left_out["rejected assignment"] += 1
            continue
        labels = texts_in(answers.get(field), place, repr(field))
        task.answers.append(Answer(row.get("WorkerId") or None, labels))
    return reading.imported()


def _fields(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the cells of the columns with a prefix, by their names without it."""
    return {
        name.removeprefix(prefix): value or None
        for name, value in row.items()
        if name.startswith(prefix) and name != prefix
    }


def _name(data: Mapping[str, Any]) -> str:
    """Return a name for an item that has none: it is known by what people were shown."""
    cells = [label_text(value) for value in data.values()]
    return cells[0] if len(cells) == 1 else json.dumps(cells, ensure_ascii=False)


def _value(cell: Any) -> Any:
    """Return what a cell holds: a list, or the options of an object, where it is JSON."""
    is_json = isinstance(cell, str) and cell.startswith(("[", "{"))
    value = embedded(cell) if is_json else None
    return cell if value is None else of_element(value)


def _boxes(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return the columns that are a radio button or a checkbox each: their question and option."""
    cells: dict[str, set[str]] = {}
    for row in rows:
        for name, cell in _fields(row, "Answer.").items():
            cells.setdefault(name, set()).add((cell or "").lower())
    by_question: dict[str, list[str]] = {}
    for name, values in cells.items():
        question, _, option = name.rpartition(".")
        if question and values <= _CHECKED | _UNCHECKED:
            by_question.setdefault(question, []).append(option)
    return {
        f"{question}.{option}": (question, option)
        for question, options in by_question.items()
        for option in options
        if len(options) > 1  # a single one is an answer of yes or no
    }


def _mturk_answers(
    row: Mapping[str, Any], boxes: Mapping[str, tuple[str, str]], place: str
) -> dict[str, Any]:
    """Return the answers of an assignment by question."""
    answers: dict[str, Any] = {}
    for name, cell in _fields(row, "Answer.").items():
        if name == _TASK_ANSWERS:
            answers |= _task_answers(cell, place)
        elif name in boxes:
            question, option = boxes[name]
            chosen = answers.setdefault(question, [])
            if (cell or "").lower() in _CHECKED:
                chosen.append(option)
        elif cell and "|" in cell and not name.endswith(_ONE_LABEL):  # boxes checked
            answers[name] = cell.split("|")
        else:
            answers[name] = _value(cell)
    return answers


def _task_answers(cell: str | None, place: str) -> dict[str, Any]:
    if cell is None:
        return {}
    value = embedded(cell)
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, dict):
        raise wrong(place, "a JSON object in 'Answer.taskAnswers'", cell)
    return {name: of_element(said) for name, said in value.items()}


def of_element(said: Any) -> Any:
    """Return the label, or labels, in what a crowd element of Amazon says."""
    if not isinstance(said, dict):
        return said
    for key in ("label", "labels"):
        if key in said:
            return said[key]
    if said and all(isinstance(value, bool) for value in said.values()):  # radio buttons
        return [name for name, value in said.items() if value]
    return said


def write_toloka(queue: Queue) -> bytes:
    """Return the TSV of tasks for a pool."""
    return _delimited(queue, prefix="INPUT:", delimiter="\t")


def write_mturk(queue: Queue) -> bytes:
    """Return the CSV of a batch, whose columns are the variables of the project."""
    return _delimited(queue, prefix="", delimiter=",")


def _delimited(queue: Queue, *, prefix: str, delimiter: str) -> bytes:
    names = dict.fromkeys(name for row in queue.rows for name in row.data)
    cells = {f"{prefix}{name}": [row.data.get(name) for row in queue.rows] for name in names}
    stream = io.BytesIO()
    write_delimited([pd.DataFrame(cells, dtype=object)], stream, delimiter=delimiter)
    return stream.getvalue()
