"""What people decide together: read_decisions; and how often reviewers of the same rows agree."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from disambig._core.errors import warn_caller
from disambig._core.messages import join_names, row_count, row_name
from disambig.tabular.labels.decided_rows import read_entries
from disambig.tabular.labels.decisions import (
    Answer,
    Decision,
    Entry,
    NotThese,
    apply_decision,
    decision_word,
)

_MOST_NAMED = 3
UNNAMED_REVIEWER = "a reviewer without a name"

# By row, then by reviewer.
Conflicts = dict[int, dict[str, Decision]]


@dataclass(frozen=True)
class Agreement:
    """How often two reviewers decided alike on the rows that both have decided on."""

    one: str
    other: str
    n_rows: int
    share: float
    kappa: float | None  # Cohen's: 0 as by chance, 1 always; None where both always say the same

    def __str__(self) -> str:
        kappa = "" if self.kappa is None else f" (kappa {self.kappa:.2f})"
        return (
            f"{reviewer_name(self.one)} and {reviewer_name(self.other)} decided alike in "
            f"{100 * self.share:.0f} % of {row_count(self.n_rows)}{kappa}."
        )


def read_decisions(
    decisions_frame: Any, frame: Any, *, id: str | None = None
) -> dict[int, Decision]:
    """Return what a person has decided on rows, by row position counted from 0.

    A later decision on a row replaces an earlier one, and an empty one takes it back. Decisions of
    several reviewers count where they agree; rows on which they disagree are left out, with a
    warning.

    Parameters
    ----------
    decisions_frame : DataFrame
        A table with a column "label", and a column "row" (counted from 1) or the column ``id``.
        It may have a column "answer": "not this" beside a label, or "none of these", "cannot tell"
        or "bad row" without one; and a column "by" that names the reviewer.
    frame : DataFrame
        The table that the decisions are about.
    id : str, optional
        The column in both tables that names the rows; values are compared as strings.

    Returns
    -------
    dict
        For every row its label as a string, ``NotThese`` labels, or an ``Answer``.

    See Also
    --------
    clean_table : Takes them as ``decisions``.
    fit_table : Takes them too.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import read_decisions
    >>> frame = pd.DataFrame({"size": [1, 2], "label": ["cat|dog", "dog|fox"]})
    >>> decisions = pd.DataFrame({"row": [2, 1, 2], "label": ["dog", "cat", "fox"]})
    >>> read_decisions(decisions, frame)
    {1: 'fox', 0: 'cat'}
    """
    return decisions_in(read_entries(decisions_frame, frame, id=id))


def decisions_in(entries: Iterable[Entry]) -> dict[int, Decision]:
    """Return the decisions of all reviewers together; warn of rows on which they disagree."""
    decided, conflicts = agreed_decisions(entries)
    if conflicts:
        warn_caller(conflict_notice(conflicts))
    return decided


def reviewer_name(name: str) -> str:
    """Return what a reviewer is called, for people."""
    return name or UNNAMED_REVIEWER


def standing_decisions(entries: Iterable[Entry]) -> dict[str, dict[int, Decision]]:
    """Return the decisions that stand, by reviewer and row; nothing about rows with known labels.

    Decisions that settle a conflict are not among them.
    """
    by_reviewer: dict[str, dict[int, Decision]] = {}
    for entry in entries:
        if not entry.check and not entry.settles:
            apply_decision(by_reviewer.setdefault(entry.by, {}), entry.row, entry.decision)
    return by_reviewer


def settled_conflicts(entries: Iterable[Entry]) -> dict[int, Decision]:
    """Return what was decided to end conflicts, whoever decided it last."""
    settled: dict[int, Decision] = {}
    for entry in entries:
        if entry.settles and not entry.check:
            apply_decision(settled, entry.row, entry.decision)
    return settled


def agreed_decisions(entries: Iterable[Entry]) -> tuple[dict[int, Decision], Conflicts]:
    """Return the decisions of all reviewers together, and the rows on which they disagree."""
    entries = list(entries)
    by_row: Conflicts = {}
    for name, decisions in standing_decisions(entries).items():
        for row, decision in decisions.items():
            by_row.setdefault(row, {})[name] = decision
    decided: dict[int, Decision] = {}
    conflicts: Conflicts = {}
    # In the order in which rows were first decided on.
    for row, said in by_row.items():
        joined = _joined(said.values())
        if joined is None:
            conflicts[row] = said
        else:
            decided[row] = joined
    settled = settled_conflicts(entries)
    return decided | settled, {row: said for row, said in conflicts.items() if row not in settled}


def _joined(said: Iterable[Decision]) -> Decision | None:
    """Return what several decisions on a row say together; None where they contradict each other.

    Who cannot tell contradicts nobody.
    """
    told = {decision for decision in said if decision is not Answer.CANNOT_TELL}
    if len(told) <= 1:
        return next(iter(told), Answer.CANNOT_TELL)
    labels = {decision for decision in told if isinstance(decision, str)}
    answers = {decision for decision in told if isinstance(decision, Answer)}
    excluded: frozenset[str] = frozenset().union(
        *(decision.labels for decision in told if isinstance(decision, NotThese))
    )
    if answers == {Answer.NONE_OF_THESE} and not labels:
        return Answer.NONE_OF_THESE  # which says more than that some of them are wrong
    if answers or len(labels) > 1 or labels & excluded:
        return None
    return next(iter(labels), NotThese(excluded))


def agreements(entries: Iterable[Entry]) -> list[Agreement]:
    """Return how often every two reviewers decided alike, where they decided on the same rows."""
    by_reviewer = standing_decisions(entries)
    found = []
    for one, other in combinations(by_reviewer, 2):
        ours, theirs = by_reviewer[one], by_reviewer[other]
        both = [row for row in ours if row in theirs]
        if both:
            pairs = [(ours[row], theirs[row]) for row in both]
            share, kappa = _share_and_kappa(pairs)
            found.append(Agreement(one, other, len(both), share, kappa))
    return found


def _share_and_kappa(pairs: list[tuple[Decision, Decision]]) -> tuple[float, float | None]:
    n_pairs = len(pairs)
    share = sum(one == other for one, other in pairs) / n_pairs
    ours, theirs = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(count * theirs[said] for said, count in ours.items()) / n_pairs**2
    return share, (share - by_chance) / (1 - by_chance) if by_chance < 1 else None


def conflict_notice(conflicts: Mapping[int, Mapping[str, Decision]]) -> str:
    """Return what people should know about rows on which reviewers disagree."""
    first = min(conflicts)
    said = join_names(
        (
            f"{reviewer_name(name)} says {decision_word(decision)}"
            for name, decision in conflicts[first].items()
        ),
        most=_MOST_NAMED,
    )
    does = "keeps its" if len(conflicts) == 1 else "keep their"
    return (
        f"Reviewers disagree on {row_count(len(conflicts))}, which {does} candidates. The first is "
        f"{row_name(first)}: {said}. To settle them: disambig review CLEAN --conflicts."
    )
