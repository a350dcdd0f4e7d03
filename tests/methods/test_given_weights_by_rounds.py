"""Weights of rows and classes, and seeds, in what learns by rounds: nothing gets lost."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from disambig import (
    AutoDisambiguator,
    CandidateLabels,
    DisambiguatingBoosting,
    DisambiguatingClassifier,
    DisambiguatingForest,
    NCPDClassifier,
)
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods.auto.learners import deal_judged_rows
from disambig.methods.ncpd_plus.selection import compare

DATA = make_partial_label_dataset(120, 4, 3, random_state=0)
X, Y = DATA.X, DATA.candidates
LABELS = CandidateLabels.from_labels(["a"] * 60 + ["b"] * 58 + ["c"] * 2)


def two_rows_count() -> np.ndarray:
    weights = np.zeros(len(Y))
    weights[[3, 50]] = 1
    return weights


def test_a_row_that_weighs_much_does_not_push_out_the_others():
    weights = np.ones(len(LABELS))
    weights[0] = 1e6
    model = DisambiguatingClassifier(random_state=0).fit(X, LABELS, sample_weight=weights)
    assert model._model.classes_.tolist() == [0, 1, 2]


def test_balanced_weights_do_not_push_out_a_class_that_most_rows_have(monkeypatch):
    names = ["common"] * 300 + [f"rare {number}" for number in range(120) for _ in range(2)]
    features = np.random.default_rng(0).normal(size=(len(names), 3))
    trained = []
    train = DisambiguatingBoosting._train

    def watched(self, X, rows, columns, weights, seed):
        trained.append(set(columns.tolist()))
        return train(self, X, rows, columns, weights, seed)

    monkeypatch.setattr(DisambiguatingBoosting, "_train", watched)
    model = DisambiguatingBoosting(class_weight="balanced", n_trees=1, rounds=1, random_state=0)
    model.fit(features, CandidateLabels.from_labels(names))
    assert all(0 in columns for columns in trained)  # "common" is the first
    assert len(trained[-1]) == 121


def test_a_class_of_which_no_row_is_copied_has_no_probability():
    # Without weights in fit rows are copied, and two rows that weigh next to nothing are not.
    model = DisambiguatingClassifier(
        KNeighborsClassifier(), class_weight={"c": 0.03}, random_state=0
    ).fit(X, LABELS)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (120, 3)
    assert (probabilities[:, 2] == 0).all()


def test_a_seed_reaches_the_classifier_at_the_end_of_a_pipeline():
    def fitted():
        pipeline = make_pipeline(RandomForestClassifier(3))
        return DisambiguatingClassifier(pipeline, rounds=1, random_state=0).fit(X, Y)

    assert np.array_equal(fitted().predict_proba(X), fitted().predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [
        DisambiguatingForest(rounds=2, trees_per_round=5, random_state=0),
        DisambiguatingBoosting(rounds=2, n_trees=3, random_state=0),
        DisambiguatingClassifier(rounds=2, random_state=0),
        AutoDisambiguator(learners=["em", "forest"], random_state=0),
        NCPDClassifier(epochs=2, ramp_epochs=1, validation=0.2, device="cpu", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_few_rows_that_count_are_enough(model):
    model.fit(X, Y, sample_weight=two_rows_count())
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_forest_learns_from_rows_that_count_alone():
    weights = np.r_[np.ones(60), np.zeros(60)]
    model = DisambiguatingForest(rounds=2, trees_per_round=20, random_state=0)
    model.fit(X, LABELS, sample_weight=weights)  # all that count are "a"
    assert model.predict_proba(X)[:, 0].min() == 1


def test_learners_are_compared_on_rows_that_count():
    folds = deal_judged_rows(Y.with_row_weights(two_rows_count()), 5, 0)
    assert np.flatnonzero(folds >= 0).tolist() == [3, 50]
    assert sorted(folds[[3, 50]]) == [0, 1]
    # A group is in one fold whole, whoever of it counts.
    grouped = Y.with_groups(np.arange(120) // 2).with_row_weights(two_rows_count())
    folds = deal_judged_rows(grouped, 5, 0)
    assert np.flatnonzero(folds >= 0).tolist() == [2, 3, 50, 51]
    assert folds[2] == folds[3] != folds[50] == folds[51]


def test_twice_the_weight_is_twice_the_row_where_learners_are_compared():
    random = np.random.default_rng(0)
    said = {name: random.dirichlet(np.ones(3), 30) for name in ("one", "other")}
    y = Y[:30]
    weighted = compare(y.with_row_weights(np.r_[np.full(15, 2.0), np.zeros(15)]), said)
    repeated = compare(
        y[:15][np.tile(np.arange(15), 2)],
        {n: p[np.tile(np.arange(15), 2)] for n, p in said.items()},
    )
    for name in said:
        assert weighted[name].weight == pytest.approx(repeated[name].weight)
        assert weighted[name].log_mass == pytest.approx(repeated[name].log_mass)
        assert weighted[name].covering_rate == pytest.approx(repeated[name].covering_rate)


def test_weights_of_classes_come_back_from_a_file_of_a_mix(tmp_path):
    first = Y.classes[0]
    model = AutoDisambiguator(learners=["em", "forest"], class_weight={first: 2.0}, random_state=0)
    model.fit(X, Y).save(tmp_path / "model")
    loaded = AutoDisambiguator.load(tmp_path / "model")
    assert loaded.class_weight == {int(first): 2.0}
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_one_name_that_is_not_in_a_list_is_refused():
    with pytest.raises(ParameterError, match="'learners' must be names .* Got 'em'"):
        AutoDisambiguator(learners="em").fit(X, Y)
