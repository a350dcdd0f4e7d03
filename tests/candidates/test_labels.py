import pickle
import tracemalloc
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from candidates.strategies import candidate_labels, masks
from disambig import CandidateLabels
from disambig._core.errors import CandidateError
from disambig._core.fingerprint import fingerprint_of


@pytest.fixture
def pets():
    return CandidateLabels.from_strings(["cat|dog", "dog", "bird|cat"])


# Shape, slices, arrays ----------------------------------------------------------------------------


@given(masks())
def test_a_mask_comes_back_as_it_was(mask):
    candidates = CandidateLabels.from_mask(mask)
    np.testing.assert_array_equal(candidates.to_mask(), mask)
    np.testing.assert_array_equal(np.asarray(candidates), mask)
    np.testing.assert_array_equal(candidates.to_sparse().toarray(), mask)
    np.testing.assert_array_equal(candidates.sizes, mask.sum(axis=1))
    assert candidates.shape == mask.shape
    assert len(candidates) == len(mask)


@given(candidate_labels(), st.data())
def test_slicing_selects_rows_as_numpy_does_and_keeps_the_classes(candidates, data):
    n = len(candidates)
    indices = data.draw(st.lists(st.integers(-n, n - 1), max_size=2 * n))
    flags = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    start = data.draw(st.integers(-n, n))
    keys = [indices, np.array(indices, dtype=int), np.array(flags), flags, slice(start, None, 2)]
    for key in keys:
        part = candidates[key]
        rows = np.arange(n)[key if isinstance(key, slice) or len(key) else []]
        np.testing.assert_array_equal(part.to_mask(), candidates.to_mask()[rows])
        assert part.classes is candidates.classes
        if candidates.weights is not None:
            expected = candidates.weights.toarray()[rows]
            np.testing.assert_array_equal(part.weights.toarray(), expected)


def test_one_row_is_its_set(pets):
    assert pets[0] == {"cat", "dog"}
    assert pets[-1] == {"bird", "cat"}
    assert pets[np.int64(1)] == {"dog"}
    assert list(pets) == [{"cat", "dog"}, {"dog"}, {"bird", "cat"}]


def test_iterating_gives_every_row_in_order():
    labels = np.arange(10_000) % 7
    assert list(CandidateLabels.from_labels(labels)) == [{label} for label in labels.tolist()]


def test_a_row_that_is_not_there_is_an_index_error(pets):
    with pytest.raises(IndexError):
        pets[3]


@pytest.mark.parametrize("key", [[[0, 1]], ["cat"], [0.5], (0, 1)])
def test_selecting_other_than_rows_is_refused(pets, key):
    with pytest.raises(IndexError, match="Candidate sets are selected by sample"):
        pets[key]


def test_scikit_learns_way_to_ask_for_rows(pets):
    assert pets[[0, 1], ...].to_sets() == [{"cat", "dog"}, {"dog"}]


def test_no_rows_are_candidate_sets_too(pets):
    empty = pets[[]]
    assert len(empty) == 0
    assert empty.to_sets() == []
    assert repr(empty) == "CandidateLabels(0 samples, 3 classes, empty)"
    assert empty.choose(np.empty((0, 3))).tolist() == []


def test_asarray_takes_a_type_and_refuses_to_share_memory(pets):
    assert np.asarray(pets, dtype=float).dtype == float
    with pytest.raises(ValueError, match="by copying"):
        np.array(pets, copy=False)


def test_repr_says_what_is_inside():
    weighted = CandidateLabels.from_sets([{"a": 1, "b": 2}])
    assert repr(weighted) == (
        "CandidateLabels(1 samples, 2 classes, 2.00 candidates on average, weighted)"
    )


# Immutable ----------------------------------------------------------------------------------------


def test_attributes_cannot_be_removed(pets):
    with pytest.raises(AttributeError, match="cannot be changed"):
        del pets._mask


def test_attributes_cannot_be_set(pets):
    with pytest.raises(AttributeError, match="cannot be changed"):
        pets.classes = ["a"]
    with pytest.raises(AttributeError, match="cannot be changed"):
        pets.note = "x"


@pytest.mark.parametrize("n_classes", [3, 300])
def test_what_is_handed_out_does_not_lead_back_in(n_classes):
    original = np.eye(3, n_classes, dtype=bool)
    candidates = CandidateLabels.from_mask(original, weights=original * 2.0)
    before = deepcopy(candidates)
    original[:] = True
    candidates.to_mask()[:] = True
    np.asarray(candidates)[:] = True
    candidates.to_sparse().data[:] = False
    candidates.to_sparse().indices[:] = 0
    candidates.weights.data[:] = 5
    assert candidates == before
    with pytest.raises(ValueError, match="read-only"):
        candidates.classes[0] = 7


@given(candidate_labels())
def test_pickling_and_copying_give_an_equal_and_still_frozen_object(candidates):
    for copy in (pickle.loads(pickle.dumps(candidates)), deepcopy(candidates)):
        assert copy == candidates
        with pytest.raises(AttributeError, match="cannot be changed"):
            copy._mask = None
        assert not copy.classes.flags.writeable


def test_equality_looks_at_sets_classes_and_weights(pets):
    assert pets == CandidateLabels.from_sets([["dog", "cat"], ["dog"], ("cat", "bird")])
    assert pets != pets[:2]
    assert pets != pets.with_classes(["dog", "cat", "bird"])
    assert pets != CandidateLabels.from_sets([["dog"], ["dog"], ["cat", "bird"]])
    weighted = CandidateLabels.from_mask(pets.to_mask(), pets.classes, weights=pets.to_mask())
    assert pets != weighted
    assert pets != "pets"


def test_candidate_sets_are_not_hashable(pets):
    with pytest.raises(TypeError, match="unhashable"):
        hash(pets)


class Special(CandidateLabels):
    """A subclass that must stay one."""


def test_a_subclass_stays_one():
    special = Special.from_labels(["a"])
    for other in (pickle.loads(pickle.dumps(special)), special[:1], special.union(special)):
        assert type(other) is Special


# Storage ------------------------------------------------------------------------------------------


def test_a_few_candidates_of_many_classes_are_kept_sparse():
    rows = np.arange(1000)
    mask = sparse.csr_array((np.ones(1000, bool), (rows, rows % 500)), shape=(1000, 500))
    assert CandidateLabels.from_mask(mask).nbytes < 20_000  # dense: 500,000


def test_many_candidates_of_a_few_classes_are_kept_dense():
    candidates = CandidateLabels.from_mask(np.ones((1000, 4), dtype=bool))
    assert candidates.nbytes == 4000


def test_a_million_rows_and_a_thousand_classes_fit_into_200_megabytes():
    n, c = 1_000_000, 1000
    columns = np.stack([np.arange(n) % c, (np.arange(n) * 7 + 1) % c], axis=1).ravel()
    mask = sparse.csr_array(
        (np.ones(2 * n, dtype=bool), columns, np.arange(0, 2 * n + 1, 2)), shape=(n, c)
    )
    candidates = CandidateLabels.from_mask(mask, weights=mask.astype(float))
    assert candidates.nbytes < 200e6
    half = candidates[::2]
    assert half[1] == candidates[2] == {2, 15}


@given(masks())
def test_the_smaller_form_is_kept(mask):
    dense, n_entries = mask.size, int(mask.sum())
    sparse_form = 5 * n_entries + 4 * (len(mask) + 1)
    assert CandidateLabels.from_mask(mask).nbytes == min(dense, sparse_form)
    assert CandidateLabels.from_mask(sparse.csr_array(mask)).nbytes == min(dense, sparse_form)


def test_full_sets_are_never_spread_out_into_indices():
    mask = np.ones((2000, 500), dtype=bool)
    tracemalloc.start()
    candidates = CandidateLabels.from_mask(mask)
    sizes = candidates.sizes
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sizes.tolist() == [500] * 2000
    assert peak < 4 * mask.nbytes  # a CSR form would take five times as much


# Worked with --------------------------------------------------------------------------------------


@given(candidate_labels())
def test_the_prior_is_a_distribution_over_each_set(candidates):
    prior = candidates.prior().toarray()
    np.testing.assert_allclose(prior.sum(axis=1), 1)
    assert (prior[~candidates.to_mask()] == 0).all()


def test_the_prior_is_equal_shares_or_the_weights():
    assert CandidateLabels.from_sets([["a", "b"]]).prior().toarray().tolist() == [[0.5, 0.5]]
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}])
    assert weighted.prior().toarray().tolist() == [[0.75, 0.25]]


@pytest.mark.parametrize("scale", [1e308, 1e-320])
def test_the_prior_does_not_overflow(scale):
    weighted = CandidateLabels.from_sets([{"a": scale, "b": scale}])
    np.testing.assert_allclose(weighted.prior().toarray(), [[0.5, 0.5]])


def test_a_candidate_of_weight_zero_stays_a_candidate():
    weighted = CandidateLabels.from_sets([{"a": 0, "b": 1}])
    assert weighted.to_sets() == [{"a", "b"}]
    assert weighted.prior().toarray().tolist() == [[0, 1]]
    assert weighted.prior().nnz == 2


@given(candidate_labels())
def test_pairs_are_the_candidates_row_by_row(candidates):
    rows, columns = candidates.pairs()
    expected_rows, expected_columns = np.nonzero(candidates.to_mask())
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(columns, expected_columns)


@given(candidate_labels())
def test_starts_say_where_the_pairs_of_every_row_begin(candidates):
    rows, _ = candidates.pairs()
    expected = [rows.tolist().index(row) for row in range(len(candidates))]
    assert candidates.starts.tolist() == expected
    assert candidates[:0].starts.tolist() == []


@given(candidate_labels(weighted=False), st.data())
def test_contains_agrees_with_the_sets(candidates, data):
    names = [*candidates.classes.tolist(), "stranger"]
    labels = data.draw(
        st.lists(st.sampled_from(names), min_size=len(candidates), max_size=len(candidates))
    )
    expected = [label in row for label, row in zip(labels, candidates.to_sets(), strict=True)]
    assert candidates.contains(labels).tolist() == expected


def test_contains_needs_a_label_for_every_sample(pets):
    with pytest.raises(CandidateError, match="each of the 3 samples. Got 2"):
        pets.contains(["cat", "dog"])


@given(candidate_labels(weighted=False), st.randoms(use_true_random=False))
def test_choose_takes_the_best_candidate_and_the_first_of_equals(candidates, random):
    confidence = np.array(
        [[random.randint(0, 3) for _ in candidates.classes] for _ in range(len(candidates))]
    )
    inside = np.where(candidates.to_mask(), confidence, -1)
    expected = candidates.classes[inside.argmax(axis=1)]
    np.testing.assert_array_equal(candidates.choose(confidence), expected)
    np.testing.assert_array_equal(candidates.choose(sparse.csr_array(confidence)), expected)


def test_confidences_may_be_given_in_any_form(pets):
    rows = [[0, 1, 2], [3, 4, 5], [8, 7, 6]]
    for form in (rows, np.array(rows), pd.DataFrame(rows), sparse.coo_matrix(rows)):
        assert pets.choose(form).tolist() == ["dog", "dog", "bird"]


def test_a_missing_confidence_is_below_all_others(pets):
    confidence = np.full((3, 3), np.nan)
    confidence[0, 2] = -5
    assert pets.choose(confidence).tolist() == ["dog", "dog", "bird"]


def test_values_need_the_shape_of_the_sets(pets):
    with pytest.raises(CandidateError, match=r"\(3, 3\). Got the shape \(3, 2\)"):
        pets.choose(np.ones((3, 2)))


# Set algebra --------------------------------------------------------------------------------------


def test_restrict_keeps_only_these_labels_as_candidates_and_classes(pets):
    kept = pets.restrict(["dog", "cat"])
    assert kept.to_sets() == [{"cat", "dog"}, {"dog"}, {"cat"}]
    assert kept.classes.tolist() == ["cat", "dog"]


def test_exclude_is_the_other_half_of_restrict(pets):
    assert pets.exclude(["bird"]) == pets.restrict(["cat", "dog"])


def test_a_row_that_becomes_empty_is_named(pets):
    with pytest.raises(CandidateError, match="Got none for 1 sample, at row 1"):
        pets.exclude(["dog"])
    with pytest.raises(CandidateError, match="Got none for 2 samples, first at row 1"):
        pets.intersect(CandidateLabels.from_labels(["cat", "cat", "dog"]))


def test_excluding_every_class_empties_the_first_row(pets):
    with pytest.raises(CandidateError, match="Got none for 3 samples, first at row 0"):
        pets.exclude(["bird", "cat", "dog"])


@pytest.mark.parametrize("method", ["restrict", "exclude", "contains", "with_classes"])
def test_one_text_is_no_collection_of_labels(pets, method):
    with pytest.raises(CandidateError, match=r"Got the string 'cat'. Write \['cat'\]"):
        getattr(pets, method)("cat")


def test_restricting_to_an_unknown_label_is_refused(pets):
    with pytest.raises(CandidateError, match="one of the 3 classes. Got 'cow'"):
        pets.restrict(["cow"])


@given(candidate_labels(), candidate_labels())
def test_union_and_intersection_agree_with_python_sets(left, right):
    n = min(len(left), len(right))
    left, right = left[:n], right[:n]
    pairs = list(zip(left.to_sets(), right.to_sets(), strict=True))
    assert left.union(right).to_sets() == [a | b for a, b in pairs]
    if all(a & b for a, b in pairs):
        assert left.intersect(right).to_sets() == [a & b for a, b in pairs]


def test_weights_multiply_in_an_intersection_and_add_up_in_a_union():
    votes = CandidateLabels.from_sets([{"a": 3, "b": 1}])
    plain = CandidateLabels.from_sets([["b", "c"]])
    both = votes.intersect(CandidateLabels.from_sets([{"a": 2, "b": 5}]))
    assert both.weights.toarray().tolist() == [[6, 5]]
    assert votes.union(plain).weights.toarray().tolist() == [[3, 2, 1]]
    assert plain.union(votes).with_classes(["a", "b", "c"]).weights.toarray().tolist() == [
        [3, 2, 1]
    ]
    assert votes.intersect(plain).weights.toarray().tolist() == [[0, 1, 0]]


def test_both_sides_need_the_same_number_of_samples(pets):
    with pytest.raises(CandidateError, match="Got 3 and 2"):
        pets.union(pets[:2])


def test_with_classes_reorders_adds_and_drops_unused_classes():
    weighted = CandidateLabels.from_mask([[1, 1, 0]], ["a", "b", "c"], weights=[[1, 2, 0]])
    moved = weighted.with_classes(["b", "x", "a"])
    assert moved.to_mask().tolist() == [[True, False, True]]
    assert moved.weights.toarray().tolist() == [[2, 0, 1]]
    assert moved.classes.tolist() == ["b", "x", "a"]


def test_with_classes_needs_every_candidate(pets):
    with pytest.raises(CandidateError, match="Got 'bird'"):
        pets.with_classes(["cat", "dog"])


# Text and frames ----------------------------------------------------------------------------------


@given(candidate_labels(weighted=False))
def test_sets_and_strings_can_be_read_back(candidates):
    classes = candidates.classes
    assert CandidateLabels.from_sets(candidates.to_sets(), classes=classes) == candidates
    assert CandidateLabels.from_strings(candidates.to_strings(), classes=classes) == candidates
    spaced = candidates.to_strings(separator=" ; ")
    assert CandidateLabels.from_strings(spaced, separator=";", classes=classes) == candidates


def test_a_label_with_the_separator_in_it_cannot_be_written():
    with pytest.raises(CandidateError, match=r"'a\|b' contains the separator"):
        CandidateLabels.from_labels(["a|b"]).to_strings()


def test_a_frame_of_booleans_brings_its_column_names():
    frame = pd.DataFrame({"cat": [True, False], "dog": [True, True]})
    assert CandidateLabels.from_mask(frame).to_sets() == [{"cat", "dog"}, {"dog"}]


def test_the_fingerprint_follows_classes_sets_and_weights_and_nothing_else():
    sets = CandidateLabels.from_strings(["cat|dog", "dog"])
    weights = sets.to_mask() * 2.0
    others = [
        CandidateLabels.from_strings(["cat|cow", "cow"]),
        CandidateLabels.from_strings(["cat|dog", "cat"]),
        sets.with_classes(["dog", "cat"]),
        sets[[0]],
        CandidateLabels.from_mask(sets.to_mask(), sets.classes, weights=weights),
        CandidateLabels.from_mask(sets.to_mask(), sets.classes, weights=weights * 2),
    ]
    fingerprints = {fingerprint_of(one) for one in [sets, *others]}
    assert len(fingerprints) == 7
    assert fingerprint_of(CandidateLabels.from_sets([["dog", "cat"], ["dog"]])) in fingerprints
    wide = CandidateLabels.from_mask(np.eye(200, dtype=bool))
    assert fingerprint_of(wide) == fingerprint_of(CandidateLabels.from_mask(wide.to_sparse()))
