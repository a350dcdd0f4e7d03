"""The base class of every method, and confidences."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import PLKNN, CandidateLabels
from disambig._core.errors import CandidateError, ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import AverageClassifier, OracleClassifier
from disambig.methods.base import (
    confidence_from_logits,
    confidence_from_pairs,
    confidence_from_scores,
    relative_weights,
)
from disambig.metrics import accuracy

# ---- base


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(
        120, 4, 3, average_candidates=1.6, overlap=0.3, random_state=0
    )


def test_train_test_split_keeps_rows_together(data):
    X_train, X_test, y_train, y_test = train_test_split(data.X, data.candidates, random_state=0)
    assert isinstance(y_train, CandidateLabels)
    rows = {tuple(row): members for row, members in zip(data.X, data.candidates, strict=True)}
    for X, y in ((X_train, y_train), (X_test, y_test)):
        assert [rows[tuple(row)] for row in X] == list(y)


def test_k_fold_splits_candidate_sets(data):
    for train, test in KFold(4, shuffle=True, random_state=0).split(data.X, data.candidates):
        fitted = PLKNN().fit(data.X[train], data.candidates[train])
        assert fitted.score(data.X[test], data.candidates[test]) > 0.7


@pytest.mark.parametrize("cv", [3, KFold(3, shuffle=True, random_state=0)])
def test_cross_val_score_is_the_covering_rate(data, cv):
    scores = cross_val_score(PLKNN(), data.X, data.candidates, cv=cv)
    assert len(scores) == 3
    assert (scores > 0.7).all()


def test_cross_val_predict_gives_labels_for_held_out_rows(data):
    folds = KFold(3, shuffle=True, random_state=0)
    predicted = cross_val_predict(PLKNN(), data.X, data.candidates, cv=folds)
    assert accuracy(data.true_labels, predicted) > 0.8


def test_grid_search_chooses_without_true_labels_and_in_other_processes(data):
    grid = {"n_neighbors": [5, 100]}
    with parallel_backend("loky", n_jobs=2):
        search = GridSearchCV(PLKNN(), grid, cv=3).fit(data.X, data.candidates)
    assert search.best_params_ == {"n_neighbors": 5}
    assert search.best_estimator_.disambiguate().shape == (120,)


def test_a_pipeline_hands_candidate_sets_through(data):
    pipeline = make_pipeline(StandardScaler(), PLKNN(scaling="none"))
    assert pipeline.fit(data.X, data.candidates).score(data.X, data.candidates) > 0.8
    np.testing.assert_array_equal(
        clone(pipeline).fit(data.X, data.candidates).predict(data.X), pipeline.predict(data.X)
    )


def test_clone_copies_parameters_and_nothing_learned(data):
    fitted = PLKNN(n_neighbors=3).fit(data.X, data.candidates)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(data.X)
    with pytest.raises(NotFittedError):
        copy.disambiguate()


def test_frames_are_accepted_and_their_columns_remembered(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    fitted = PLKNN().fit(frame, data.candidates)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(
        fitted.predict(frame), PLKNN().fit(data.X, data.candidates).predict(data.X)
    )
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[list("bacd")])


def test_a_label_column_is_enough():
    frame = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "y": [1.0, 1.1, 0.0, 0.2]})
    labels = pd.Series(["cat|dog", "cat", "dog", "dog|cat"])
    fitted = PLKNN(n_neighbors=1).fit(frame, CandidateLabels.from_strings(labels))
    assert fitted.predict(frame[:1]).tolist() == ["cat"]
    assert fitted.disambiguate().tolist() == ["cat", "cat", "dog", "dog"]


def test_what_is_returned_does_not_lead_back_in(data):
    fitted = PLKNN().fit(data.X, data.candidates)
    fitted.disambiguate()[:] = -1
    assert (fitted.disambiguate() >= 0).all()


def test_the_columns_of_a_mask_are_the_classes_that_were_learned(data):
    names = ["wolf", "cat", "dog"]
    sets = CandidateLabels.from_mask(data.candidates.to_mask(), names)
    fitted = PLKNN().fit(data.X, sets)
    assert fitted.score(data.X, sets.to_mask()) == fitted.score(data.X, sets) > 0.5
    with pytest.raises(CandidateError, match="Got 2 columns and 3 classes"):
        fitted.score(data.X, np.ones((120, 2), dtype=bool))


def test_a_refused_fit_leaves_nothing_to_predict_with(data):
    method = OracleClassifier().fit(data.X, data.true_labels)
    with pytest.raises(CandidateError, match="more than one candidate"):
        method.fit(data.X, np.ones((120, 5), dtype=bool))
    with pytest.raises(NotFittedError):
        method.predict_proba(data.X)


def test_a_fit_with_refused_parameters_leaves_nothing_to_predict_with(data):
    method = PLKNN().fit(data.X, data.candidates).set_params(n_neighbors=-1)
    with pytest.raises(ParameterError, match="'n_neighbors'"):
        method.fit(data.X, data.candidates)
    with pytest.raises(NotFittedError):
        method.predict(data.X)


@pytest.mark.parametrize("method", [PLKNN(), AverageClassifier()], ids=lambda m: m.card.name)
def test_scalers_may_return_frames(data, method):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    expected = method.fit(frame, data.candidates).predict_proba(frame)
    with config_context(transform_output="pandas"):
        found = clone(method).fit(frame, data.candidates).predict_proba(frame)
    np.testing.assert_allclose(found, expected)


def test_dense_rows_teach_what_sparse_rows_are_asked(data):
    fitted = PLKNN().fit(data.X, data.candidates)
    asked = fitted.predict_proba(sparse.csr_array(data.X))
    np.testing.assert_allclose(asked, fitted.predict_proba(data.X))


def test_ties_go_to_the_first_class():
    # Each row's only neighbour votes for neither of its candidates, so both stay as likely.
    y = CandidateLabels.from_sets([["b", "a"], ["d", "c"]])
    fitted = PLKNN(n_neighbors=1).fit([[0.0], [1.0]], y)
    assert fitted.disambiguate().tolist() == ["a", "c"]


def test_candidate_sets_are_needed():
    with pytest.raises(CandidateError, match="PLKNN requires y to be passed.*from_strings"):
        PLKNN().fit([[1.0]], None)


def test_sparse_features_are_refused_where_a_method_cannot_take_them(data):
    class DenseOnly(PLKNN):
        accepts_sparse = False

    with pytest.raises(TypeError, match="[Ss]parse"):
        DenseOnly().fit(sparse.csr_array(data.X), data.candidates)


# ---- candidate confidence


SETS = CandidateLabels.from_sets([["a", "c"], ["b"], ["a", "b", "c"]])


def test_logits_become_a_softmax_over_the_candidates():
    logits = np.log([[1.0, 8.0, 3.0], [5.0, 1.0, 5.0], [1.0, 1.0, 2.0]])
    expected = [[0.25, 0, 0.75], [0, 1, 0], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(confidence_from_logits(SETS, logits).toarray(), expected)


@pytest.mark.parametrize("shift", [-1e5, 0, 1e5])
def test_logits_far_from_those_of_other_classes_keep_their_differences(shift):
    # Next to that of b, the probabilities of a and c would be zero.
    logits = np.array([[0.0, 5000.0, np.log(3)]]) + shift
    confidence = confidence_from_logits(SETS[:1], logits)
    np.testing.assert_allclose(confidence.toarray(), [[0.25, 0, 0.75]], rtol=1e-9)


def test_scores_of_a_set_that_are_all_zero_leave_the_prior():
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1, "b": 1}])
    confidence = confidence_from_scores(weighted, np.array([[0.0, 0.0], [1.0, 4.0]]))
    np.testing.assert_allclose(confidence.toarray(), [[0.75, 0.25], [0.2, 0.8]])


def test_relative_weights_are_measured_by_the_largest_of_the_row():
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"b": 5}])
    np.testing.assert_allclose(relative_weights(weighted), [1, 1 / 3, 1])
    assert (relative_weights(SETS) == 1).all()


def test_confidences_of_pairs_are_put_at_their_row_and_class():
    confidence = confidence_from_pairs(SETS, np.array([0.1, 0.9, 1.0, 0.2, 0.3, 0.5]))
    np.testing.assert_array_equal(confidence.toarray(), [[0.1, 0, 0.9], [0, 1, 0], [0.2, 0.3, 0.5]])
