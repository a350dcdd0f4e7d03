"""What a reviewer has decided, as a page sees it: what stands, and what undo would take back."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.tabular.labels.decisions import Decision, Entry, NotThese, apply_decision
from disambig.tabular.labels.reviewers import settled_conflicts


@dataclass(frozen=True)
class Standing:
    """The decisions of a reviewer at some moment, by row."""

    settled: dict[int, Decision]
    checked: dict[int, Decision]  # answers about rows whose label is known
    # The row of the latest decision, and what stood on it before; None where nothing was decided.
    undo: tuple[int, Decision | None] | None


class ReviewLog:
    """A log of decisions, of which some are answers about rows whose label is known.

    Parameters
    ----------
    log : DecisionLog
        The log, as one reviewer sees it.
    checks : collection of int, optional
        Rows whose label is known. Nothing is trained on answers about them.
    settles : bool, default=False
        Whether decisions end conflicts of other reviewers. They then stand whoever made them.
    """

    def __init__(
        self, log: DecisionLog, *, checks: Collection[int] = (), settles: bool = False
    ) -> None:
        self.log = log
        self.checks = frozenset(checks)
        self._settles = settles

    def standing(self) -> Standing:
        """Read what stands."""
        return self._standing(self.log.entries())

    def decide(self, row: int, decision: Decision | None, *, before: Decision | None) -> Standing:
        """Write a decision to the disk, and return what stands then.

        ``before`` is what the reviewer saw: if something else stands, raise ``Conflict`` and write
        nothing.
        """
        check = row in self.checks
        goes_back = _takes_back(before, decision)
        if self._settles:  # others may have ended it, and that is not in one's own decisions
            if settled_conflicts(self.log.entries()).get(row) != before:
                raise Conflict
            before = self.log.settled(settles=True).get(row)
        if goes_back:
            self.log.settle(row, None, before=before, settles=self._settles, check=check)
            before = None
        return self._standing(
            self.log.record(row, decision, before=before, settles=self._settles, check=check)
        )

    def _standing(self, entries: Iterable[Entry]) -> Standing:
        entries = list(entries)
        own = [one for one in entries if one.by == self.log.reviewer]
        if self._settles:
            settled = settled_conflicts(entries)
            own = [one for one in own if one.settles]
        else:
            own = [one for one in own if not one.settles]
            settled = _standing_of(one for one in own if not one.check)
        checked = _standing_of(one for one in own if one.check and one.row in self.checks)
        return Standing(settled, checked, _undo_of(own))


def _takes_back(before: Decision | None, decision: Decision | None) -> bool:
    """Tell whether a decision has fewer labels that are not right than the one before it."""
    if not isinstance(before, NotThese) or not isinstance(decision, NotThese):
        return False
    return not before.labels <= decision.labels


def _standing_of(entries: Iterable[Entry]) -> dict[int, Decision]:
    standing: dict[int, Decision] = {}
    for entry in entries:
        apply_decision(standing, entry.row, entry.decision)
    return standing


def _undo_of(entries: Iterable[Entry]) -> tuple[int, Decision | None] | None:
    """Return the row of the latest decision that was not taken back, and what stood before it."""
    standing: dict[bool, dict[int, Decision]] = {False: {}, True: {}}
    done: list[tuple[int, Decision | None]] = []
    for entry in entries:
        of_kind = standing[entry.check]
        before = of_kind.get(entry.row)
        apply_decision(of_kind, entry.row, entry.decision)
        after = of_kind.get(entry.row)
        if done and done[-1] == (entry.row, after):
            done.pop()  # as it was before the latest: this line took that back
        elif after != before:
            done.append((entry.row, before))
    return done[-1] if done else None
