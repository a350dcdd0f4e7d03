import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from disambig import CandidateLabels
from disambig._core.errors import CandidateError
from disambig.candidates import as_candidates
from disambig.candidates.target import without_weightless

MASK = np.array([[True, True], [False, True]])


def test_candidate_labels_are_taken_as_they_are():
    candidates = CandidateLabels.from_mask(MASK)
    assert as_candidates(candidates) is candidates


@pytest.mark.parametrize("mask", [MASK, MASK.tolist(), sparse.csr_array(MASK.astype(int))])
def test_masks_are_read_as_masks(mask):
    assert as_candidates(mask).to_sets() == [{0, 1}, {1}]


def test_a_frame_of_booleans_brings_its_names():
    frame = pd.DataFrame(MASK, columns=["cat", "dog"])
    assert as_candidates(frame).to_sets() == [{"cat", "dog"}, {"dog"}]


@pytest.mark.parametrize("labels", [["b", "a"], np.array(["b", "a"]), pd.Series(["b", "a"])])
def test_plain_labels_are_sets_of_one(labels):
    assert as_candidates(labels).to_sets() == [{"b"}, {"a"}]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (np.array([[5], [7]]), [5, 7]),
        (np.array([["a"], ["b"]], dtype=object), ["a", "b"]),
        (pd.DataFrame({"label": ["a", "b"]}), ["a", "b"]),
    ],
)
def test_a_column_of_labels_is_read_with_a_warning(column, labels):
    with pytest.warns(DataConversionWarning):
        assert as_candidates(column).to_sets() == [{label} for label in labels]


@pytest.mark.parametrize(
    "matrix", [MASK.astype(int), MASK.astype(float), MASK.astype(int).tolist()]
)
def test_a_matrix_of_zeros_and_ones_is_ambiguous(matrix):
    with pytest.raises(
        CandidateError, match=r"matrix of 0 and 1 of shape \(2, 2\).*from_mask\(y\)"
    ):
        as_candidates(matrix)


@pytest.mark.parametrize(
    "collections",
    [
        [{"a", "b"}, {"a"}],
        [["a", "b"], ["a"]],
        [("a", "b"), ("a",)],
        [{"a": 0.5, "b": 0.5}],
        np.array([{"a"}, {"b"}], dtype=object),
        pd.Series([["a", "b"], ["a"]]).to_numpy(),
    ],
)
def test_collections_of_labels_are_sent_to_from_sets(collections):
    with pytest.raises(CandidateError, match=r"one collection of labels.*from_sets\(y\)"):
        as_candidates(collections)


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan],
        [1.0, np.inf],
        np.array(["a", None], dtype=object),
        pd.Series(["a", None], dtype=object),
    ],
)
def test_missing_labels_are_refused_with_their_row(labels):
    with pytest.raises(
        CandidateError, match="Input y contains NaN, None or infinity for 1 sample, at row 1"
    ):
        as_candidates(labels)


@pytest.mark.parametrize(
    "mixed", [["cat", ["dog"], "dog"], [[1, 0], 3], pd.Series([["a", "b"], ["b"], ["a"]])]
)
def test_a_collection_anywhere_among_the_labels_is_noticed(mixed):
    with pytest.raises(CandidateError, match="one collection of labels"):
        as_candidates(mixed)


@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_a_label_that_looks_like_several_is_refused_with_the_constructor_to_use(form):
    labels = ["cat", "cat|dog", "dog|cat"]
    message = r"label 'cat\|dog' has a '\|'.*2 samples, first at row 1.*from_strings.*from_labels"
    with pytest.raises(CandidateError, match=message):
        as_candidates(form(labels))
    named = as_candidates(CandidateLabels.from_labels(form(labels)))
    assert named.to_sets() == [{"cat"}, {"cat|dog"}, {"dog|cat"}]


def test_a_mask_without_names_takes_the_names_given():
    for mask in (MASK, sparse.csr_array(MASK)):
        assert as_candidates(mask, classes=["a", "b"]).to_sets() == [{"a", "b"}, {"b"}]
    frame = pd.DataFrame(MASK, columns=["cat", "dog"])
    assert as_candidates(frame, classes=["a", "b"]).to_sets() == [{"cat", "dog"}, {"dog"}]
    with pytest.raises(CandidateError, match="Got 2 columns and 3 classes"):
        as_candidates(MASK, classes=["a", "b", "c"])


def test_a_frame_of_nullable_booleans_is_a_mask():
    frame = pd.DataFrame(MASK, columns=["cat", "dog"]).astype("boolean")
    assert as_candidates(frame).to_sets() == [{"cat", "dog"}, {"dog"}]


def test_nullable_types_keep_their_labels():
    for kind, labels in (("Int64", [1, 2]), ("boolean", [False, True]), ("string", ["a", "b"])):
        classes = as_candidates(pd.Series(labels, dtype=kind)).classes.tolist()
        assert classes == labels
        assert [type(name) for name in classes] == [type(label) for label in labels]
    numbers = np.array([np.int64(3), np.int64(1)], dtype=object)
    assert as_candidates(numbers).to_sets() == [{3}, {1}]


@pytest.mark.parametrize(
    "nested",
    [
        pd.Series([np.array([True, False]), np.array([True, True])]),
        pd.Series([[0, 1], [1, 0]]),
        [[pd.NA, 1], [0, 1]],
    ],
)
def test_rows_in_a_column_are_collections_even_if_they_look_like_bits(nested):
    with pytest.raises(CandidateError, match="one collection of labels"):
        as_candidates(nested)


def test_a_frame_with_missing_bits_is_refused():
    frame = pd.DataFrame({"a": [True, pd.NA], "b": [True, True]}, dtype="boolean")
    with pytest.raises(CandidateError, match="A mask holds .* Fill in what is missing"):
        as_candidates(frame)


def test_continuous_targets_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        as_candidates([0.5, 1.7])


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_candidates_of_weight_zero_are_taken_out_of_their_sets(form):
    mask, weights = np.array([[1, 1, 1], [0, 1, 1]]), np.array([[2.0, 0, 1], [0, 0, 5]])
    given = CandidateLabels.from_mask(form(mask > 0), ["a", "b", "c"], weights=form(weights))
    found = without_weightless(given)
    assert found.to_sets() == [{"a", "c"}, {"c"}]
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.values_of(found.weights).tolist() == [2, 1, 5]


@pytest.mark.parametrize("weights", [None, np.array([[1.0, 2.0], [0.0, 3.0]])])
def test_sets_without_candidates_of_weight_zero_stay_as_they_are(weights):
    candidates = CandidateLabels.from_mask(MASK, weights=weights)
    assert without_weightless(candidates) is candidates
