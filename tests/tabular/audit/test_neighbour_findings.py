"""Rows that contradict those most like them, planted into made-up tables."""

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, audit_candidates
from disambig.tabular.audit import neighbour_findings
from disambig.tabular.audit.findings import LabelledRows
from disambig.tabular.audit.neighbour_findings import (
    Neighbourhoods,
    disputed_sets,
    disputes,
    near_duplicates,
    nearly_equal,
)
from disambig.tabular.audit.neighbours import nearest, points, standardized

CLASSES = np.array(["bee", "cow", "owl"])


def clouds(n_rows=300, *, distance=6.0, seed=0):
    """Return features of three clouds, and sets of the true label and, in half, a false one."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, n_rows)
    features = pd.DataFrame(generator.normal(size=(n_rows, 4)) + distance * np.eye(3, 4)[codes])
    mask = np.eye(3, dtype=bool)[codes]
    false = (codes + generator.integers(1, 3, n_rows)) % 3
    some = generator.random(n_rows) < 0.5
    mask[some, false[some]] = True
    return features.add_prefix("f"), mask, codes


def around(features, mask):
    candidates = CandidateLabels.from_mask(mask, CLASSES)
    audit = audit_candidates(candidates)
    return Neighbourhoods.of(LabelledRows(candidates, audit, np.arange(len(mask)), features))


def test_the_nearest_rows_are_those_of_all_distances():
    where = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    some = np.array([3, 17, 39])
    near, distances = nearest(where, some, 5)
    every = np.linalg.norm(where[some, np.newaxis].astype(float) - where, axis=2)
    every[np.arange(3), some] = np.inf
    assert np.array_equal(near, np.argsort(every, axis=1)[:, :5])
    assert distances == pytest.approx(np.sort(every, axis=1)[:, :5])


def test_values_of_a_category_are_apart_by_one_and_texts_say_nothing():
    values = pd.DataFrame({"kind": ["a", "b", "a"] * 20, "text": [f"word {i}" for i in range(60)]})
    where = points(values, np.arange(60), np.random.default_rng(0))
    assert where.shape == (60, 2)
    assert np.linalg.norm(where[0] - where[1]) == pytest.approx(1)
    assert np.linalg.norm(where[0] - where[2]) == 0


@pytest.mark.filterwarnings("error")
def test_huge_numbers_are_put_on_the_scale_of_others_without_a_warning():
    values = np.array([[1e250, 3.0, 7.0], [-1e250, np.nan, 7.0], [0.0, 1.0, 7.0]])
    assert standardized(values) == pytest.approx(
        np.array([[1.5**0.5, 1, 0], [-(1.5**0.5), 0, 0], [0, -1, 0]])
    )


def test_honest_rows_have_nothing_to_contradict():
    for seed in range(10):
        features, mask, _ = clouds(seed=seed)
        found = around(features, mask)
        assert [*near_duplicates(found), *disputed_sets(found)] == []


def test_near_duplicates_without_a_common_label_are_found_with_both_rows():
    features, mask, codes = clouds()
    source = [10, 200]
    twins = features.iloc[source] + 0.001
    other = np.eye(3, dtype=bool)[(codes[source] + 1) % 3] & ~mask[source]
    other[~other.any(axis=1)] = ~mask[source][~other.any(axis=1)]
    both = around(pd.concat([features, twins], ignore_index=True), np.vstack([mask, other]))
    (finding,) = near_duplicates(both)
    assert sorted(finding.rows) == [11, 201, 301, 302]
    assert finding.kind == "near_duplicates_disagree"
    same = around(pd.concat([features, twins], ignore_index=True), np.vstack([mask, mask[source]]))
    assert list(near_duplicates(same)) == []


def test_rows_with_other_texts_are_not_nearly_equal():
    features, mask, _ = clouds()
    both = pd.concat([features, features.iloc[[10]] + 0.001], ignore_index=True)
    wrong = np.vstack([mask, ~mask[10]])
    texts = np.array([f"text {number}" for number in range(301)], dtype=object)
    assert list(near_duplicates(around(both.assign(text=texts), wrong))) == []
    texts[300] = texts[10]
    (finding,) = near_duplicates(around(both.assign(text=texts), wrong))
    assert sorted(finding.rows) == [11, 301]


def test_equal_rows_are_not_nearly_equal():
    distances = np.sort(np.random.default_rng(0).random((100, 20)) + 1, axis=1)
    distances[0, 0] = 1e-4
    distances[1, :2] = 0
    assert np.flatnonzero(nearly_equal(distances)).tolist() == [0]


@pytest.mark.parametrize("n_columns", [1, 2, 5, 30])
def test_chance_makes_nearly_equal_rows_as_seldom_as_it_should(n_columns):
    marked = 0
    for seed in range(20):
        where = np.random.default_rng(seed).normal(size=(400, n_columns)).astype(np.float32)
        marked += nearly_equal(nearest(where, np.arange(400), 20)[1]).sum()
    assert marked <= 20 * 0.05 + 4  # expected in all, and far more than chance adds


def test_sets_that_neighbours_dispute_are_found_the_worst_first():
    features, mask, codes = clouds()
    wrong = [5, 77, 140]
    mask[wrong] = np.eye(3, dtype=bool)[(codes[wrong] + 1) % 3]
    found = around(features, mask)
    (finding,) = disputed_sets(found)
    assert sorted(finding.rows) == [6, 78, 141]
    assert finding.kind == "neighbours_disagree"
    said = disputes(found)
    assert CLASSES[said.label[wrong]].tolist() == CLASSES[codes[wrong]].tolist()
    assert said.trusted == pytest.approx(0.99, abs=0.003)


def test_counts_around_a_row_are_those_of_its_neighbours():
    features, mask, codes = clouds()
    mask[5] = np.eye(3, dtype=bool)[(codes[5] + 1) % 3]
    found = around(features, mask)
    assert disputes(found).held_by[5] == mask[found.near[5], codes[5]].sum()


def test_where_neighbours_say_little_nothing_is_said():
    features, mask, codes = clouds(distance=0.0)
    mask[:30] = np.eye(3, dtype=bool)[(codes[:30] + 1) % 3]
    assert list(disputed_sets(around(features, mask))) == []


def test_of_very_many_rows_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(neighbour_findings, "_MOST_DISTANCES", 60_000)
    monkeypatch.setattr(neighbour_findings, "_FEWEST_JUDGED", 100)
    features, mask, codes = clouds()
    wrong = np.arange(0, 300, 30)
    mask[wrong] = np.eye(3, dtype=bool)[(codes[wrong] + 1) % 3]
    found = around(features, mask)
    assert len(found.judged) == 200
    (finding,) = disputed_sets(found)
    assert finding.message.startswith("Of 200 rows that were looked at, ")
    assert {row - 1 for row in finding.rows} <= set(found.judged.tolist()) & set(wrong.tolist())


def test_few_rows_or_no_features_are_not_judged():
    features, mask, _ = clouds(50)
    assert around(features, mask) is None
    assert around(None, np.tile(mask, (4, 1))) is None
    assert (
        around(features.iloc[:, :1].assign(f0=1.0).loc[[0] * 90], np.tile(mask, (2, 1))[:90])
        is None
    )
