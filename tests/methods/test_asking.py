"""Which rows are asked about, and how: by hand, and what callers may give."""

import numpy as np
import pytest
from scipy import sparse

from disambig import CandidateLabels, query
from disambig._core.errors import ParameterError
from disambig.candidates import corrupt_controlled
from disambig.datasets import make_partial_label_dataset
from disambig.methods import PLKNN
from disambig.methods.asking import plan_answers, unit_rows, with_answers

SETS = CandidateLabels.from_strings(["cat|dog", "cat|dog|fox", "dog|fox", "fox"])
CONFIDENCES = np.array([[0.6, 0.4, 0], [0.9, 0.05, 0.05], [0, 0.7, 0.3], [0, 0, 1]])
NOBODY = np.empty(0, dtype=np.int64)


def clouds(n: int = 200) -> tuple[np.ndarray, CandidateLabels, np.ndarray, np.ndarray]:
    """Return features, sets, true labels, and confidences of a method."""
    data = make_partial_label_dataset(n, 5, 3, random_state=0)
    truth = np.asarray(data.true_labels)
    sets = corrupt_controlled(truth, p=0.8, r=1, classes=data.candidates.classes, random_state=0)
    confidences = PLKNN().fit(data.X, sets).predict_proba(data.X)
    return data.X, sets, truth, confidences


def test_without_features_the_least_sure_rows_come_first():
    rows, questions = query(CONFIDENCES, SETS, return_questions=True)
    assert rows.tolist() == [0, 2, 1]
    assert questions == [("cat", "dog"), ("dog", "fox"), ("cat",)]
    assert query(CONFIDENCES, SETS, n_queries=1).tolist() == [0]


def test_confidences_count_within_the_sets_alone():
    anywhere = [[3, 2, 5], [0.9, 0.05, 0.05], [8, 0.7, 0.3], [1, 1, 1]]
    assert query(anywhere, SETS).tolist() == [0, 2, 1]
    assert query(sparse.csr_array(CONFIDENCES), SETS).tolist() == [0, 2, 1]
    # Of a row that a model gives nothing, nothing is known.
    assert query([[0, 0, 1], *CONFIDENCES[1:]], SETS, n_queries=1).tolist() == [0]


def test_answered_rows_are_not_asked_about_again():
    assert query(CONFIDENCES, SETS, answers={0: "dog"}).tolist() == [2, 1]
    X, sets, truth, confidences = clouds()
    asked: dict[int, object] = {}
    for _ in range(3):
        rows = query(confidences, sets, X, n_queries=20, answers=asked)
        assert len(rows) == 20
        assert not set(rows.tolist()) & set(asked)
        asked.update((row, truth[row]) for row in rows.tolist())


def test_rows_with_a_single_candidate_are_not_asked_about():
    X, sets, _, confidences = clouds()
    rows = query(confidences, sets, X, n_queries=1000)
    assert (sets.sizes[rows] > 1).all()
    assert len(set(rows.tolist())) == len(rows)


def test_sparse_features_serve_too():
    X, sets, _, confidences = clouds()
    rows = query(confidences, sets, sparse.csr_array(X), n_queries=20)
    assert len(set(rows.tolist())) == 20


def test_of_rows_that_are_alike_one_is_asked_about_first():
    # In three places two rows that are hardly apart, and others whose label is known.
    generator = np.random.default_rng(0)
    place = np.repeat([0, 1, 2], 8)
    X = np.eye(3)[place] + 0.2 * generator.normal(size=(24, 3))
    X[[1, 9, 17]] = X[[0, 8, 16]] * 1.001
    sets = CandidateLabels.from_strings((["a|b"] * 2 + ["a"] * 6) * 3)
    confidences = np.where(sets.to_mask(), np.where(sets.sizes[:, np.newaxis] > 1, 0.45, 1), 0)
    confidences[[0, 1, 8, 9, 16, 17], 0] = 0.55
    rows = query(confidences, sets, X, n_queries=3)
    assert sorted(place[rows].tolist()) == [0, 1, 2]


def test_rows_that_their_neighbours_speak_against_are_doubted_more():
    X, sets, truth, _ = clouds()
    pair_rows, columns = sets.pairs()
    place = {label: column for column, label in enumerate(sets.classes.tolist())}
    true_columns = np.array([place[label] for label in truth.tolist()])
    # A model that is as sure everywhere, and wrong in a few rows.
    wrong = np.flatnonzero(sets.sizes > 1)[::10]
    shares = np.zeros(sets.shape)
    shares[pair_rows, columns] = 0.2
    shares[np.arange(len(sets)), true_columns] = 0.8
    other = np.array([
        next(c for c in columns[pair_rows == row].tolist() if c != true_columns[row])
        for row in wrong.tolist()
    ])  # fmt: skip
    shares[wrong, true_columns[wrong]], shares[wrong, other] = 0.2, 0.8
    # A promise unties rows: what answers tell of other rows does not count.
    untied = sets.with_groups([0] * len(sets), promise="cover")
    rows = query(shares, untied, X, n_queries=len(wrong))
    found = np.isin(rows, wrong).mean()
    by_chance = len(wrong) / (sets.sizes > 1).sum()
    assert found > 5 * by_chance


def test_what_answers_remove_adds_up():
    X, sets, _, confidences = clouds()
    values = sets.values_of(sets.to_mask() * confidences)
    values = values / np.repeat(np.add.reduceat(values, sets.starts), sets.sizes)
    plan = plan_answers(
        sets, values, unit_rows(X), answers=NOBODY, may_ask=sets.sizes > 1, most_rows=1000
    )
    assert plan.doubt.sum() == pytest.approx((1 - np.maximum.reduceat(values, sets.starts)).sum())
    removed = plan.by_answers.sum() + plan.nearby.sum()
    assert 0.5 * plan.doubt.sum() < removed < 1.5 * plan.doubt.sum()
    assert (plan.by_answers >= 0).all()
    assert plan.nearby.sum() > 0


def test_a_promise_unties_the_rows_of_a_group():
    X, sets, _, confidences = clouds(60)
    values = sets.values_of(sets.to_mask() * confidences)
    values = values / np.repeat(np.add.reduceat(values, sets.starts), sets.sizes)

    def nearby(candidates: CandidateLabels) -> float:
        plan = plan_answers(
            candidates, values, unit_rows(X), answers=NOBODY,
            may_ask=candidates.sizes > 1, most_rows=60,
        )  # fmt: skip
        return float(plan.nearby.sum())

    assert nearby(sets.with_groups([0] * 60)) == nearby(sets) > 0
    assert nearby(sets.with_groups([0] * 60, promise="cover")) == 0


def test_neighbours_are_looked_for_among_so_many_rows(monkeypatch):
    monkeypatch.setattr("disambig.methods.asking._MOST_ROWS", 50)
    X, sets, truth, confidences = clouds()
    first = query(confidences, sets, X, n_queries=30)
    assert len(set(first.tolist())) == 30
    np.testing.assert_array_equal(first, query(confidences, sets, X, n_queries=30))
    answers = {row: truth[row] for row in first.tolist()}
    assert not set(query(confidences, sets, X, answers=answers).tolist()) & set(first.tolist())


def test_an_answer_outside_its_set_widens_it():
    widened, values, pairs = with_answers(SETS, SETS.values_of(CONFIDENCES), {0: "fox", 2: "dog"})
    assert widened.to_sets()[0] == {"cat", "dog", "fox"}
    rows, columns = widened.pairs()
    assert rows[pairs].tolist() == [0, 2]
    assert widened.classes[columns[pairs]].tolist() == ["fox", "dog"]
    np.testing.assert_allclose(values[pairs], [0, 0.7])


def test_weights_of_candidates_are_kept_beside_answers():
    weighted = CandidateLabels(SETS.to_mask(), SETS.classes, weights=0.25 * SETS.to_mask())
    widened, _, pairs = with_answers(weighted, SETS.values_of(CONFIDENCES), {0: "fox"})
    weights = widened.weights
    assert weights is not None
    values = widened.values_of(weights)
    assert values[pairs].tolist() == [1]
    assert (np.delete(values, pairs) == 0.25).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_queries": 0}, "n_queries"),
        ({"confidences": CONFIDENCES[:2]}, "sample and class"),
        ({"confidences": -CONFIDENCES}, "'confidences' must be numbers, 0 or more"),
        ({"confidences": CONFIDENCES * np.nan}, "'confidences' must be numbers"),
        ({"X": [[1.0], [2.0]]}, "a row for each of the 4 candidate sets. Got 2"),
        ({"answers": {4: "cat"}}, "rows 0 to 3. Got 4"),
        ({"answers": {-1: "cat"}}, "rows 0 to 3. Got -1"),
        ({"answers": {0: "cow"}}, "Got 'cow'"),
        ({"return_questions": "yes"}, "return_questions"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        query(**{"confidences": CONFIDENCES, "candidates": SETS, **changes})


def test_a_single_row_has_no_neighbours():
    sets = CandidateLabels.from_strings(["cat|dog"])
    assert query([[0.6, 0.4]], sets, [[1.0]]).tolist() == [0]


def test_errors_are_those_of_the_package():
    with pytest.raises(ParameterError):
        query(CONFIDENCES, SETS, answers={9: "cat"})
