"""Findings: what looks wrong in the labels of a table."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import numpy as np

from disambig._core.messages import join_names, option, percent, quote_value, quoted_list, row_count
from disambig.candidates.audit import may_have_any_label
from disambig.tabular.audit.duplicates import find_repeated_rows
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.label_findings import (
    look_alike,
    never_alone,
    never_without,
    rare_labels,
)
from disambig.tabular.audit.leaking_columns import leaking_columns
from disambig.tabular.audit.neighbour_findings import (
    Neighbourhoods,
    disputed_sets,
    near_duplicates,
)
from disambig.tabular.audit.spelling import find_joined_labels, find_slips, find_spelling_variants
from disambig.tabular.labels.percentages import that_spoil_percentages

_EXAMPLES = 3
_NEARLY_ALL = 0.95
_FEWEST_ROWS = 20  # in fewer, shares say little
# What people write where they do not know a label, without capitals.
_NO_ANSWERS = frozenset({
    *("?", "??", "???", "-", "--", "n.a.", "unknown", "unclear", "uncertain", "undecided"),
    *("unsure", "not sure", "don't know", "do not know", "dont know", "can't tell", "cannot tell"),
    *("no label", "unlabeled", "unlabelled", "missing", "tbd", "todo"),
})  # fmt: skip
_NO_ROWS = np.zeros(0, dtype=np.int64)


def find_suspicious(
    labelled: LabelledRows, with_values: LabelledRows | None = None
) -> list[Finding]:
    """Return what looks wrong in the labels, the worst first.

    ``with_values`` are those of the rows whose features are looked at; by default all.
    """
    if not len(labelled.candidates):
        return []
    featured = with_values or labelled
    around = Neighbourhoods.of(featured)
    found: tuple[Iterable[Finding], ...] = (
        _one_label(labelled),
        _labels_like_names(labelled),
        leaking_columns(featured),
        _joined(labelled),
        _no_answers(labelled),
        _spelled_alike(labelled),
        _slips(labelled),
        _repeated_rows(featured),
        () if around is None else near_duplicates(around),
        () if around is None else disputed_sets(around),
        _full_sets(labelled),
        _in_nearly_all_rows(labelled),
        _always_together(labelled),
        never_without(labelled),
        () if around is None else look_alike(featured, around.where),
        rare_labels(labelled),
        never_alone(labelled),
        _never_candidates(labelled),
    )
    return list(chain.from_iterable(found))


def _one_label(labelled: LabelledRows) -> Iterator[Finding]:
    if labelled.n_occurring == 1:
        label = labelled.audit.classes[int(labelled.audit.candidate_counts.argmax())]
        yield Finding.about(
            _NO_ROWS,
            "one_label",
            f"{quote_value(label)} is the only label in the whole table.",
            "Check that this is the label column. Nothing can be learned from a single label.",
            [[label]],
        )


def _labels_like_names(labelled: LabelledRows) -> Iterator[Finding]:
    rows = labelled.audit.n_samples
    if rows >= _FEWEST_ROWS and 2 * labelled.n_occurring > rows:
        yield Finding.about(
            _NO_ROWS,
            "labels_like_names",
            f"There are {labelled.n_occurring:,} different labels in {row_count(rows)}.",
            "Check that the column holds labels, not the names of the rows.",
        )


def _joined(labelled: LabelledRows) -> Iterator[Finding]:
    odd = that_spoil_percentages(labelled.text_counts) if labelled.separator_unused else []
    if odd:
        n_rows = len(labelled.rows_with(name for name in labelled.text_counts if "%" in name))
        yield Finding.about(
            labelled.rows_with(odd),
            "percentages_not_read",
            f"Percentages in {row_count(n_rows)} were read as parts of labels, because some cells "
            "do not have one for each label, or have more than 100 % in all: "
            f"{_few(map(quote_value, odd))}.",
            "Correct these cells, so that percentages are read as weights.",
            [[label] for label in odd],
        )
        return
    found = find_joined_labels(labelled.text_counts) if labelled.separator_unused else None
    if found is not None:
        rows = labelled.rows_with(found.labels)
        yield Finding.about(
            rows,
            "other_separator",
            f"{row_count(len(rows))} may have several labels with {found.separator!r} between "
            f"them, such as {quote_value(found.labels[0])}, that were read as one.",
            f"If so, use {option('separator', found.separator)}.",
            [[label] for label in found.labels],
        )


def _no_answers(labelled: LabelledRows) -> Iterator[Finding]:
    counts = labelled.text_counts
    found = [label for label in counts if label.casefold() in _NO_ANSWERS]
    if found and len(found) < labelled.n_occurring:
        one = len(found) == 1
        yield Finding.about(
            labelled.rows_with(found),
            "no_answers",
            f"{_few(_with_count(label, counts) for label in found)} may say that somebody did not "
            f"know, and {'is' if one else 'are'} read as {'a label' if one else 'labels'}.",
            f"If so, leave such cells empty, and use {option('empty', 'all')}: their rows may then "
            "have any label.",
            [[label] for label in found],
        )


def _spelled_alike(labelled: LabelledRows) -> Iterator[Finding]:
    counts = labelled.text_counts
    groups = [
        sorted(group, key=lambda label: (-counts[label], label))
        for group in find_spelling_variants(counts)
    ]
    groups.sort(key=lambda group: -counts[group[0]])
    if groups:
        yield Finding.about(
            labelled.rows_with(label for group in groups for label in group[1:]),
            "spelled_alike",
            "Labels differ only in capitals or spaces: "
            f"{_few(' and '.join(_with_count(x, counts) for x in group) for group in groups)}.",
            "If they mean the same, spell them the same way.",
            groups,
        )


def _slips(labelled: LabelledRows) -> Iterator[Finding]:
    counts = labelled.text_counts
    slips = find_slips(counts)
    if slips:
        examples = (" for ".join(_with_count(label, counts) for label in slip) for slip in slips)
        yield Finding.about(
            labelled.rows_with(slip.rare for slip in slips),
            "misspelled",
            f"Rare labels may be misspelled: {_few(examples)}.",
            "If so, correct them.",
            slips,
        )


def _repeated_rows(labelled: LabelledRows) -> Iterator[Finding]:
    if labelled.values is None:
        return
    repeated = find_repeated_rows(labelled.values, labelled.candidates)
    rows = labelled.numbers[repeated.contradicting]
    if len(rows):
        yield Finding.about(
            rows,
            "contradictions",
            f"{row_count(len(rows))} have the same features as others, but no label in common "
            "with them.",
            "Correct the labels, or add columns that tell these rows apart.",
        )
    rows = labelled.numbers[repeated.differing]
    if len(rows):
        yield Finding.about(
            rows,
            "same_features_other_labels",
            f"{row_count(len(rows))} have the same features as others, and only some labels in "
            "common with them.",
            "If they are the same thing entered twice, keep the labels that they share.",
        )


def _full_sets(labelled: LabelledRows) -> Iterator[Finding]:
    if labelled.n_occurring == 1:
        return
    rows = labelled.numbers[may_have_any_label(labelled.candidates, labelled.n_occurring)]
    if len(rows) == len(labelled.numbers):
        yield Finding.about(
            _NO_ROWS,
            "every_label_everywhere",
            "Every row has every label, so the labels say nothing.",
            "Check the label columns and the separator.",
        )
    elif len(rows):
        yield Finding.about(
            rows,
            "full_sets",
            f"{row_count(len(rows))} could have any label, so nothing can be learned from "
            f"{'it' if len(rows) == 1 else 'them'}.",
            f"Rule out at least one label, or drop {'it' if len(rows) == 1 else 'them'}.",
        )


def _in_nearly_all_rows(labelled: LabelledRows) -> Iterator[Finding]:
    rows, counts = labelled.audit.n_samples, labelled.audit.candidate_counts
    common = [labelled.audit.classes[j] for j in np.flatnonzero(counts >= _NEARLY_ALL * rows)]
    # Weights tell more than presence; and every label in every row is another finding.
    if labelled.is_weighted or rows < _FEWEST_ROWS or not 0 < len(common) < labelled.n_occurring:
        return
    yield Finding.about(
        _NO_ROWS,
        "in_nearly_all_rows",
        f"{quoted_list(common)} {'is' if len(common) == 1 else 'are'} among the labels of "
        f"{percent(counts.max() / rows)} of the rows.",
        "Leave out what is there by default where it does not apply. If most rows are of one "
        "label, expect a model to prefer it.",
        [[label] for label in common],
    )


def _always_together(labelled: LabelledRows) -> Iterator[Finding]:
    groups = labelled.audit.inseparable
    if labelled.is_weighted or not groups or len(groups[0]) == labelled.n_occurring:
        return
    yield Finding.about(
        labelled.rows_with(label for group in groups for label in group),
        "always_together",
        "Labels that always come together cannot be told apart: "
        f"{_few(quoted_list(group) for group in groups)}.",
        "Settle some of these rows by hand, or make one label of them.",
        groups,
    )


def _never_candidates(labelled: LabelledRows) -> Iterator[Finding]:
    never = labelled.audit.never_candidates
    if never:
        yield Finding.about(
            _NO_ROWS,
            "never_candidates",
            f"No row has {quoted_list(never)} among its labels.",
            "Check the spelling of the classes. A class that never occurs is not learned.",
            [[label] for label in never],
        )


def _with_count(label: str, counts: Mapping[str, int]) -> str:
    return f"{quote_value(label)} ({row_count(counts[label])})"


def _few(examples: Iterable[str]) -> str:
    return join_names(examples, most=_EXAMPLES, longest=None, separator=";")
