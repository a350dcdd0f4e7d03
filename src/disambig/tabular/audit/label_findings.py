"""Labels that can hardly be learned: rare, never alone, never without another, or look-alikes."""

from collections.abc import Iterator

import numpy as np

from disambig._core.messages import join_names, plural, quote_value, quoted_list, row_count
from disambig._core.typing import BoolArray, FloatArray, IntArray, Label
from disambig.tabular.accuracy import share_interval
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.neighbours import are_all_in_points, nearest
from disambig.tabular.defaults import DEFAULT_FOLDS

_SEED = 0
_FEWEST_ROWS = 20
_NAMED = 4
_BY_CHANCE = 0.01  # pairs in the whole table that chance explains, at most
# Look-alikes: pairs of labels that come together, and the rows where each is the only one.
_MOST_PAIRS = 50
_FEWEST_OF_A_LABEL = 30
_MOST_OF_A_LABEL = 300
_N_VOTES = 5
_N_PARTS = 5
_RIDGE = 1e-3
_HARDLY = 0.6  # of the rows are told apart; a coin tells a half


def rare_labels(labelled: LabelledRows) -> Iterator[Finding]:
    """Report labels of fewer rows than there are folds.

    Rows that may have any label, as those of an unsure ``Barolo?``, do not count: they would hide
    a label that is written once.
    """
    n_rows, n_occurring = labelled.audit.n_samples, labelled.n_occurring
    possible = labelled.audit.candidate_counts
    is_full = (labelled.candidates.sizes == n_occurring) & (n_occurring > 2)
    n_full = int(np.count_nonzero(is_full))
    if n_rows - n_full < _FEWEST_ROWS or 2 * n_occurring > n_rows:  # these are names
        return
    counts = possible - n_full
    rare = np.flatnonzero((possible > 0) & (counts < DEFAULT_FOLDS))
    if not len(rare):
        return
    rare = rare[np.argsort(counts[rare], kind="stable")]
    names = [labelled.audit.classes[column] for column in rare]
    one = len(names) == 1
    except_full = f", not counting {row_count(n_full)} that may have any label" if n_full else ""
    rows = labelled.rows_with(names)
    yield Finding.about(
        rows[~np.isin(rows, labelled.numbers[is_full])],
        "rare_labels",
        f"{plural(len(names), 'label')} {'is' if one else 'are'} possible in fewer than "
        f"{DEFAULT_FOLDS} rows{except_full}: {_with_counts(labelled, rare, counts)}. That is "
        f"too few to learn {'it' if one else 'them'}, or to tell by {DEFAULT_FOLDS} folds how "
        "well.",
        "Add rows with such a label, make it part of another label, or leave these rows out.",
        [[name] for name in names],
    )


def never_alone(labelled: LabelledRows) -> Iterator[Finding]:
    """Report labels that no row has for sure, where others are known from single labels."""
    audit = labelled.audit
    if labelled.is_weighted or not audit.singleton_share or audit.n_samples < _FEWEST_ROWS:
        return
    # Those of few rows, or that never occur without a certain other one, are other findings.
    together = {label for group in audit.inseparable for label in group}
    together |= {label for label, _ in _always_beside(labelled)}
    enough = (audit.candidate_counts >= DEFAULT_FOLDS) & (audit.alone_counts == 0)
    columns = np.array(
        [j for j in np.flatnonzero(enough).tolist() if audit.classes[j] not in together], dtype=int
    )
    if not len(columns):
        return
    columns = columns[np.argsort(-audit.candidate_counts[columns], kind="stable")]
    names = [audit.classes[column] for column in columns]
    one = len(names) == 1
    yield Finding.about(
        labelled.rows_with(names),
        "never_alone",
        f"{plural(len(names), 'label')} {'is' if one else 'are'} never the only one of a row: "
        f"{_with_counts(labelled, columns, audit.candidate_counts)}.",
        f"Settle a few of these rows by hand, so that it is known what "
        f"{'it looks' if one else 'they look'} like.",
        [[name] for name in names],
    )


def never_without(labelled: LabelledRows) -> Iterator[Finding]:
    """Report labels that never occur without a certain other one."""
    labels = [] if labelled.is_weighted else _always_beside(labelled)
    if not labels:
        return
    pairs = (f"{quote_value(one)} without {quote_value(other)}" for one, other in labels)
    shown = join_names(pairs, most=_NAMED, longest=None)
    yield Finding.about(
        labelled.rows_with(one for one, _ in labels),
        "never_without",
        f"Some labels never occur without another one: {shown}.",
        "In such rows the sets never say which of the two is right. Settle a few by hand, or make "
        "one label of them.",
        labels,
    )


def _always_beside(labelled: LabelledRows) -> list[tuple[Label, Label]]:
    """Return labels with another that all of their rows have, more often than by chance."""
    audit = labelled.audit
    counts = audit.candidate_counts
    pairs = audit.cooccurrence.tocoo()
    always = (pairs.data == counts[pairs.row]) & (pairs.data < counts[pairs.col])
    first, second = pairs.row[always], pairs.col[always]
    # If sets were dealt at random, each of the rows of a label would have the other by this chance.
    share = counts[second] / max(1, audit.n_samples)
    by_chance = np.exp(counts[first] * np.log(np.maximum(share, 1e-300)))
    found = np.flatnonzero(by_chance * max(1, pairs.nnz) <= _BY_CHANCE)
    found = found[np.argsort(-counts[first[found]], kind="stable")]
    return [(audit.classes[first[i]], audit.classes[second[i]]) for i in found.tolist()]


def look_alike(labelled: LabelledRows, where: FloatArray) -> Iterator[Finding]:
    """Report pairs of labels whose features do not tell them apart.

    Two quick rules try, on rows that have one of the two labels for sure: a vote of the most
    similar rows, and a linear one that is judged on rows it was not fitted to. ``where`` has all
    rows as points. Nothing is said where these leave out columns, which may tell labels apart.
    """
    if labelled.values is None or not are_all_in_points(labelled.values):
        return
    audit = labelled.audit
    pairs = audit.most_common_pairs(_MOST_PAIRS)
    places = {label: column for column, label in enumerate(audit.classes)}
    mask = labelled.candidates.to_sparse()
    sure = np.flatnonzero(labelled.candidates.sizes == 1)
    label_of = mask[sure].indices
    generator = np.random.default_rng(_SEED)
    found = []
    for one, other, count in pairs:
        rows_of = [sure[label_of == places[label]] for label in (one, other)]
        if min(map(len, rows_of)) < _FEWEST_OF_A_LABEL or count < _FEWEST_OF_A_LABEL:
            continue
        chosen = [generator.permutation(rows)[:_MOST_OF_A_LABEL] for rows in rows_of]
        n_each = min(map(len, chosen))  # as many of each, so that a coin is right in half of them
        rows = np.concatenate([rows[:n_each] for rows in chosen])
        best = max(
            share_interval(rule(where[rows]))[1] for rule in (told_by_neighbours, told_by_a_line)
        )
        if best <= _HARDLY:
            found.append((one, other))
    if found:
        yield Finding.about(
            labelled.rows_with(label for pair in found for label in pair),
            "look_alike",
            "The features hardly tell these labels apart: "
            f"{join_names(map(quoted_list, found), most=_NAMED, longest=None)}.",
            "Add columns in which they differ, or make one label of them.",
            found,
        )


def told_by_neighbours(where: FloatArray) -> BoolArray:
    """Return in which rows most of the nearest others are of the same half."""
    half = np.arange(len(where)) >= len(where) // 2
    near, _ = nearest(where, np.arange(len(where)), _N_VOTES)
    told: BoolArray = (half[near].mean(axis=1) > 0.5) == half
    return told


def told_by_a_line(where: FloatArray) -> BoolArray:
    """Return which rows a ridge regression, fitted to other rows, puts on the right side."""
    half = len(where) // 2
    signs = np.repeat([-1.0, 1.0], [half, len(where) - half])
    design = np.hstack([where.astype(float), np.ones((len(where), 1))])
    part = np.arange(len(where)) % _N_PARTS
    is_right = np.zeros(len(where), dtype=bool)
    for number in range(_N_PARTS):
        seen = design[part != number]
        gram = seen.T @ seen + _RIDGE * len(seen) * np.eye(design.shape[1])
        weights = np.linalg.solve(gram, seen.T @ signs[part != number])
        held_out = part == number
        is_right[held_out] = design[held_out] @ weights * signs[held_out] > 0
    return is_right


def _with_counts(labelled: LabelledRows, columns: IntArray, counts: IntArray) -> str:
    shown = (
        f"{quote_value(labelled.audit.classes[j])} ({row_count(int(counts[j]))})"
        for j in columns.tolist()
    )
    return join_names(shown, most=_NAMED, longest=None)
