"""The questions about a cleaned table with what their answers are expected to win, in words."""

from dataclasses import dataclass
from typing import Any

from disambig._core.messages import about, about_number, is_or_are, percent, plural, rough_number
from disambig.solvers.answers_ahead import Ahead
from disambig.tabular.questions import Question


@dataclass(frozen=True)
class QuestionPlan:
    """Questions about the rows of a cleaned table, and what their answers are expected to win.

    Attributes
    ----------
    questions : tuple of Question
        What to ask, the most valuable first.
    seconds : float
        How long the answers take, going by ``SECONDS_PER_ANSWER``.
    expected_errors : float
        How many labels are expected to be wrong, in rows that nobody has answered for.
    by_answers, nearby : float
        Errors that the answers are expected to remove: in their rows, and in rows like them once
        the table is cleaned again.
    ahead : Ahead
        How many labels the answers to as many questions after these will change.
    changed, foreseen : float
        How many of the answers so far changed a label, and how many should have by the confidences.

    See Also
    --------
    questions_of : Makes it.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import clean_table, questions_of, read_cleaned
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> plan = questions_of(read_cleaned(cleaned, id="vehicle"), budget=3)
    >>> plan.seconds
    15.0
    >>> 0 < plan.by_answers < plan.expected_errors
    True
    """

    questions: tuple[Question, ...]
    seconds: float
    expected_errors: float
    by_answers: float
    nearby: float
    ahead: Ahead
    changed: int = 0
    foreseen: float = 0.0

    @property
    def share_ahead(self) -> float:
        """Share of the errors left after these questions that the next as many hold."""
        left = self.expected_errors - self.by_answers - self.nearby
        expected = self.ahead.changes / self.ahead.ratio
        return min(expected / left, 1.0) if left > 0 else 0.0

    def sentences(self) -> list[str]:
        """Return what the questions win, in words."""
        if not self.questions:
            return ["There is nothing left to ask: no row is in doubt."]
        removed = about_number(self.by_answers + self.nearby)
        said = [
            f"{plural(len(self.questions), 'question')}, {_duration(self.seconds)}: {removed} of "
            f"{rough_number(self.expected_errors)} expected errors would go "
            f"({rough_number(self.by_answers)} by the answers themselves, "
            f"roughly {rough_number(self.nearby)} in rows like them)."
        ]
        if self.foreseen:
            said.append(
                f"So far {plural(self.changed, 'label')} changed; {about(self.foreseen, 'change')} "
                f"{is_or_are(self.foreseen)} what the confidences foretold."
            )
        if not self.ahead.n_answers:
            said.append("After these, no row that can be asked about is in doubt.")
            return said
        low, high = self.ahead.low, self.ahead.high
        span = "" if low == high else f" ({low:,} to {high:,})"
        said.append(
            f"The next {plural(self.ahead.n_answers, 'answer')} would change "
            f"{about(self.ahead.changes, 'label')}{span}: {percent(self.share_ahead)} of the "
            "errors that are left."
        )
        return said

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, for a script."""
        return {
            "questions": len(self.questions),
            "seconds": round(self.seconds, 1),
            "expected_errors": round(self.expected_errors, 3),
            "removed_by_answers": round(self.by_answers, 3),
            "removed_nearby": round(self.nearby, 3),
            "changed_so_far": self.changed,
            "expected_changes_so_far": round(self.foreseen, 3),
            "next": {
                "answers": self.ahead.n_answers,
                "changes": round(self.ahead.changes, 3),
                "low": self.ahead.low,
                "high": self.ahead.high,
                "share_of_errors_left": round(self.share_ahead, 4),
            },
        }


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"about {plural(minutes, 'minute')}" if minutes else f"about {seconds:.0f} seconds"
