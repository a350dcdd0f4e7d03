import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from disambig.candidates import Promise
from disambig.solvers import group_marginals
from disambig.solvers.group_marginals import SMALLEST_PROBABILITY, GroupMarginals

KINDS = ("cover", "exclusive")


def group_of(p, mask=None):
    """Return the prior of one group's sets and the confidences of all pairs."""
    p = np.asarray(p, dtype=float)
    mask = p > 0 if mask is None else np.asarray(mask)
    prior = sparse.csr_array(mask / mask.sum(axis=1, keepdims=True))
    rows, columns = mask.nonzero()
    return prior, (p / p.sum(axis=1, keepdims=True))[rows, columns]


def keeps(labels, every, kind):
    return set(labels) == set(every) if kind == "cover" else len(set(labels)) == len(labels)


def enumerated(p, kind):
    """Return marginals given the promise, and how probable it is, by all assignments."""
    p = np.asarray(p, dtype=float)
    every = np.flatnonzero(p.any(axis=0))
    marginals = np.zeros_like(p)
    for labels in product(*(np.flatnonzero(row) for row in p)):
        if keeps(labels, every, kind):
            weight = np.prod(p[np.arange(len(p)), labels])
            marginals[np.arange(len(p)), labels] += weight
    evidence = marginals[0].sum()
    return marginals / max(evidence, 1e-300), evidence


def expected(p, kind, strength):
    """Return what a group believes of its rows: with the promise, or freed from it."""
    kept, evidence = enumerated(p, kind)
    mask = np.asarray(p) > 0
    _, by_chance = enumerated(mask / mask.sum(axis=1, keepdims=True), kind)
    if min(evidence, by_chance) < 1e-9:
        return np.asarray(p)
    odds = strength * evidence / by_chance
    believed = odds / (odds + 1 - strength)
    return believed * kept + (1 - believed) * np.asarray(p)


@st.composite
def groups(draw):
    n_rows, n_labels = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**16))
    generator = np.random.default_rng(seed)
    p = generator.random((n_rows, n_labels)) ** draw(st.sampled_from([1, 4]))
    mask = generator.random(p.shape) < draw(st.sampled_from([0.6, 1.0]))
    mask[np.arange(n_rows), generator.integers(n_labels, size=n_rows)] = True
    p = np.maximum(p, 0.01) * mask
    return p / p.sum(axis=1, keepdims=True)


@settings(max_examples=150)
@given(groups(), st.sampled_from(KINDS), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_marginals_are_those_of_all_assignments(p, kind, strength):
    prior, confidences = group_of(p)
    marginals = GroupMarginals(prior, np.zeros(len(p), dtype=int), Promise(kind, strength))
    rows, columns = (p > 0).nonzero()
    wanted = expected(p, kind, strength)[rows, columns]
    np.testing.assert_allclose(marginals(confidences), wanted, atol=2e-5)


def test_the_last_label_left_goes_to_the_row_that_least_resists():
    # Both rows lean to the first label. Under cover one of them has the second: (.9 * .4, .6 * .1).
    prior, confidences = group_of([[0.9, 0.1], [0.6, 0.4]])
    found = GroupMarginals(prior, np.array([3, 3]), Promise("cover", 1.0))(confidences)
    np.testing.assert_allclose(found, [0.36 / 0.42, 0.06 / 0.42, 0.06 / 0.42, 0.36 / 0.42])


def test_groups_side_by_side_are_as_each_alone_and_networks_too():
    generator = np.random.default_rng(0)
    shapes = [(3, 3), (5, 2), (4, 3), (1, 2), (2, 3), (9, 4)]
    tables = [generator.dirichlet(np.ones(labels), rows) for rows, labels in shapes]
    n_rows = sum(map(len, tables))
    mask = np.zeros((n_rows, 4), dtype=bool)
    groups = np.repeat(np.arange(len(tables)), list(map(len, tables)))
    for number, table in enumerate(tables):
        mask[np.ix_(groups == number, np.arange(table.shape[1]))] = True
    prior = sparse.csr_array(mask / mask.sum(axis=1, keepdims=True))
    of_one = np.concatenate([table.ravel() for table in tables])
    of_other = np.concatenate([table[::-1].ravel() for table in tables])
    order = generator.permutation(n_rows)  # rows of a group need not be neighbours
    places = np.concatenate([np.flatnonzero(prior.nonzero()[0] == row) for row in order])
    for kind in KINDS:
        promise = Promise(kind)
        together = GroupMarginals(prior[order], groups[order], promise)
        found = together(np.stack([of_one[places], of_other[places]]))
        for network, flip in ((0, 1), (1, -1)):
            alone = [
                GroupMarginals(group_of(table)[0], np.zeros(len(table), dtype=int), promise)(
                    table[::flip].ravel()
                )
                for table in tables
            ]
            np.testing.assert_allclose(found[network], np.concatenate(alone)[places], atol=1e-12)


def test_parts_of_a_bucket_give_the_same_as_all_at_once(monkeypatch):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    prior, confidences = group_of(p)
    groups = np.repeat(np.arange(10), 4)
    whole = GroupMarginals(prior, groups, Promise("cover"))(confidences)
    monkeypatch.setattr(group_marginals, "_NUMBERS_AT_A_TIME", 64)
    parts = GroupMarginals(prior, groups, Promise("cover"))(confidences)
    np.testing.assert_array_equal(whole, parts)


def test_a_group_frees_itself_where_its_rows_speak_against_the_promise():
    certain = [[0.9999, 0.0001]] * 4
    prior, confidences = group_of(certain)
    groups = np.zeros(4, dtype=int)
    weak = GroupMarginals(prior, groups, Promise("cover", 0.9))(confidences)
    np.testing.assert_allclose(weak, confidences, atol=0.005)
    strong = GroupMarginals(prior, groups, Promise("cover", 1.0))(confidences)
    np.testing.assert_allclose(strong.reshape(4, 2)[:, 1], 0.25, atol=0.01)


@pytest.mark.parametrize(
    ("kind", "p"),
    [
        ("cover", [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]),  # three labels, two rows
        ("exclusive", [[0.7, 0.3], [0.8, 0.2], [0.6, 0.4]]),  # two labels, three rows
        ("exclusive", [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]),  # two rows are settled
    ],
)
def test_a_promise_that_cannot_be_kept_changes_nothing(kind, p):
    prior, confidences = group_of(p)
    found = GroupMarginals(prior, np.zeros(len(p), dtype=int), Promise(kind, 1.0))(confidences)
    np.testing.assert_allclose(found, confidences, atol=1e-5)


@pytest.mark.parametrize("limit", ["MOST_LABELS", "_NUMBERS_AT_A_TIME"])
@pytest.mark.parametrize("kind", KINDS)
def test_label_by_label_comes_near_the_exact_marginals(kind, limit, monkeypatch):
    # Groups in which the promise is no surprise: there labels hardly depend on each other.
    shape = (12, 4) if kind == "cover" else (4, 12)
    p = np.random.default_rng(1).dirichlet(np.full(shape[1], 0.3), shape[0])
    prior, confidences = group_of(np.maximum(p, 1e-4), np.ones(shape, dtype=bool))
    promise, groups = Promise(kind, 1.0), np.zeros(shape[0], dtype=int)
    exact = GroupMarginals(prior, groups, promise)(confidences)
    monkeypatch.setattr(group_marginals, limit, 1)
    near = GroupMarginals(prior, groups, promise)(confidences)
    free = np.abs(exact - confidences).max()
    assert 0 < np.abs(near - exact).max() < 0.25 * free
    np.testing.assert_allclose(near.reshape(shape).sum(axis=1), 1)


def by_labels_seen(p, kind):
    """Return marginals and evidence by walking over rows with the set of labels seen so far.

    Sums of what is positive only, so that nothing cancels.
    """
    n_rows, n_labels = p.shape
    seen = np.arange(2**n_labels)
    before = np.zeros((n_rows + 1, len(seen)))
    before[0, 0] = 1
    after = np.zeros_like(before)
    after[-1] = seen == len(seen) - 1 if kind == "cover" else 1
    steps = [
        (label, np.ones(len(seen)) if kind == "cover" else (seen >> label) & 1 == 0)
        for label in range(n_labels)
    ]
    for row in range(n_rows):
        for label, allowed in steps:
            np.add.at(before[row + 1], seen | 1 << label, before[row] * allowed * p[row, label])
    for row in reversed(range(n_rows)):
        for label, allowed in steps:
            after[row] += allowed * p[row, label] * after[row + 1][seen | 1 << label]
    weights = np.empty_like(p)
    for label, allowed in steps:
        weights[:, label] = (before[:-1] * allowed * after[1:, seen | 1 << label]).sum(axis=1)
    return p * weights / after[0, 0], after[0, 0]


def rows_with_rare_labels(n_rows, spread):
    """Return a dozen labels, of which half are likely in one row of a larger group only."""
    p = np.maximum(np.random.default_rng(0).dirichlet(np.full(12, spread), n_rows), 1e-5)
    p[14:, 6:] = 1e-5
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("kind", "n_rows", "spread"),
    [("cover", 12, 1.0), ("cover", 14, 0.2), ("cover", 200, 0.1), ("exclusive", 12, 0.2)],
)
def test_a_dozen_labels_lose_no_digits(kind, n_rows, spread):
    p = rows_with_rare_labels(n_rows, spread)
    prior, confidences = group_of(p)
    found = GroupMarginals(prior, np.zeros(n_rows, dtype=int), Promise(kind, 1.0))(confidences)
    wanted, evidence = by_labels_seen(p, kind)
    assert evidence > 1e-9
    assert np.abs(wanted - p).max() > 0.1
    np.testing.assert_allclose(found.reshape(p.shape), wanted, atol=1e-6)


def test_memory_does_not_grow_with_the_networks(monkeypatch):
    p = np.random.default_rng(0).dirichlet(np.ones(8), 16)
    prior, confidences = group_of(p)
    marginals = GroupMarginals(prior, np.zeros(16, dtype=int), Promise("cover"))
    of_networks = np.tile(confidences, (200, 1))
    monkeypatch.setattr(group_marginals, "_NUMBERS_AT_A_TIME", 4 * 16 * 2**8)
    tracemalloc.start()
    found = marginals(of_networks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * len(of_networks) * 16 * 2**8 * 8
    np.testing.assert_allclose(found, np.tile(marginals(confidences), (200, 1)), atol=1e-12)


def test_what_the_promise_says_nothing_about_keeps_its_bits():
    # A group of one row, one of more labels than rows, and one that the promise changes.
    p = np.array([[1.0, 0, 0], [0.7, 0.3, 0], [1.0, 0, 0], [0.9, 0.1, 0], [0.6, 0.4, 0]])
    mask = np.ones((5, 3), dtype=bool)
    mask[3:, 2] = False
    prior, confidences = group_of(p, mask)
    marginals = GroupMarginals(prior, np.array([0, 1, 1, 2, 2]), Promise("cover", 1.0))
    np.testing.assert_array_equal(marginals(confidences)[:9], p[:3].ravel())
    assert np.abs(marginals(confidences)[9:] - p[3:, :2].ravel()).max() > 0.1


def test_a_promise_is_kept_where_it_would_be_a_miracle_by_chance():
    # A hundred names for a hundred faces: by chance, no two get the same once in 10^42.
    n_rows = 100
    p = np.full((n_rows, n_rows), 1e-4) + 0.98 * np.eye(n_rows)
    p[1] = p[0]
    p[1, 1] = 0.5
    prior, confidences = group_of(p)
    promise = Promise("exclusive", 0.9)
    found = GroupMarginals(prior, np.zeros(n_rows, dtype=int), promise)(confidences)
    # Both of the first two lean to the first name: the second face lets it go.
    assert confidences.reshape(p.shape)[1].argmax() == 0
    assert found.reshape(p.shape)[1].argmax() == 1


def test_what_others_change_is_the_same_whatever_a_row_says_itself():
    free = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    other = free.copy()
    other[0] = [0.1, 0.1, 0.8]
    prior, confidences = group_of(free)
    marginals = GroupMarginals(prior, np.zeros(4, dtype=int), Promise("cover", 1.0))
    changes = marginals.log_changes(np.stack([confidences, other.ravel()])).reshape(2, 4, 3)[:, 0]
    # Up to a constant, which a softmax takes out.
    first, second = changes - changes[:, :1]
    np.testing.assert_allclose(first, second, atol=1e-4)
    assert np.abs(first).max() > 0.1


def test_changes_are_finite_where_a_label_is_taken():
    prior, confidences = group_of([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    marginals = GroupMarginals(prior, np.zeros(2, dtype=int), Promise("exclusive", 1.0))
    taken = marginals.log_changes(confidences)[1]
    assert np.log(SMALLEST_PROBABILITY) <= taken < np.log(1e-5)
