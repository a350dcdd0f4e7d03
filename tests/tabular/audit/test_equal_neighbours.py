"""Neighbours with equal sets: formulas against simulation, and what must not look like groups."""

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig.candidates import corrupt_controlled, corrupt_coupled
from disambig.tabular.audit.equal_neighbours import (
    NumberedSets,
    find_near_duplicates,
    find_runs,
    runs_in_random_order,
)

CLASSES = list("abcdefgh")


def random_pairs(rng, n_sets):
    """Return sets of two labels each."""
    return ["|".join(sorted(rng.choice(CLASSES, 2, replace=False))) for _ in range(n_sets)]


def grouped(seed=0, n_groups=100, most=6):
    """Return the sets of groups one after the other, and the group of every row."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, n_groups)
    group = np.repeat(np.arange(n_groups), sizes)
    captions = np.array(random_pairs(rng, n_groups))
    return CandidateLabels.from_strings(captions[group], classes=CLASSES), group


def runs_of(candidates):
    return find_runs(NumberedSets.of(candidates[candidates.sizes > 1]))


def test_the_number_of_runs_in_random_order_is_that_of_shuffled_rows():
    counts = np.array([12, 7, 3, 1, 1])
    rows = np.repeat(np.arange(5), counts)
    rng = np.random.default_rng(0)
    drawn = [1 + (np.diff(rng.permutation(rows)) != 0).sum() for _ in range(20_000)]
    expected, deviation = runs_in_random_order(counts)
    assert expected == pytest.approx(np.mean(drawn), abs=0.05)
    assert deviation == pytest.approx(np.std(drawn), rel=0.03)


def test_one_set_for_all_rows_is_one_run_for_certain():
    assert runs_in_random_order(np.array([9])) == (1.0, 0.0)


def test_groups_one_after_the_other_are_found():
    y, group = grouped()
    found = runs_of(y)
    # Two groups of equal sets in a row are taken for one.
    assert found.n_runs == y.with_groups("runs").groups.max() + 1 <= group.max() + 1
    assert found.expected > 2 * found.n_runs
    assert not found.is_sorted


def test_shuffled_groups_are_no_runs():
    y, _ = grouped()
    assert runs_of(y[np.random.default_rng(1).permutation(len(y))]) is None


def test_few_sets_in_random_order_are_no_runs():
    sets = np.random.default_rng(0).choice(["a|b", "a|c", "b|c"], size=2_000, p=[0.8, 0.1, 0.1])
    assert runs_of(CandidateLabels.from_strings(sets)) is None


@pytest.mark.parametrize("order", [1, -1])
def test_a_table_sorted_by_its_sets_is_known_as_such(order):
    y, _ = grouped(n_groups=400)
    by_cell = np.argsort(y.to_strings(), kind="stable")[::order]
    assert runs_of(y[by_cell]).is_sorted


@pytest.mark.parametrize("epsilon", [0.5, 0.8, 0.95, 1.0])
def test_rows_sorted_by_true_labels_are_no_runs_however_often_false_ones_recur(epsilon):
    for seed in range(5):
        truth = np.repeat(np.random.default_rng(seed).permutation(CLASSES), 60)
        y = corrupt_coupled(truth, p=1, epsilon=epsilon, random_state=seed)
        assert runs_of(y) is None


def test_sorted_true_labels_with_random_false_ones_are_no_runs():
    for r in (1, 2, 6):
        y = corrupt_controlled(np.repeat(CLASSES, 50), p=1, r=r, random_state=0)
        assert runs_of(y) is None


def near_duplicates_of(points, candidates):
    values = pd.DataFrame(points).add_prefix("x")
    return find_near_duplicates(NumberedSets.of(candidates), values, np.arange(len(candidates)))


def test_rows_of_a_group_that_resemble_each_other_are_found_in_any_order():
    y, group = grouped(n_groups=150)
    rng = np.random.default_rng(3)
    points = rng.normal(size=(150, 10))[group] + 0.1 * rng.normal(size=(len(y), 10))
    order = rng.permutation(len(y))
    found = near_duplicates_of(points[order], y[order])
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    ranks = distances.argsort(axis=1)
    cells = np.array(y.to_strings())
    # By all rows, where the function takes some of them, and scales columns.
    assert found.near_equal == pytest.approx((cells[ranks[:, 0]] == cells).mean(), abs=0.05)
    assert found.far_equal == pytest.approx((cells[ranks[:, 9]] == cells).mean(), abs=0.05)


def test_labels_that_lie_together_are_no_near_duplicates():
    rng = np.random.default_rng(0)
    truth = rng.integers(8, size=600)
    points = 4 * rng.normal(size=(8, 5))[truth] + rng.normal(size=(600, 5))
    names = np.array(CLASSES)[truth]
    for epsilon in (0.3, 0.9, 1.0):
        y = corrupt_coupled(names, p=1, epsilon=epsilon, random_state=0)
        assert near_duplicates_of(points, y) is None


def test_labels_of_few_rows_are_no_near_duplicates():
    rng = np.random.default_rng(0)
    names = np.array([f"l{i:02}" for i in range(60)])
    truth = np.repeat(np.arange(60), 5)
    points = 9 * rng.normal(size=(60, 5))[truth] + rng.normal(size=(300, 5))
    y = corrupt_coupled(names[truth], p=1, epsilon=1.0, random_state=0)
    assert near_duplicates_of(points, y) is None


def test_gaps_constants_and_texts_among_the_features_do_no_harm():
    y, group = grouped(n_groups=150)
    rng = np.random.default_rng(3)
    values = pd.DataFrame(
        rng.normal(size=(150, 6))[group] + 0.01 * rng.normal(size=(len(y), 6))
    ).add_prefix("x")
    values = values.mask(rng.random(values.shape) < 0.02).assign(same=1.0, text="a", none=np.nan)
    rows = np.arange(len(y))
    sets = NumberedSets.of(y)
    assert find_near_duplicates(sets, values, rows).near_equal > 0.4
    assert find_near_duplicates(sets, values[["same", "text", "none"]], rows) is None
