"""What methods do with weights of rows and of classes."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from disambig import CandidateLabels
from disambig._core.errors import CandidateError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import (
    CC,
    PRODEN,
    AverageClassifier,
    EMClassifier,
    NCPDClassifier,
    NetworkClassifier,
    all_methods,
    fit_many,
)
from disambig.methods.feature_scales import KINDS
from disambig.methods.scaling import fit_scaler
from methods.instances import INSTANCES

WEIGHTED = sorted(name for name, method in all_methods().items() if method.uses_row_weights)
UNWEIGHTED = sorted(set(INSTANCES) - set(WEIGHTED))
# A network whose training is a function of the gradient of all rows at once.
WHOLE_BATCH = {
    "hidden": 8,
    "epochs": 20,
    "batch_size": 1000,
    "dropout": 0.0,
    "batch_norm": False,
    "scaling": "none",
    "learning_rate": 0.01,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(60, 4, 3, overlap=0.6, random_state=0)


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).integers(0, 4, 60)


def target_of(name, data):
    oracle = all_methods()[name].card.reads_true_labels
    return CandidateLabels.from_labels(data.true_labels) if oracle else data.candidates


def test_the_methods_that_use_weights_are_those_that_say_so():
    networks = {n for n, method in all_methods().items() if issubclass(method, NetworkClassifier)}
    assert set(WEIGHTED) == networks | {
        "auto", "average", "boosting", "disambiguating", "em", "forest", "ncpd_plus", "oracle",
        "random_candidate",
    }  # fmt: skip
    for name, method in all_methods().items():
        takes = "sample_weight" in inspect.signature(method.fit).parameters
        assert takes == (name in WEIGHTED)


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_other_methods_refuse_them_and_name_those_that_do(name, data):
    y = target_of(name, data).with_row_weights(np.ones(60))
    with pytest.raises(CandidateError, match="cannot use weights of rows.*EMClassifier"):
        clone(INSTANCES[name]).fit(data.X, y)


@pytest.mark.parametrize("name", WEIGHTED)
def test_equal_weights_are_no_weights_and_sets_bring_what_sample_weight_gives(name, data, counts):
    y = target_of(name, data)
    plain = clone(INSTANCES[name]).fit(data.X, y).predict_proba(data.X)
    same = clone(INSTANCES[name]).fit(data.X, y, sample_weight=np.ones(60)).predict_proba(data.X)
    np.testing.assert_allclose(same, plain, rtol=1e-6, atol=1e-9)
    given = clone(INSTANCES[name]).fit(data.X, y, sample_weight=counts).predict_proba(data.X)
    inside = clone(INSTANCES[name]).fit(data.X, y.with_row_weights(counts)).predict_proba(data.X)
    np.testing.assert_array_equal(given, inside)
    assert np.abs(given - plain).max() > 1e-3


@pytest.mark.parametrize(
    "method",
    [
        AverageClassifier(estimator=LogisticRegression(tol=1e-10, max_iter=10_000)),
        EMClassifier(),
        EMClassifier(class_weight="balanced"),
        EMClassifier(scaling="half", class_weight={1: 3.0}, tol=1e-12, max_iter=1000),
        CC(**WHOLE_BATCH),
        PRODEN(**WHOLE_BATCH),
        CC(**WHOLE_BATCH, class_weight="balanced"),
    ],
    ids=str,
)
def test_a_weight_is_as_good_as_so_many_copies_of_a_row(method, data, counts):
    rows = np.repeat(np.arange(60), counts)
    repeated = clone(method).fit(data.X[rows], data.candidates[rows])
    weighted = clone(method).fit(data.X, data.candidates, sample_weight=counts)
    np.testing.assert_allclose(
        weighted.predict_proba(data.X), repeated.predict_proba(data.X), atol=2e-4
    )
    plain = clone(method).fit(data.X, data.candidates)
    assert np.abs(weighted.predict_proba(data.X) - plain.predict_proba(data.X)).max() > 5e-3


@pytest.mark.parametrize("method", [EMClassifier(), AverageClassifier(), NCPDClassifier(
    hidden=16, epochs=30, ramp_epochs=5, learning_rate=0.02, random_state=0)], ids=str)  # fmt: skip
def test_a_heavier_class_is_predicted_more_often(method, data):
    found = [
        np.mean(
            clone(method).set_params(class_weight=weight).fit(data.X, data.candidates)
            .predict(data.X) == 1
        )
        for weight in ({1: 0.1}, None, {1: 30})
    ]  # fmt: skip
    assert found[0] < found[1] < found[2]


def test_balanced_classes_help_a_rare_one():
    data = make_partial_label_dataset(300, 4, 3, overlap=0.9, random_state=0)
    rows = np.flatnonzero((data.true_labels != 0) | (np.arange(300) % 8 == 0))
    X, y, truth = data.X[rows], data.candidates[rows], data.true_labels[rows]
    recall = [
        np.mean(EMClassifier(class_weight=weight).fit(X, y).predict(X)[truth == 0] == 0)
        for weight in (None, "balanced")
    ]
    assert recall[1] > recall[0]


def test_weights_of_classes_do_nothing_where_they_are_one(data):
    for method in (EMClassifier(), AverageClassifier(), CC(**WHOLE_BATCH)):
        plain = clone(method).fit(data.X, data.candidates).predict_proba(data.X)
        ones = clone(method).set_params(class_weight={0: 1.0}).fit(data.X, data.candidates)
        np.testing.assert_allclose(ones.predict_proba(data.X), plain, rtol=1e-4, atol=1e-6)


def test_networks_with_and_without_weights_can_be_fitted_side_by_side(data, counts):
    weighted = data.candidates.with_row_weights(counts)
    tasks = [(data.X, data.candidates, 0), (data.X, weighted, 0), (data.X, weighted, 1)]
    together = list(fit_many(CC(**WHOLE_BATCH), tasks, at_once=3))
    alone = [CC(**WHOLE_BATCH).set_params(random_state=s).fit(X, y) for X, y, s in tasks]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            one.predict_proba(data.X), other.predict_proba(data.X), atol=1e-5
        )


def test_a_checkpoint_of_other_weights_is_refused(data, counts, tmp_path):
    method = CC(**WHOLE_BATCH, checkpoint=tmp_path / "training")
    method.fit(data.X, data.candidates, sample_weight=counts)
    clone(method).fit(data.X, data.candidates, sample_weight=2.0 * counts)  # the same, relatively
    for y, class_weight in (
        (data.candidates, None),
        (data.candidates.with_row_weights(counts), "balanced"),
    ):
        with pytest.raises(ValueError, match="other data or with other parameters"):
            clone(method).set_params(class_weight=class_weight).fit(data.X, y)


def test_validation_counts_rows_by_their_weights(data, counts):
    X, y = data.X, data.candidates
    watched = (X, y.with_row_weights(counts))
    method = CC(**{**WHOLE_BATCH, "epochs": 3}, validation=watched).fit(X, y)
    expected = np.average(y.contains(method.predict(X)), weights=counts)
    assert method.history_["validation_covering_rate"][-1] == pytest.approx(expected)


def test_weights_of_rows_that_are_all_zero_are_refused(data, counts):
    y = data.candidates.with_row_weights(counts)[counts == 0]
    with pytest.raises(CandidateError, match="rows are zero: nothing could be learned"):
        EMClassifier().fit(data.X[counts == 0], y)


@pytest.mark.parametrize("kind", [*KINDS, StandardScaler()])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_scaler_counts_rows_by_their_weights(kind, as_sparse, data, counts):
    if as_sparse and (kind == "quantile" or not isinstance(kind, str)):
        pytest.skip("needs dense features")
    weights = counts > 0 if kind == "quantile" else counts
    rows = np.repeat(np.arange(60), weights)
    make = sparse.csr_array if as_sparse else np.asarray
    weighted = fit_scaler(kind, make(data.X), counts.astype(float)).transform(make(data.X))
    repeated = fit_scaler(kind, make(data.X[rows])).transform(make(data.X))
    if as_sparse:
        weighted, repeated = weighted.toarray(), repeated.toarray()
    np.testing.assert_allclose(weighted, repeated)


def test_a_transformer_that_takes_no_weights_does_without(data, counts):
    found = fit_scaler(MinMaxScaler(), data.X, counts.astype(float)).transform(data.X)
    np.testing.assert_array_equal(found, MinMaxScaler().fit_transform(data.X))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2, 1: 0.5}, {2: 3.0}])
@pytest.mark.parametrize(
    "method", [EMClassifier(), AverageClassifier(), CC(**WHOLE_BATCH)], ids=str
)
def test_class_weights_are_kept_in_a_file(method, class_weight, data, tmp_path):
    fitted = clone(method).set_params(class_weight=class_weight).fit(data.X, data.candidates)
    fitted.save(tmp_path / "model")
    loaded = type(method).load(tmp_path / "model")
    assert loaded.class_weight == class_weight
    np.testing.assert_array_equal(loaded.predict_proba(data.X), fitted.predict_proba(data.X))


def test_a_warm_start_goes_on_where_the_last_fit_ended(data, tmp_path):
    X, y = data.X, data.candidates
    whole = EMClassifier(max_iter=500, tol=0).fit(X, y)
    method = EMClassifier(max_iter=2, warm_start=True)
    first = method.fit(X, y).objective_
    second = method.fit(X, y).objective_
    assert second[0] < first[-1]
    np.testing.assert_allclose(np.append(first, second), whole.objective_[:4], rtol=1e-3)
    method.save(tmp_path / "model")
    assert EMClassifier.load(tmp_path / "model").fit(X, y).objective_[0] < second[-1]
    # Not where classes are others, though as many.
    renamed = CandidateLabels.from_mask(y.to_mask(), ["a", "b", "c"])
    np.testing.assert_array_equal(method.fit(X, renamed).objective_, first)
    cold = EMClassifier(max_iter=2).fit(X, y)
    np.testing.assert_array_equal(cold.fit(X, y).objective_, first)


def test_log_probabilities_are_those_of_the_probabilities(data):
    method = AverageClassifier().fit(data.X, data.candidates)
    np.testing.assert_array_equal(
        method.predict_log_proba(data.X), np.log(method.predict_proba(data.X))
    )
