"""Label Studio: JSON-MIN and CSV exports, which have a record for each annotation."""

from typing import Any

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.records import embedded, label_text, texts_in, wrong
from disambig.tabular.exchange.tables import FIELD_OPTION, choose_field
from disambig.tabular.exchange.tasks import Reading, Task

# Types of results that are labels, where they are about an item as a whole; each is also the key
# of the labels in its value.
WHOLE = ("choices", "taxonomy", "rating")
# What a flat export has beside the fields of the task and the answers.
_OWN = (
    *("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"),
    *("history", "was_cancelled"),
)


def flat_tasks(placed: list[tuple[str, dict[str, Any]]], reading: Reading) -> list[Task]:
    """Return a task for each record, with its answer; those of the same item have the same name."""
    records = [record for _, record in placed]
    questions = _questions(records)
    field = _flat_field(records, questions, reading)
    # Who skipped the question, or has not seen the task, has no such key.
    others = {*_OWN, *questions, field}
    tasks = []
    for place, record in placed:
        data = {name: value for name, value in record.items() if name not in others}
        task = Task(label_text(record.get("id")) or None, data)
        tasks.append(task)
        if label_text(record.get("was_cancelled")).lower() == "true":
            reading.left_out["skipped annotation"] += 1
            continue
        labels = _flat_labels(record.get(field), place)
        task.answers.append(Answer(label_text(record.get("annotator")) or None, labels))
    return tasks


def _questions(records: list[dict[str, Any]]) -> list[str]:
    """Return the columns that hold answers for sure."""
    names = dict.fromkeys(tuple(record) for record in records)
    # JSON-MIN has the fields of the task, then "id", then the answers. CSV is sorted by name.
    in_order = [name for each in names for name in _between(each, "id", "annotator")]
    by_value = (
        name for record in records for name, value in record.items()
        if name not in _OWN and _kind_of(_structured(value)) is not None
    )  # fmt: skip
    return list(dict.fromkeys(in_order or by_value))


def _between(names: tuple[str, ...], first: str, last: str) -> tuple[str, ...]:
    if first not in names or last not in names:
        return ()
    return names[names.index(first) + 1 : names.index(last)]


def _flat_field(records: list[dict[str, Any]], questions: list[str], reading: Reading) -> str:
    """Return the column of answers, if only one can be that."""
    columns = list(dict.fromkeys(name for each in records for name in each if name not in _OWN))
    asked = reading.options.field
    if asked in columns:
        return asked
    if asked is None and len(questions) != 1:
        raise TableError(
            f"{reading.content.name} has answers and fields of the task side by side: "
            f"{join_names(questions or columns)}. Name the one whose answers are the labels: "
            f"{FIELD_OPTION}."
        )
    return choose_field(questions or columns, reading.options, reading.content.name)


def _flat_labels(value: Any, place: str) -> tuple[str, ...]:
    answer = _structured(value)
    if answer is None:
        return texts_in(value, place, "its answer")
    if not answer:
        return ()
    kind = _kind_of(answer)
    if kind is None or not answer.keys() <= {kind, "original_width", "original_height"}:
        raise wrong(place, "an answer about the whole item, not about regions", value)
    return names_of(answer[kind], place)


def _structured(value: Any) -> Any:
    """Return the object of an answer that is more than one choice, or a list of several; or None.

    In CSV it is JSON text.
    """
    if isinstance(value, str) and value.startswith(("{", "[")):
        value = embedded(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict | list) else None


def _kind_of(answer: Any) -> str | None:
    """Return what kind of answer an object is, where it may be about a whole item."""
    if not isinstance(answer, dict):
        return None
    return next((kind for kind in WHOLE if kind in answer), None)


def names_of(labels: Any, place: str) -> tuple[str, ...]:
    """Return the names of labels; that of a nested one is its path."""
    listed = labels if isinstance(labels, list) else [labels]
    paths = [each if isinstance(each, list) else [each] for each in listed]
    for path in paths:
        texts_in(path, place, "the answer")  # refuses what is no label
    return tuple(filter(None, ("/".join(map(label_text, path)) for path in paths)))
