import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from disambig import CandidateLabels
from disambig._core.errors import CandidateError, ParameterError, TrainingError
from methods.ncpd.examples import NEW_X, X, Y, assert_same_bits, quick


def test_sparse_features_are_refused(fitted):
    with pytest.raises(TypeError, match="dense data is required"):
        quick().fit(sparse.csr_array(X), Y)
    with pytest.raises(TypeError, match="dense data is required"):
        fitted.predict(sparse.csr_array(X))
    with pytest.raises(TypeError, match="dense data is required"):
        fitted.predict_proba_per_network(sparse.csr_array(X))


@pytest.mark.parametrize(("value", "message"), [(np.nan, "contains NaN"), (np.inf, "infinity")])
def test_features_that_are_no_numbers_are_refused(fitted, value, message):
    damaged = X.copy()
    damaged[3, 1] = value
    with pytest.raises(ValueError, match=message):
        quick().fit(damaged, Y)
    with pytest.raises(ValueError, match=message):
        fitted.predict_proba_per_network(damaged)


def test_another_number_of_features_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 3 features, but NCPDClassifier is expecting 4"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but NCPDClassifier is expecting 4"):
        fitted.predict_proba_per_network(X[:, :3])


def test_another_number_of_sets_is_refused():
    with pytest.raises(CandidateError, match="Got 60 rows of features and 59 candidate sets"):
        quick().fit(X, Y[:-1])


@pytest.mark.parametrize("n_rows", [1, 2, 3, 17])
@pytest.mark.parametrize("batch_norm", [True, False])
def test_few_rows_are_enough(n_rows, batch_norm):
    fitted = quick(batch_norm=batch_norm, batch_size=2).fit(X[:n_rows], Y[:n_rows])
    probabilities = fitted.predict_proba(NEW_X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert fitted.candidate_confidence_.shape == (n_rows, 3)


@pytest.mark.parametrize("batch_norm", [True, False])
def test_constant_features_are_no_obstacle(batch_norm):
    constant = np.column_stack([X, np.full(60, 1e6), np.zeros(60)])
    assert np.isfinite(quick(batch_norm=batch_norm).fit(constant, Y).predict_proba(constant)).all()
    nothing = quick(batch_norm=batch_norm).fit(np.full((60, 2), 3.0), Y).predict_proba([[3.0, 3.0]])
    np.testing.assert_allclose(nothing.sum(axis=1), 1)


def test_a_class_that_nobody_has_becomes_improbable():
    sets = Y.with_classes([0, 1, 2, "nobody's"])
    fitted = quick(epochs=40, learning_rate=0.01).fit(X, sets)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (60, 4)
    assert probabilities[:, 3].max() < 0.2
    assert fitted.candidate_confidence_[:, [3]].nnz == 0


def test_sets_of_all_classes_teach_nothing_and_break_nothing():
    everything = CandidateLabels.from_mask(np.ones((60, 3), dtype=bool))
    fitted = quick().fit(X, everything)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray().sum(axis=1), 1)
    assert (fitted.history_["covering_rate"] == 1).all()


def test_a_batch_may_be_larger_than_the_data():
    assert_same_bits(quick(batch_size=10**6).fit(X, Y), quick(batch_size=60).fit(X, Y))


def test_single_precision_features_are_taken():
    single = X.astype(np.float32)
    found = quick().fit(single, Y).predict_proba(single)
    np.testing.assert_allclose(found, quick().fit(X, Y).predict_proba(X), atol=1e-3)


def test_rows_in_any_memory_order_give_the_same_bits(fitted):
    assert_same_bits(quick().fit(np.asfortranarray(X), Y), fitted)
    assert_same_bits(quick().fit(X.tolist(), Y), fitted)


def test_the_columns_of_a_frame_are_remembered(fitted):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    from_frame = quick().fit(frame, Y)
    assert from_frame.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(from_frame.predict_proba(frame), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        from_frame.predict_proba_per_network(frame.rename(columns={"a": "e"}))


def test_weights_take_the_place_of_equal_confidences():
    # Only the weights tell one candidate from the other; none is ever simple in one epoch of many.
    everything = np.ones((60, 2), dtype=bool)
    fitted = {}
    for name, weights in {"first": [9.0, 1.0], "second": [1.0, 9.0]}.items():
        sets = CandidateLabels.from_mask(
            everything, ["first", "second"], weights=everything * weights
        )
        method = quick(ramp_epochs=10_000, epochs=30, learning_rate=0.01)
        with pytest.warns(UserWarning, match="Training ends after 30 epochs"):
            fitted[name] = method.fit(X, sets)
    assert (fitted["first"].predict(X) == "first").all()
    assert (fitted["second"].predict(X) == "second").all()
    mean = fitted["first"].predict_proba(X)[:, 0].mean()
    assert 0.8 < mean < 0.97  # what is learned is the weight itself, 0.9


def test_equal_weights_are_as_good_as_none(fitted):
    mask = Y.to_mask()
    weighted = CandidateLabels.from_mask(mask, weights=mask * 5.0)
    assert_same_bits(quick().fit(X, weighted), fitted)


def test_a_row_so_far_away_that_numbers_would_overflow_is_not_trained_on_but_asked_for(fitted):
    far = X.copy()
    far[5, 1] = 1e39
    with pytest.raises(ParameterError, match="1e\\+12 at most once they are scaled.* at row 5"):
        quick(scaling="none").fit(far, Y)
    near = np.delete(np.arange(60), 5)
    found = fitted.predict_proba(far)
    np.testing.assert_allclose(found[near], fitted.predict_proba(X)[near], atol=1e-6)
    # Further out than the border makes no difference.
    far[5, 1] = 1e38
    np.testing.assert_array_equal(fitted.predict_proba(far), found)


def test_features_that_would_overflow_are_refused_in_fit():
    with pytest.raises(ParameterError, match="Choose another 'scaling'"):
        quick(scaling="none").fit(X * 1e30, Y)


def test_a_training_that_diverges_is_not_passed_off_as_a_fit():
    with pytest.raises(TrainingError, match="diverged. Lower the learning rate, 1e\\+30"):
        quick(learning_rate=1e30).fit(X, Y)
