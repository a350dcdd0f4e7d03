import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from disambig import CandidateLabels
from disambig._core.errors import CandidateError

# Masks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bool, int, float, np.uint8])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
def test_masks_of_any_number_type_dense_and_sparse(kind, form):
    mask = form(np.array([[1, 0], [1, 1]], dtype=kind))
    assert CandidateLabels.from_mask(mask, ["a", "b"]).to_sets() == [{"a"}, {"a", "b"}]


def test_a_sparse_mask_with_stored_zeros_means_what_it_shows():
    stored = sparse.csr_array((np.array([1, 0]), ([0, 0], [0, 1])), shape=(1, 2))
    assert CandidateLabels.from_mask(stored).to_sets() == [{0}]


@pytest.mark.parametrize("index", [4, 10**8, -1, -(10**6)])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_indices_outside_of_a_sparse_mask_or_weights_are_refused(index, form):
    bad = sparse.csr_array(np.eye(4)).asformat(form)
    (bad.col if form == "coo" else bad.indices)[0] = index
    with pytest.raises(CandidateError, match="A sparse matrix needs indices"):
        CandidateLabels.from_mask(bad)
    with pytest.raises(CandidateError, match="A sparse matrix needs indices"):
        CandidateLabels.from_mask(np.eye(4), weights=bad)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[0.5, 1]], "Got the value 0.5"),
        ([[math.nan, 1]], "Got the value nan"),
        ([[2, 1]], "Got the value 2"),
        ([["a", "b"]], "Got values of type <U1"),
        (sparse.csr_array([[3, 1]]), "Got the value 3"),
        ([1, 0], r"Got the shape \(2,\)"),
        (sparse.coo_array([1, 0]), r"Got the shape \(2,\)"),
        ([[1, 0], [1]], "Row 0 has 2 columns, row 1 has 1"),
        ([[1, 0], 1], "Row 0 has 2 columns, row 1 has no columns"),
        ([[1, [0]], [1, 1]], "each a single value"),
        ([[1, 0], [0, 0]], "Got none for 1 sample, at row 1"),
    ],
)
def test_what_is_no_mask_is_refused(mask, message):
    with pytest.raises(CandidateError, match=message):
        CandidateLabels.from_mask(mask)


def test_a_repeated_sparse_entry_is_no_mask():
    twice = sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 2))
    with pytest.raises(CandidateError, match="Got the value 2"):
        CandidateLabels.from_mask(twice)


def test_every_column_needs_a_name():
    with pytest.raises(CandidateError, match="Got 2 columns and 1 classes"):
        CandidateLabels.from_mask([[1, 1]], ["a"])


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [[1.0, 0], [1, 1]],
            r"Only candidates may carry a weight. This is not so for 1 sample, at row 1",
        ),
        ([[0.0, 0], [1, 0]], "a weight above 0. This is not so for 1 sample, at row 0"),
        ([[-1.0, 2], [1, 0]], "finite and not negative. This is not so for 1 sample, at row 0"),
        ([[math.inf, 2], [math.nan, 0]], "finite and not negative. This is not so for 2 samples"),
        ([[1.0, 1]], r"the shape of the mask, \(2, 2\). Got \(1, 2\)"),
        ([[1j, 1], [1, 0]], "Weights are numbers .* Got values of type complex128"),
    ],
)
def test_what_is_no_weighting_is_refused(form, weights, message):
    with pytest.raises(CandidateError, match=message):
        CandidateLabels.from_mask([[1, 1], [1, 0]], weights=form(weights))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"Weights are numbers .* a matrix.* Got the shape \(2,\)"),
        ([[1.0, 1], [1]], "Weights are numbers .* every row needs the same number of columns"),
        ([["a", "b"], ["c", "d"]], "Weights are numbers .* Got values of type <U1"),
    ],
)
def test_what_is_no_matrix_of_weights_is_refused_as_such(weights, message):
    with pytest.raises(CandidateError, match=message):
        CandidateLabels.from_mask([[1, 1], [1, 0]], weights=weights)


def test_weights_in_a_frame_are_matched_by_their_names():
    mask = pd.DataFrame({"a": [True], "b": [True]})
    weights = pd.DataFrame({"b": [0.9], "a": [0.1]})
    candidates = CandidateLabels.from_mask(mask, weights=weights)
    assert candidates.weights.toarray().tolist() == [[0.1, 0.9]]
    with pytest.raises(CandidateError, match="must be the classes, a, b. Got b, z"):
        CandidateLabels.from_mask(mask, weights=weights.rename(columns={"a": "z"}))


def test_columns_of_a_frame_are_put_in_the_order_of_the_classes():
    frame = pd.DataFrame({"a": [1], "b": [0]})
    assert CandidateLabels.from_mask(frame, ["b", "a"]).to_sets() == [{"a"}]
    # Columns of other names are taken in their order.
    assert CandidateLabels.from_mask(frame, ["x", "y"]).to_sets() == [{"x"}]


def test_weights_are_matched_by_names_and_not_by_what_they_look_like():
    weights = pd.DataFrame([[1.0, 0.0]], columns=["1", "2"])
    with pytest.raises(CandidateError, match="must be the classes"):
        CandidateLabels.from_mask([[1, 0]], [1, 2], weights=weights)


@pytest.mark.parametrize("kind", ["boolean", "Int64", "Float64"])
def test_frames_of_nullable_types_are_masks(kind):
    frame = pd.DataFrame({"a": [1, 0], "b": [1, 1]}).astype(kind)
    assert CandidateLabels.from_mask(frame).to_sets() == [{"a", "b"}, {"b"}]
    frame.iloc[0, 0] = pd.NA
    with pytest.raises(CandidateError, match="A mask holds"):
        CandidateLabels.from_mask(frame)
