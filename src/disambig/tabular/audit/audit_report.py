"""``TableAudit``: the result of an audit, as sections of text and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from disambig._core.messages import percent, plural, printable, quote_value, row_count, row_name
from disambig.candidates.audit import CandidateAudit, LabelInformation
from disambig.candidates.group_audit import GroupAudit, PromiseLimits
from disambig.tabular.audit.annotators_judged import JudgedAnnotators
from disambig.tabular.audit.findings import Finding
from disambig.tabular.audit.groups_noticed import NoticedGroups
from disambig.tabular.audit.judged_sets import CheckedTruth, JudgedSets, KeptPromise

_KINDS = {
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "boolean": ("yes or no", "yes or no"),
    "date": ("date", "dates"),
    "text": ("text", "texts"),
    "image": ("image", "images"),
    "embedding": ("embedding", "embeddings"),
}
_MOST_SIZES = 8
_MOST_LABELS = 12
_MOST_PAIRS = 5
_PAIRS_IN_JSON = 50
_MOST_NOTICES = 5
_LONGEST_LABEL = 30
_LONGEST_BAR = 30


class Section(NamedTuple):
    """A section of a report: aligned lines of a table, a numbered list, or sentences."""

    heading: str
    lines: list[str]
    is_table: bool = False
    is_numbered: bool = False

    def numbered_lines(self) -> list[str]:
        """Return the lines, with their numbers if they have some."""
        if not self.is_numbered:
            return self.lines
        return [f"{number}. {line}" for number, line in enumerate(self.lines, start=1)]


@dataclass(frozen=True, eq=False)  # arrays do not compare to one answer
class TableAudit:
    """What a table contains and what looks wrong in it; ``str()`` gives a report in plain text.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_unlabelled : int
        Number of rows without a label.
    features : mapping from str to tuple of str
        The feature columns by kind; empty if no column can be used.
    notices : tuple of str
        Remarks on columns, such as those that were left out.
    sets : CandidateAudit
        Facts about the candidate sets.
    weighted, negative : bool
        Whether candidates have weights or votes; whether some labels are ruled out, as in "!cat".
    information : LabelInformation
        What the ambiguity costs.
    findings : tuple of Finding
        What looks wrong, the worst first.
    truth : CheckedTruth or None
        How many known true labels are not among their row's candidates; None if none is known.
    judged : JudgedSets or None
        Sets that may miss the right label, where a model was given.
    groups : GroupAudit or None
        Facts about rows that come together, where these were named.
    kept : tuple of KeptPromise
        How often each promise holds, where groups are named and true labels known.
    noticed : NoticedGroups or None
        What speaks for rows that come together, where groups are not named; also a finding.
    annotators : JudgedAnnotators or None
        How good annotators are, where it is known who gave which label.

    See Also
    --------
    audit_table : Makes it.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import audit_table
    >>> frame = example_tables()["vehicles.csv"]
    >>> audit = audit_table(frame, truth="checked", id="vehicle")
    >>> audit.n_rows, audit.n_unlabelled
    (746, 0)
    >>> print(audit)  # doctest: +ELLIPSIS
    746 rows...
    """

    n_rows: int
    n_unlabelled: int
    features: Mapping[str, tuple[str, ...]]
    notices: tuple[str, ...]
    sets: CandidateAudit
    weighted: bool
    negative: bool
    information: LabelInformation
    findings: tuple[Finding, ...]
    truth: CheckedTruth | None = None
    judged: JudgedSets | None = None
    groups: GroupAudit | None = None
    kept: tuple[KeptPromise, ...] = ()
    noticed: NoticedGroups | None = None
    annotators: JudgedAnnotators | None = None

    def __str__(self) -> str:
        blocks = ["\n".join(self.summary())]
        for section in self.sections():
            lines = [f"  {line}" for line in section.numbered_lines()]
            blocks.append("\n".join([section.heading, *lines]))
        return "\n\n".join(blocks)

    def to_json(self) -> dict[str, Any]:
        """Return it in types that JSON has."""
        sets, information = self.sets, self.information
        counts = zip(
            sets.classes, sets.candidate_counts.tolist(), sets.alone_counts.tolist(), strict=True
        )
        return {
            "rows": self.n_rows,
            "rows_without_label": self.n_unlabelled,
            "features": {kind: list(names) for kind, names in self.features.items()},
            "notices": list(self.notices),
            "weighted": self.weighted,
            "negative": self.negative,
            "set_sizes": {str(size): count for size, count in sets.size_histogram.items()},
            "average_candidates": sets.average_candidates,
            "singleton_share": sets.singleton_share,
            "labels": [
                {"label": label, "candidate_in": candidate, "alone_in": alone}
                for label, candidate, alone in counts
            ],
            "pairs": [
                {"labels": [first, second], "rows": count}
                for first, second, count in sets.most_common_pairs(_PAIRS_IN_JSON)
            ],
            "always_together": [list(group) for group in sets.inseparable],
            "cost": {
                "known_share": information.known_share,
                "equivalent_rows": information.equivalent_rows,
                "blind_guess_share": information.blind_guess_share,
            },
            "findings": [asdict(finding) for finding in self.findings],
            "truth": None if self.truth is None else asdict(self.truth),
            "misses": None if self.judged is None else self.judged.to_json(),
            "groups": None if self.groups is None else self._groups_to_json(self.groups),
            "annotators": None if self.annotators is None else self.annotators.to_json(),
        }

    def summary(self) -> list[str]:
        """Return sentences on how much there is, and how labels and columns were read."""
        sentences = [_contents(self)]
        if self.weighted:
            sentences.append("Labels have weights or votes, which say how likely each is.")
        if self.negative:
            sentences.append("Some rows rule labels out, as in !cat.")
        sentences += [printable(notice) for notice in self.notices[:_MOST_NOTICES]]
        if len(self.notices) > _MOST_NOTICES:
            more = plural(len(self.notices) - _MOST_NOTICES, "more note")
            sentences.append(f"And {more} on columns, which --json lists.")
        return sentences

    def sections(self) -> list[Section]:
        """Return the parts of a report, those that have anything to say."""
        findings = [printable(finding) for finding in self.findings]
        heading = "How often each label is possible, and how often it is the only one"
        sections = [
            Section("How many labels a row has", _size_lines(self.sets), is_table=True),
            Section(heading, _label_lines(self.sets), is_table=True),
            Section("Most often together", _pair_lines(self.sets)),
            Section("Rows that come together", self._group_lines()),
            Section(
                "Annotators, judged by each other",
                [] if self.annotators is None else self.annotators.lines(),
                is_table=True,
            ),
            Section("What looks wrong", findings or ["Nothing."], is_numbered=bool(findings)),
            Section("What the true labels say", [] if self.truth is None else [str(self.truth)]),
            Section(
                "Sets that may miss the right label",
                [] if self.judged is None else self.judged.lines(),
            ),
            Section("What the ambiguity costs", str(self.information).splitlines()),
        ]
        return [section for section in sections if section.lines]

    def _group_lines(self) -> list[str]:
        if self.groups is None:
            return []
        kinds = {one.kind for one in self.groups.limits}
        kept = [str(one) for one in self.kept if one.kind in kinds]
        return self.groups.lines(row_name) + kept

    def _groups_to_json(self, groups: GroupAudit) -> dict[str, Any]:
        facts = asdict(groups)
        for one in (groups.cover, groups.exclusive):
            facts[one.kind] = _limits_to_json(one)
        return {**facts, "kept": [asdict(one) for one in self.kept]}


def _contents(audit: TableAudit) -> str:
    n_features = sum(map(len, audit.features.values()))
    kinds = ", ".join(
        f"{len(names):,} {_KINDS[kind][len(names) != 1]}" for kind, names in audit.features.items()
    )
    features = f"{n_features:,} feature{'s' * (n_features != 1)} ({kinds})"
    if not n_features:
        features = "no features yet (see what looks wrong)"
    n_labels = audit.sets.n_classes
    return (
        f"{row_count(audit.n_rows)}, {features}, "
        f"{n_labels:,} label{'s' * (n_labels != 1)}. A row has "
        f"{audit.sets.average_candidates:.2f} labels on average; one of them is right."
    )


def _limits_to_json(limits: PromiseLimits) -> dict[str, Any]:
    facts = asdict(limits)
    if limits.first is not None:
        facts["first"]["first_row"] += 1  # rows of a table are counted from 1
    return facts


def _size_lines(sets: CandidateAudit) -> list[str]:
    """Return how many rows have how many labels, the largest sizes together."""
    sizes = sorted(sets.size_histogram.items())
    shown = [(f"{size:,}", rows) for size, rows in sizes]
    if len(shown) > _MOST_SIZES:
        rest = sizes[_MOST_SIZES - 1 :]
        shown[_MOST_SIZES - 1 :] = [(f"{rest[0][0]:,}+", sum(rows for _, rows in rest))]
    largest = max((rows for _, rows in shown), default=1)
    return [
        f"{size:>6}  {rows:>9,}  {percent(rows / sets.n_samples):>9}  "
        f"{'#' * -(-_LONGEST_BAR * rows // largest)}"
        for size, rows in shown
    ]


def _label_lines(sets: CandidateAudit) -> list[str]:
    """Return the most frequent labels under a header, and how many more there are."""
    possible, alone = sets.candidate_counts, sets.alone_counts
    order = np.argsort(-possible, kind="stable")
    lines = [f"{'label':<{_LONGEST_LABEL}}  {'possible in':>11}  {'the only one in':>15}"]
    for j in order[:_MOST_LABELS].tolist():
        label = printable(sets.classes[j], _LONGEST_LABEL)
        lines.append(f"{label:<{_LONGEST_LABEL}}  {possible[j]:>11,}  {alone[j]:>15,}")
    rest = possible[order[_MOST_LABELS:]]
    if len(rest):
        reach = f"{rest[-1]:,} to {row_count(int(rest[0]))}"
        lines.append(f"and {len(rest):,} more, possible in {reach} each")
    return lines


def _pair_lines(sets: CandidateAudit) -> list[str]:
    return [
        f"{quote_value(first)} and {quote_value(second)}: {row_count(count)}"
        for first, second, count in sets.most_common_pairs(_MOST_PAIRS)
    ]
