"""What a person decides on rows: labels and other answers, as lines of a table or log."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from disambig._core.messages import join_names, quote_value
from disambig.tabular.table_cells import text_of

LABEL, ANSWER, BY, SETTLES, CHECK = "label", "answer", "by", "settles", "check"
ROW = "row"
_NOT_THIS = "not this"
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


def entry_of(fields: Mapping[str, Any], row: int) -> Entry:
    """Return the entry about a row that a line of JSON holds."""
    decision = decision_of(text_of(fields[LABEL]), text_of(fields.get(ANSWER)))
    marks = (is_marked(text_of(fields.get(name))) for name in (SETTLES, CHECK))
    return Entry(row, decision, text_of(fields.get(BY)) or "", *marks)


def is_marked(text: str | None) -> bool:
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
