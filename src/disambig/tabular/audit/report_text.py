"""Findings of an audit, as text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from disambig._core.messages import percent, printable, quote_value, row_count, row_list
from disambig._core.typing import IntArray

if TYPE_CHECKING:
    from disambig.candidates.audit import CandidateAudit
    from disambig.tabular.audit.table_audit import TableAudit

__all__ = [
    "HEADINGS",
    "Finding",
    "LabelLine",
    "SizeLine",
    "audit_text",
    "contents_sentence",
    "label_lines",
    "pair_lines",
    "reading_sentences",
    "size_lines",
]


_ROWS_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong. ``str()`` of it is a text for people.

    Attributes
    ----------
    kind : str
        What was found, as a name for programs.
    message : str
        What was found, as a sentence.
    advice : str
        What to do about it.
    count : int
        How many rows it concerns.
    rows : tuple of int
        The first of these rows, counted from 1.
    labels : tuple of tuples of str
        The labels it concerns, those together that belong together.
    """

    kind: str
    message: str
    advice: str = ""
    count: int = 0
    rows: tuple[int, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def about(
        cls,
        rows: IntArray,
        kind: str,
        message: str,
        advice: str,
        labels: Iterable[Iterable[object]] = (),
    ) -> Self:
        """Return a finding about rows, which are given by their positions from 0."""
        first = tuple(int(row) + 1 for row in rows[:_ROWS_NAMED])
        groups = tuple(tuple(str(label) for label in group) for group in labels)
        return cls(kind, message, advice, len(rows), first, groups)

    @property
    def where(self) -> str:
        """Where to look, as a sentence; nothing where it is no matter of single rows."""
        return f"See {row_list(self.rows, self.count)}." if self.rows else ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.message, self.where, self.advice)))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return {
            "kind": self.kind,
            "message": self.message,
            "advice": self.advice,
            "count": self.count,
            "rows": list(self.rows),
            "labels": [list(group) for group in self.labels],
        }


HEADINGS = {
    "sizes": "How many labels a row has",
    "labels": "How often each label is possible, and how often it is the only one",
    "pairs": "Most often together",
    "findings": "What looks wrong",
    "cost": "What it costs that labels are not certain",
}
_KINDS = {
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "boolean": ("yes or no", "yes or no"),
    "date": ("date", "dates"),
}
_MOST_SIZES = 8
_MOST_LABELS = 12
_MOST_PAIRS = 5
_MOST_NOTICES = 5
_LONGEST_LABEL = 30
_BAR = 30


class SizeLine(NamedTuple):
    """One bar of the chart of set sizes."""

    size: str
    rows: int
    share: str
    bar: str


class LabelLine(NamedTuple):
    """One line of the table of labels."""

    label: str
    candidate_in: int
    alone_in: int


def audit_text(audit: "TableAudit") -> str:
    """Return an audit as plain text."""
    sets = audit.sets
    labels, more = label_lines(sets)
    sections = {
        "sizes": [f"{s.size:>6}  {s.rows:>9,}  {s.share:>9}  {s.bar}" for s in size_lines(sets)],
        "labels": [
            *(
                f"{x.label:<{_LONGEST_LABEL}}  {x.candidate_in:>9,}  {x.alone_in:>9,}"
                for x in labels
            ),
            *filter(None, [more]),
        ],
        "pairs": pair_lines(sets),
        "findings": [f"- {printable(finding)}" for finding in audit.findings] or ["Nothing."],
        "cost": str(audit.information).splitlines(),
    }
    blocks = [[contents_sentence(audit), *reading_sentences(audit)]]
    blocks += [
        [HEADINGS[name], *(f"  {line}" for line in lines)]
        for name, lines in sections.items()
        if lines
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def contents_sentence(audit: "TableAudit") -> str:
    """Return how much there is: rows, features, labels."""
    n_features = sum(map(len, audit.features.values()))
    kinds = ", ".join(
        f"{len(names):,} {_KINDS[kind][len(names) != 1]}" for kind, names in audit.features.items()
    )
    features = f"{n_features:,} feature{'s' * (n_features != 1)} ({kinds})"
    n_labels = audit.sets.n_classes
    return (
        f"{row_count(audit.n_rows)}, {features if n_features else 'no usable features'}, "
        f"{n_labels:,} label{'s' * (n_labels != 1)}. A row has "
        f"{audit.sets.average_candidates:.2f} labels on average, of which one is right."
    )


def reading_sentences(audit: "TableAudit") -> list[str]:
    """Return how labels and columns were read, where people may not expect it."""
    sentences = [printable(notice) for notice in audit.notices[:_MOST_NOTICES]]
    if audit.negative:
        sentences.insert(0, "Some rows say which labels they do not have.")
    if audit.weighted:
        sentences.insert(0, "Labels have weights or votes, which say how likely each is.")
    if len(audit.notices) > _MOST_NOTICES:
        sentences.append(f"And {len(audit.notices) - _MOST_NOTICES:,} more notes on columns.")
    return sentences


def size_lines(sets: "CandidateAudit") -> list[SizeLine]:
    """Return how many rows have how many labels, sizes beyond the first ones together."""
    sizes = sorted(sets.size_histogram.items())
    shown = [(f"{size:,}", rows) for size, rows in sizes]
    if len(shown) > _MOST_SIZES:
        first, rest = sizes[: _MOST_SIZES - 1], sizes[_MOST_SIZES - 1 :]
        shown = [*shown[: len(first)], (f"{rest[0][0]:,}+", sum(rows for _, rows in rest))]
    largest = max((rows for _, rows in shown), default=1)
    return [
        SizeLine(size, rows, percent(rows / sets.n_samples), "#" * -(-_BAR * rows // largest))
        for size, rows in shown
    ]


def label_lines(sets: "CandidateAudit") -> tuple[list[LabelLine], str]:
    """Return the most frequent labels, and a sentence about the others if there are any."""
    possible, alone = sets.candidate_counts, sets.alone_counts
    order = np.argsort(-possible, kind="stable")
    lines = [
        LabelLine(printable(sets.classes[j], _LONGEST_LABEL), int(possible[j]), int(alone[j]))
        for j in order[:_MOST_LABELS].tolist()
    ]
    rest = possible[order[_MOST_LABELS:]]
    if not len(rest):
        return lines, ""
    reach = f"{rest[-1]:,} to {row_count(int(rest[0]))}"
    return lines, f"and {len(rest):,} more, possible in {reach} each"


def pair_lines(sets: "CandidateAudit") -> list[str]:
    """Return the labels that are most often possible together."""
    return [
        f"{quote_value(first)} and {quote_value(second)}: {row_count(count)}"
        for first, second, count in sets.most_common_pairs(_MOST_PAIRS)
    ]
