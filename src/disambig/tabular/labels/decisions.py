"""What a person decides on rows: labels and other answers, as lines of a table or log."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import join_names, option, quote_value, row_name
from disambig._core.typing import AnyArray
from disambig.tabular.table_cells import find_column, text_of, texts_of

LABEL, ANSWER, BY, SETTLES, CHECK = "label", "answer", "by", "settles", "check"
ROW = "row"
_NOT_THIS = "not this"
_TABLE = "The table of decisions"
# Also "7.0", as a column with gaps is written.
_INTEGER = re.compile(r"([+-]?\d{1,15})(\.0*)?", re.ASCII)
_YES = frozenset({"true", "1", "yes"})
_NO = frozenset({"false", "0", "no"})


class Answer(Enum):
    """What a person says of a row other than which labels are right or wrong.

    Attributes
    ----------
    NONE_OF_THESE
        None of the row's candidates is right: it may have any other label.
    CANNOT_TELL
        The row keeps its candidates, and is not marked for a second look again.
    BAD_ROW
        The row is not learned from, nor marked for a second look again.

    See Also
    --------
    read_decisions : Reads them from a table of decisions.
    NotThese : Says which labels are wrong.

    Examples
    --------
    >>> from disambig import clean_table
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import Answer
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame,
    ...     method="plknn",
    ...     id="vehicle",
    ...     truth="checked",
    ...     n_folds=2,
    ...     decisions={3: Answer.CANNOT_TELL, 5: Answer.BAD_ROW},
    ... )
    >>> cleaned["decision"][[3, 5]].tolist()
    ['cannot tell', 'bad row']
    """

    NONE_OF_THESE = "none of these"
    CANNOT_TELL = "cannot tell"
    BAD_ROW = "bad row"


@dataclass(frozen=True)
class NotThese:
    """Labels of a row that are not the right one; the others may be.

    Parameters
    ----------
    labels : frozenset of str
        The labels.

    See Also
    --------
    Answer : What else may be said of a row.

    Examples
    --------
    >>> from disambig.tabular import NotThese
    >>> NotThese(frozenset({"cat"}))
    NotThese(labels=frozenset({'cat'}))
    """

    labels: frozenset[str]


# As the column that cleaning adds has them.
DECISION_KINDS = (LABEL, _NOT_THIS, *(answer.value for answer in Answer))

# A string is the label that is right.
Decision = str | NotThese | Answer


def decision_word(decision: Decision) -> str:
    """Return what was decided, for people."""
    if isinstance(decision, NotThese):
        return f"not {join_names(sorted(decision.labels))}"
    return decision.value if isinstance(decision, Answer) else decision


def kind_of(decision: Decision) -> str:
    """Return which of ``DECISION_KINDS`` a decision is."""
    if isinstance(decision, NotThese):
        return _NOT_THIS
    return decision.value if isinstance(decision, Answer) else LABEL


def labels_decided(decisions: Mapping[int, object]) -> dict[int, str]:
    """Return the rows on whose label a person has decided, without other answers."""
    return {
        row: text_of(decision) or ""
        for row, decision in decisions.items()
        if not isinstance(decision, NotThese | Answer)
    }


def fields_of(decision: Decision | None) -> list[dict[str, str | None]]:
    """Return a decision as fields of lines: one line, or one for every label that is not right."""
    if isinstance(decision, NotThese):
        return [{LABEL: label, ANSWER: _NOT_THIS} for label in sorted(decision.labels)]
    if isinstance(decision, Answer):
        return [{LABEL: None, ANSWER: decision.value}]
    return [{LABEL: decision}]


def decision_of(label: str | None, answer: str | None) -> Decision | None:
    """Return the decision that two fields stand for; None takes back what was decided."""
    if answer is None or answer == LABEL:
        return label
    if answer == _NOT_THIS and label is not None:
        return NotThese(frozenset({label}))
    known = [each.value for each in Answer]
    if answer not in known or label is not None:
        raise ValueError(
            f"{ANSWER!r} must be {join_names([LABEL, _NOT_THIS])} beside a label, or "
            f"{join_names(known)} without one. Got {quote_value(answer)} "
            f"{'beside' if label is not None else 'without'} a label"
        )
    return Answer(answer)


class Entry(NamedTuple):
    """A line of a table or log of decisions."""

    row: int  # its position, from 0
    decision: Decision | None  # None takes back what was decided
    by: str = ""  # the reviewer; empty for one without a name
    settles: bool = False  # a conflict of other reviewers
    check: bool = (
        False  # an answer about a row whose label is known, which only judges the reviewer
    )


def read_entries(decisions_frame: Any, frame: Any, *, id: str | None = None) -> list[Entry]:
    """Return the lines of a table of decisions in order; as for ``read_decisions``."""
    rows = DecidedRows(frame, id)
    advice = ""
    if id is None:
        advice = f"Or name a column that identifies rows in both tables: {option('id')}."
    elif ROW in decisions_frame:
        advice = f"These decisions go by row numbers: leave out {option('id')}."
    labels, names = (
        texts_of(
            find_column(decisions_frame, column, what=what, table=_TABLE, advice=more),
            what=what,
            literal=True,
        )
        for column, what, more in (
            (LABEL, "the decided labels", ""),
            (rows.column, "the rows decided on", advice),
        )
    )
    answers, reviewers, settles, checks = (
        _optional(decisions_frame, column) for column in (ANSWER, BY, SETTLES, CHECK)
    )
    entries = []
    for number, (name, label, answer) in enumerate(zip(names, labels, answers, strict=True)):
        if name is None and label is None and answer is None:
            continue  # a blank line
        if name is None:
            raise TableError(
                f"Every decision needs a row in column {rows.column!r}. There is none in "
                f"{row_name(number)} of the decisions. Fill it in, or drop the decision."
            )
        row = rows.position(name, number)
        try:
            decision = decision_of(label, answer)
            marks = [_is_marked(column[number]) for column in (settles, checks)]
        except ValueError as error:
            raise TableError(f"{error}, in {row_name(number)} of the decisions.") from error
        entries.append(Entry(row, decision, reviewers[number] or "", *marks))
    return entries


def _optional(decisions_frame: Any, name: str) -> AnyArray:
    """Return the texts of a column, all None where there is no such column."""
    if name not in decisions_frame:
        return np.full(len(decisions_frame), None)
    return texts_of(decisions_frame[name], what=f"what is called {name!r}", literal=True)


def entry_of(fields: Mapping[str, Any], row: int) -> Entry:
    """Return the entry about a row that a line of JSON holds."""
    decision = decision_of(text_of(fields[LABEL]), text_of(fields.get(ANSWER)))
    marks = (_is_marked(text_of(fields.get(name))) for name in (SETTLES, CHECK))
    return Entry(row, decision, text_of(fields.get(BY)) or "", *marks)


def _is_marked(text: str | None) -> bool:
    """Return what a cell for yes or no says; empty is no."""
    if text is None or text.lower() in _NO:
        return False
    if text.lower() in _YES:
        return True
    raise ValueError(f"{SETTLES!r} and {CHECK!r} say true or false. Got {quote_value(text)}")


def apply_decision(standing: dict[int, Decision], row: int, decision: Decision | None) -> None:
    """Let a decision replace an earlier one on its row, or take it back if it is None.

    Labels that are said not to be right one after the other add up.
    """
    before = standing.get(row)
    if decision is None:
        standing.pop(row, None)
    elif isinstance(decision, NotThese) and isinstance(before, NotThese):
        standing[row] = NotThese(before.labels | decision.labels)
    else:
        standing[row] = decision


class DecidedRows:
    """Says which row of a table a decision is about: by the column ``id``, or counted from 1."""

    def __init__(self, frame: Any, id: str | None = None) -> None:
        self.column = ROW if id is None else id
        self._n_rows = len(frame)
        self._rows_of_id = None if id is None else _rows_of_id(frame, id)

    def position(self, name: str, number: int) -> int:
        """Return the position, from 0, of the row that the decision with this number names."""
        if self._rows_of_id is None:
            return self._position_by_count(name, number)
        found = self._rows_of_id.get(name, [])
        if not found:
            raise TableError(
                f"{row_name(number).capitalize()} of the decisions is about "
                f"{quote_value(name)}, which column {self.column!r} of the table does not hold. "
                "Check that the decisions belong to this table."
            )
        if len(found) > 1:
            raise TableError(
                f"A decision is about one row. Column {self.column!r} of the table holds "
                f"{quote_value(name)} in {len(found):,} rows, among them {row_name(found[0])} "
                f"and {row_name(found[1])}. Make it unique, or decide by row number."
            )
        return found[0]

    def _position_by_count(self, name: str, number: int) -> int:
        match = _INTEGER.fullmatch(name)
        if match is None:
            raise TableError(
                f"Column {ROW!r} of the decisions must hold row numbers, counted from 1. Got "
                f"{quote_value(name)} in its {row_name(number)}. Correct it, or name the column "
                f"that identifies rows: {option('id')}."
            )
        row = int(match[1])
        if not 1 <= row <= self._n_rows:
            raise TableError(
                f"Decisions are about rows 1 to {self._n_rows:,} of the table, counted without the "
                f"header. Got {row:,} in {row_name(number)} of the decisions. Check that they "
                "belong to this table."
            )
        return row - 1

    def names(self) -> list[str]:
        """Return the names that decisions use for all rows; refuse blank and repeated ones."""
        if self._rows_of_id is None:
            return [str(row + 1) for row in range(self._n_rows)]
        if self.column in (LABEL, ANSWER, BY, SETTLES, CHECK):
            raise TableError(
                f"A file of decisions has a column {self.column!r} for what was decided, and "
                "another that names the rows. Got the same for both. Rename it in the table, or "
                f"name another: {option('id')}."
            )
        names = [""] * self._n_rows
        for name, rows in self._rows_of_id.items():
            if len(rows) > 1:
                raise TableError(
                    f"Column {self.column!r} should name the rows. It holds {quote_value(name)} in "
                    f"{row_name(rows[0])} and in {row_name(rows[1])}. Make it unique, or name "
                    f"another column: {option('id')}."
                )
            names[rows[0]] = name
        if "" in names:
            raise TableError(
                f"Column {self.column!r} should name the rows. It is empty in "
                f"{row_name(names.index(''))}. Fill it in, or name another column: {option('id')}."
            )
        return names


def _rows_of_id(frame: Any, name: str) -> dict[str, list[int]]:
    """Return the rows of every identifier; there should be one of each."""
    column = find_column(frame, name, what="the column that names the rows")
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts_of(column, what="identifiers", literal=True)):
        if text is not None:
            rows.setdefault(text, []).append(row)
    return rows
