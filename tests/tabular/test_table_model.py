"""Predictions for tables."""

import warnings

import numpy as np
import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.fitting import fit_table
from tabular.small_tables import neighbours, three_clouds

FRAME = three_clouds()


@pytest.fixture(scope="module")
def model():
    return fit_table(FRAME, method=neighbours(), ignore=["truth"], n_folds=0)


def test_predictions_name_the_most_probable_label(model):
    predictions = model.predict(FRAME)
    probabilities = model.predict_proba(FRAME)
    assert list(predictions.columns) == ["predicted_label", "probability"]
    assert (predictions["predicted_label"] == model.classes[probabilities.argmax(axis=1)]).all()
    np.testing.assert_allclose(predictions["probability"], probabilities.max(axis=1), atol=1e-6)


def test_the_next_labels_follow_in_order(model):
    predictions = model.predict(FRAME, top=3)
    shares = predictions[["probability", "probability_2", "probability_3"]].to_numpy()
    assert (np.diff(shares, axis=1) <= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    names = predictions[["predicted_label", "label_2", "label_3"]].to_numpy()
    assert all(len(set(row)) == 3 for row in names)


def test_more_labels_than_there_are_is_all_of_them(model):
    assert len(model.predict(FRAME, top=99).columns) == 6


def test_no_label_at_all_is_refused(model):
    with pytest.raises(ParameterError, match="'top' must be an integer >= 1"):
        model.predict(FRAME, top=0)


def test_columns_may_come_in_any_order_and_others_beside_them(model):
    other = FRAME[["colour", "width", "length"]].assign(extra="?")
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(FRAME))


def test_typed_columns_give_what_their_texts_give(model):
    typed = FRAME.astype({"length": float, "width": float})
    np.testing.assert_array_equal(model.predict_proba(typed), model.predict_proba(FRAME))


def test_missing_columns_are_named(model):
    with pytest.raises(TableError, match="'width'"):
        model.predict(FRAME.drop(columns="width"))


def test_values_that_were_never_seen_are_a_warning(model):
    strange = FRAME.assign(colour="violet")
    assert np.isfinite(model.predict_proba(strange)).all()
    with pytest.warns(UserWarning, match="'colour' has values .*: violet"):
        model.predict(strange)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(FRAME)


def test_many_rows_are_predicted_part_by_part(model, monkeypatch):
    monkeypatch.setattr("disambig.tabular.new_rows._PROBABILITIES_AT_A_TIME", 20)
    parts = model.predict(FRAME, top=2)
    monkeypatch.undo()
    assert parts.equals(model.predict(FRAME, top=2))
