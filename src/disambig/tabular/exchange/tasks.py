"""Tasks that people answered, from whatever tool, as a table."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import join_names, plural, printable, quoted_list
from disambig.tabular.exchange.answer_cells import Answer, AnswerWriter
from disambig.tabular.exchange.imported import Imported, LongLabels
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.json_lines import column_of
from disambig.tabular.labels.label_columns import LabelColumns

# The columns that an import makes itself.
OWN_COLUMNS = ITEM, ANNOTATOR, LABEL, TRUTH = "item", "annotator", "label", "truth"
# Fields of tasks that we wrote: what a column calls the row, or else its number.
QUEUED = QUEUED_ID, QUEUED_ROW = "disambig_id", "disambig_row"
# And what people are told, and shown, of the row.
SHOWN_TO_PEOPLE = HINT, SHOWN = "disambig_candidates", "disambig_shown"
_UNNAMED = "unnamed"
_BYTES_OF_COLUMN, _BYTES_OF_CELL = 2_000, 24
_LONGEST = 60  # characters of a cell in a message


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
    fields_may_differ: bool = False  # whether each answer has fields of its own beside the item's
    tasks: list[Task] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # by what it is called, in the singular

    def imported(self, *notices: str) -> Imported:
        """Return the tasks as a table."""
        if not self.tasks:
            raise TableError(f"{self.content.name} needs at least one task. It has none.")
        queued = _named_by_queue(self.tasks)
        tasks = queued or self.tasks
        differing = _differing_fields(tasks, refuse=not (queued or self.fields_may_differ))
        tasks = _one_per_item(tasks, {*SHOWN_TO_PEOPLE, *differing})
        if self.joins_answers:
            tasks = [replace(task, answers=self._joined(task.answers)) for task in tasks]
        tasks, unsure = _without_unsure(tasks, self.options.unsure)
        found = [plural(number, what) for what, number in self.left_out.items()]
        if found:
            notices += (f"Left out: {join_names(found)}.",)
        if differing:
            names = join_names(sorted(differing))
            notices += (f"Left out fields that differ between answers for the same item: {names}.",)
        return _table(tasks, self.content, (*notices, *unsure))

    def _joined(self, answers: Iterable[Answer]) -> list[Answer]:
        """Return one answer for each annotator, without labels that are accepted and rejected."""
        by_person: dict[str | None, Answer] = {}
        for answer in answers:
            before = by_person.get(answer.annotator)
            by_person[answer.annotator] = answer if before is None else before | answer
        for person, answer in by_person.items():
            both = set(answer.labels) & set(answer.excluded)
            if both:
                self.left_out["contradictory label"] += len(both)
                labels, excluded = (
                    tuple(name for name in names if name not in both)
                    for names in (answer.labels, answer.excluded)
                )
                by_person[person] = Answer(person, labels, excluded)
        return list(by_person.values())


def _named_by_queue(tasks: Sequence[Task]) -> list[Task] | None:
    """Let the names that a queue gave its rows name the tasks; None if it did not write them."""
    for field_name in QUEUED:
        names = [task.data.get(field_name) for task in tasks]
        if all(isinstance(name, str | int) and str(name).strip() for name in names):
            pairs = zip(tasks, names, strict=True)
            return [replace(task, name=str(name)) for task, name in pairs]
    return None


def _differing_fields(tasks: Iterable[Task], *, refuse: bool) -> set[str]:
    """Return the fields that differ between tasks of the same name, or refuse such tasks."""
    first: dict[str, dict[str, Any]] = {}
    differing = set()
    for task in tasks:
        if task.name is None:
            continue
        known = first.setdefault(task.name, {})
        for name, value in task.data.items():
            if _is_gap(value) or name in SHOWN_TO_PEOPLE:
                continue
            if known.setdefault(name, value) == value:
                continue
            differing.add(name)
            if refuse:
                raise TableError(
                    f"Two different items have the id {task.name!r}: {name!r} is "
                    f"{printable(known[name], _LONGEST)} in one and {printable(value, _LONGEST)} "
                    "in the other. Give every item an id of its own. Import files of different "
                    "projects one by one."
                )
    return differing


def _one_per_item(tasks: Iterable[Task], hidden: set[str]) -> list[Task]:
    """Return every item once, with the answers of all its tasks; those without names stay alone."""
    items: list[Task] = []
    by_name: dict[str, Task] = {}
    for task in tasks:
        data = {name: value for name, value in task.data.items() if name not in hidden}
        before = None if task.name is None else by_name.get(task.name)
        if before is None:
            before = replace(task, data=data, answers=[])
            items.append(before)
            if task.name is not None:
                by_name[task.name] = before
        before.data = {**data, **before.data}
        before.answers += task.answers
        before.truth = before.truth or task.truth
    return items


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
    if not named and any(task.name is not None for task in tasks):
        notices += ("Some tasks have no id: items are called by their numbers.",)
    answers = [[answer for answer in task.answers if answer.says_something] for task in tasks]
    is_long = any(len(of_item) > 1 for of_item in answers)
    annotators = {answer.annotator for answer in chain(*answers)}
    if is_long and len(annotators) > 1 and None in annotators:
        answers = [_with_annotators(of_item) for of_item in answers]
        notices += (f"Answers that do not say who gave them are those of {_UNNAMED!r}.",)
    if not is_long and len(annotators) > 1:
        notices += (
            f"{plural(len(annotators), 'annotator')} answered, never two of them for the same "
            "item: who answered was left out.",
        )
    answers, binary = _with_two_labels(answers)
    written = AnswerWriter(answers)
    nothing: list[Answer | None] = [None]
    pairs = [(row, each) for row, of_item in enumerate(answers) for each in of_item or nothing]
    rows = [row for row, _ in pairs]
    made: dict[str, list[Any]] = {}
    if named or is_long:
        # Where some have no name, numbers must not be the names of others.
        made[ITEM] = [tasks[row].name if named else str(row + 1) for row in rows]
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


def _with_annotators(answers: Iterable[Answer]) -> list[Answer]:
    """Return the answers for an item, all with annotators: of several unnamed ones, different."""
    named = []
    unnamed = 0
    for answer in answers:
        if answer.annotator is None:
            unnamed += 1
            name = _UNNAMED if unnamed == 1 else f"{_UNNAMED} {unnamed}"
            named.append(replace(answer, annotator=name))
        else:
            named.append(answer)
    return named


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
        else:
            yield name, None if _is_gap(value) else value


def _is_gap(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
