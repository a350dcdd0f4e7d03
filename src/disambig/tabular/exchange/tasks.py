"""Tasks that people answered, from whatever tool, as a table."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import join_names, plural, quoted_list
from disambig.tabular.exchange.imported import Imported, LongLabels
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.json_lines import column_of
from disambig.tabular.labels.label_cells import CellLabels, CellReader, LabelProblem
from disambig.tabular.labels.label_columns import LabelColumns

# The columns that an import makes itself.
OWN_COLUMNS = ITEM, ANNOTATOR, LABEL, TRUTH = "item", "annotator", "label", "truth"
# Fields of tasks that we wrote: what a column calls the row, or else its number.
QUEUED = QUEUED_ID, QUEUED_ROW = "disambig_id", "disambig_row"
_BYTES_OF_COLUMN, _BYTES_OF_CELL = 2_000, 24
_SEPARATORS = ("|", ";", "/", "~")


@dataclass(frozen=True)
class Answer:
    """What somebody said of an item: one of these labels, none of those; nothing if unsure."""

    annotator: str | None
    labels: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def __or__(self, other: "Answer") -> "Answer":
        """Return two answers of a person to questions about the same item as one."""
        labels, excluded = (*self.labels, *other.labels), (*self.excluded, *other.excluded)
        return Answer(self.annotator, tuple(dict.fromkeys(labels)), tuple(dict.fromkeys(excluded)))


@dataclass
class Task:
    """An item as a tool showed it to people, and what they answered."""

    name: str | None  # None where the tool has none
    data: Mapping[str, Any]
    answers: list[Answer] = field(default_factory=list)
    truth: str | None = None


@dataclass
class Reading:
    """What a reader of one tool finds: its tasks, and how many parts of which kind it left out."""

    content: FileContent
    options: ReadOptions
    joins_answers: bool = False  # whether people say of one label after the other if it is right
    tasks: list[Task] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # by what it is called, in the singular

    def imported(self, *notices: str) -> Imported:
        """Return the tasks as a table."""
        if not self.tasks:
            raise TableError(f"{self.content.name} needs at least one task. It has none.")
        found = [plural(number, what) for what, number in self.left_out.items()]
        left_out = [f"Left out: {join_names(found)}."] if found else []
        tasks = _one_per_item(_named_by_queue(self.tasks))
        if self.joins_answers:
            tasks = [replace(task, answers=_joined(task.answers)) for task in tasks]
        tasks, unsure = _without_unsure(tasks, self.options.unsure)
        return _table(tasks, self.content, (*notices, *left_out, *unsure))


def _named_by_queue(tasks: Sequence[Task]) -> list[Task]:
    """Let the names that a queue gave its rows name the tasks, if it wrote them."""
    for field_name in QUEUED:
        names = [task.data.get(field_name) for task in tasks]
        if all(isinstance(name, str | int) and str(name).strip() for name in names):
            pairs = zip(tasks, names, strict=True)
            return [replace(task, name=str(name)) for task, name in pairs]
    return list(tasks)


def _one_per_item(tasks: Iterable[Task]) -> list[Task]:
    """Return every item once, with the answers of all its tasks; those without names stay alone."""
    items: list[Task] = []
    by_name: dict[str, Task] = {}
    for task in tasks:
        before = None if task.name is None else by_name.get(task.name)
        if before is None:
            before = replace(task, answers=[])
            items.append(before)
            if task.name is not None:
                by_name[task.name] = before
        before.answers += task.answers
        before.truth = before.truth or task.truth
    return items


def _joined(answers: Iterable[Answer]) -> list[Answer]:
    """Return one answer for each annotator."""
    by_person: dict[str | None, Answer] = {}
    for answer in answers:
        before = by_person.get(answer.annotator)
        by_person[answer.annotator] = answer if before is None else before | answer
    return list(by_person.values())


def _without_unsure(tasks: list[Task], words: Iterable[str]) -> tuple[list[Task], list[str]]:
    """Take away labels that say that somebody did not know; say how many."""
    unsure = {_plain(word) for word in words}
    met: Counter[str] = Counter()
    for task in tasks:
        for place, answer in enumerate(task.answers):
            met.update(label for label in answer.labels if _plain(label) in unsure)
            known = tuple(label for label in answer.labels if _plain(label) not in unsure)
            task.answers[place] = replace(answer, labels=known)
    if not met:
        return tasks, []
    return tasks, [
        f"{plural(met.total(), 'answer')} {quoted_list(met)} counted as no answer. If it is a "
        "label, import it with another word: disambig import --unsure (in Python unsure=)."
    ]


def _plain(word: str) -> str:
    return word.casefold().replace("’", "'").strip()  # noqa: RUF001  # as some tools write it


def _table(tasks: list[Task], content: FileContent, notices: tuple[str, ...]) -> Imported:
    columns, left_out = _columns(tasks, content)
    if left_out:
        notices += (f"Left out fields that hold lists or files: {join_names(left_out)}.",)
    named = all(task.name is not None for task in tasks)
    answers = [[answer for answer in task.answers if _says_something(answer)] for task in tasks]
    is_long = any(len(of_item) > 1 for of_item in answers)
    annotators = {answer.annotator for answer in chain(*answers)}
    if not is_long and len(annotators) > 1:
        notices += (
            f"{plural(len(annotators), 'annotator')} answered, never two of them for the same "
            "item: who answered was left out.",
        )
    answers, binary = _with_two_labels(answers)
    written = _Writer(answers)
    nothing: list[Answer | None] = [None]
    pairs = [(row, each) for row, of_item in enumerate(answers) for each in of_item or nothing]
    rows = [row for row, _ in pairs]
    made: dict[str, list[Any]] = {}
    if named or is_long:
        names = [task.name or str(row + 1) for row, task in enumerate(tasks)]
        made[ITEM] = [names[row] for row in rows]
    for name, cells in columns.items():
        made[f"data_{name}" if name in OWN_COLUMNS else name] = [cells[row] for row in rows]
    if any(task.truth for task in tasks):
        made[TRUTH] = [tasks[row].truth for row in rows]
    if is_long and annotators != {None}:
        made[ANNOTATOR] = [None if answer is None else answer.annotator for _, answer in pairs]
    made[LABEL] = [written.cell(answer) for _, answer in pairs]
    frame = pd.DataFrame({name: column_of(cells) for name, cells in made.items()}, copy=False)
    labels: LabelColumns | LongLabels = LabelColumns(
        columns=(LABEL,), separator=written.separator, literal=written.literal
    )
    if is_long:
        labels = LongLabels(
            item=ITEM,
            label=LABEL,
            annotator=ANNOTATOR if ANNOTATOR in made else None,
            separator=written.separator,
            literal=written.literal,
        )
    return Imported(
        frame=frame,
        labels=labels,
        id=ITEM if ITEM in made else None,
        notices=(*notices, *binary),
        truth=TRUTH if TRUTH in made else None,
    )


def _says_something(answer: Answer) -> bool:
    return bool(answer.labels or answer.excluded)


def _with_two_labels(answers: list[list[Answer]]) -> tuple[list[list[Answer]], list[str]]:
    """Where people said yes or no to a single label, let the no be a label of its own."""
    named = {label for answer in chain(*answers) for label in (*answer.labels, *answer.excluded)}
    if len(named) != 1 or not any(answer.excluded for answer in chain(*answers)):
        return answers, []
    other = f"not {min(named)}"
    changed = [
        [replace(each, labels=(other,), excluded=()) if each.excluded else each for each in of_item]
        for of_item in answers
    ]
    return changed, [f"People said yes or no to {quoted_list(named)}: a no is the label {other!r}."]


class _Writer:
    """Writes answers as cells that commands read, literally where labels hold signs themselves."""

    def __init__(self, answers: Iterable[Iterable[Answer]]) -> None:
        every = list(chain(*answers))
        labels = {name for answer in every for name in (*answer.labels, *answer.excluded)}
        self._classes = sorted(labels)
        self.literal = not all(map(_is_read_as_it_is, self._classes))
        every_separator = chain(_SEPARATORS, (f"<{number}>" for number in count(1)))
        self.separator = "|"
        if self.literal:
            self.separator = next(
                each for each in every_separator if not any(each in name for name in self._classes)
            )

    def cell(self, answer: Answer | None) -> str | None:
        """Return ``cat|dog``, or ``!cat``; without signs, a no is all the other labels."""
        if answer is None or not _says_something(answer):
            return None
        if not self.literal:
            return "|".join([*answer.labels, *(f"!{label}" for label in answer.excluded)])
        labels = answer.labels or self._classes
        return self.separator.join(name for name in labels if name not in answer.excluded) or None


def _is_read_as_it_is(label: str) -> bool:
    """Tell whether commands read a label as this label and nothing else."""
    try:
        read = CellReader([label], separator="|", literal=False).read(label)
    except LabelProblem:
        return False
    return read == CellLabels(plain=(label,))


def _columns(
    tasks: Sequence[Task], content: FileContent
) -> tuple[dict[str, list[Any]], dict[str, None]]:
    """Return the fields of all tasks as columns, those in objects too; and those left out."""
    columns: dict[str, list[Any]] = {}
    left_out: dict[str, None] = {}
    for row, task in enumerate(tasks):
        for name, value in _fields(task.data):
            if isinstance(value, list) or (isinstance(value, str) and value.startswith("data:")):
                left_out[name] = None
                continue
            if name not in columns:
                # Tasks with fields of their own make a table that is mostly gaps.
                content.check_memory(
                    (_BYTES_OF_COLUMN + _BYTES_OF_CELL * len(tasks)) * (len(columns) + 1),
                    f"The table of {len(tasks):,} tasks and their fields",
                )
                columns[name] = [None] * len(tasks)
            columns[name][row] = value
    filled = {name: cells for name, cells in columns.items() if name not in left_out}
    return {name: cells for name, cells in filled.items() if name.strip()}, left_out


def _fields(data: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _fields(value, f"{name}.")
        elif isinstance(value, float) and math.isnan(value):
            yield name, None
        else:
            yield name, value
