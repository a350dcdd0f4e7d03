import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse, stats
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from disambig import PLKNN, CandidateLabels
from disambig._core.errors import ParameterError
from disambig.methods.scaling import FeatureScaler, apply_scaler, check_scaling, fit_scaler

KINDS = ["half", "standard", "global", "quantile", "none"]
LINEAR = ["half", "standard", "global", "none"]
CENTERED = ["half", "standard", "global"]

# Means 2, 16, 7 and standard deviations 1, 16, 0.
SMALL = np.array([[1.0, 0.0, 7.0], [3.0, 32.0, 7.0]])


@pytest.fixture(name="X", scope="module")
def features():
    generator = np.random.default_rng(0)
    return generator.normal(size=(200, 4)) * [1, 10, 0.01, 1000] + [0, 5, 1, -300]


@pytest.fixture(name="X_with_zeros", scope="module")
def features_with_zeros(X):
    return np.where(np.abs(X) > np.median(np.abs(X), axis=0), X, 0)


@parametrize_with_checks([FeatureScaler(kind=kind) for kind in KINDS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# What the kinds do


def test_standard_by_hand():
    found = FeatureScaler(kind="standard").fit_transform(SMALL)
    assert found.tolist() == [[-1, -1, 0], [1, 1, 0]]


def test_global_by_hand():
    # The centred values are 1, 16, 0 in size: their mean square is 257/3.
    scaler = FeatureScaler(kind="global").fit(SMALL)
    assert scaler.center_.tolist() == [2, 16, 7]
    np.testing.assert_allclose(scaler.scale_, math.sqrt(257 / 3))
    np.testing.assert_allclose(
        scaler.transform(SMALL), np.array([[-1, -16, 0], [1, 16, 0]]) / math.sqrt(257 / 3)
    )


def test_half_by_hand():
    # Divided by the roots 1, 4 and by 1 they are 1, 4, 0 in size: their mean square is 17/3.
    scaler = FeatureScaler().fit(SMALL)
    np.testing.assert_allclose(scaler.scale_, np.array([1, 4, 1]) * math.sqrt(17 / 3))
    np.testing.assert_allclose(
        scaler.transform(SMALL), np.array([[-1, -4, 0], [1, 4, 0]]) / math.sqrt(17 / 3)
    )


def test_half_is_half_way_between_standard_and_global_on_a_logarithmic_scale(X):
    logarithms = {kind: np.log(FeatureScaler(kind=kind).fit(X).scale_) for kind in CENTERED}
    between = (logarithms["standard"] + logarithms["global"]) / 2
    assert np.ptp(logarithms["half"] - between) < 1e-12  # up to the number common to all


def test_standard_agrees_with_scikit_learn(X):
    expected = StandardScaler().fit(X)
    scaler = FeatureScaler(kind="standard").fit(X)
    np.testing.assert_allclose(scaler.center_, expected.mean_)
    np.testing.assert_allclose(scaler.scale_, expected.scale_)
    np.testing.assert_allclose(scaler.transform(X + 1), expected.transform(X + 1))


@pytest.mark.parametrize("kind", ["half", "global"])
def test_the_result_has_mean_zero_and_a_common_root_mean_square_of_one(X, kind):
    scaled = FeatureScaler(kind=kind).fit_transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.square(scaled).mean(), 1)


def test_quantile_gives_the_normal_scores_of_ranks():
    X = np.random.default_rng(0).lognormal(size=(50, 3))
    shares = (stats.rankdata(X, axis=0) - 1) / 49
    expected = stats.norm.ppf(np.clip(shares, 1e-7, 1 - 1e-7))
    found = FeatureScaler(kind="quantile").fit_transform(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_quantile_agrees_with_scikit_learn_between_and_beyond_the_training_rows(X):
    scaler = FeatureScaler(kind="quantile").fit(X)
    expected = QuantileTransformer(n_quantiles=200, output_distribution="normal").fit(X)
    np.testing.assert_allclose(scaler.quantiles_, expected.quantiles_, rtol=1e-12)
    query = np.vstack([X[:-1] + np.diff(X, axis=0) / 3, X.min(axis=0) - 1, X.max(axis=0) + 1])
    np.testing.assert_allclose(scaler.transform(query), expected.transform(query), rtol=1e-9)


@pytest.mark.parametrize("n_rows", [2, 3, 300, 1000])
def test_quantile_gives_equal_values_the_mean_of_their_ranks(n_rows):
    X = np.random.default_rng(0).integers(0, [2, 5, 100], size=(n_rows, 3)).astype(float)
    X[0], X[1] = 0, [1, 4, 99]
    shares = (stats.rankdata(X, axis=0) - 1) / (n_rows - 1)
    # Unless they are the smallest or the largest: scikit-learn has these at the ends.
    shares = np.select([X.min(axis=0) == X, X.max(axis=0) == X], [0, 1], shares)
    expected = stats.norm.ppf(np.clip(shares, 1e-7, 1 - 1e-7))
    found = FeatureScaler(kind="quantile").fit_transform(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_quantile_keeps_a_thousand_quantiles_of_all_rows():
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    scaler = FeatureScaler(kind="quantile").fit(X)
    expected = np.quantile(X, np.linspace(0, 1, 1000), axis=0)
    np.testing.assert_allclose(scaler.quantiles_, expected, atol=1e-12)


def test_none_changes_nothing(X):
    scaled = FeatureScaler(kind="none").fit_transform(X)
    np.testing.assert_array_equal(scaled, X)
    assert not np.shares_memory(scaled, X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_is_learned_in_fit_alone(X, kind):
    scaler = FeatureScaler(kind=kind).fit(X)
    np.testing.assert_array_equal(scaler.transform(X[:1]), scaler.transform(X)[:1])


# Constant features, few rows, other types


@pytest.mark.parametrize("kind", ["half", "standard", "global", "quantile"])
@pytest.mark.parametrize("value", [0.1, 0.0, -7.0, 1e300, 1e-300])
def test_a_constant_feature_becomes_zero_and_changes_no_other(X, kind, value):
    wider = np.column_stack([X, np.full(len(X), value)])
    scaled = FeatureScaler(kind=kind).fit_transform(wider)
    assert (scaled[:, -1] == 0).all()
    narrow = FeatureScaler(kind=kind).fit_transform(X)
    # The common mean square is that of four features out of five.
    common = math.sqrt(5 / 4) if kind in ("half", "global") else 1
    np.testing.assert_allclose(scaled[:, :-1], narrow * common)


@pytest.mark.parametrize("kind", ["half", "standard", "global"])
def test_a_feature_that_differs_by_rounding_alone_is_constant(kind):
    X = np.array([[0.3, 0.0], [0.1 + 0.2, 2.0]])
    assert X[0, 0] != X[1, 0]
    assert abs(FeatureScaler(kind=kind).fit_transform(X)[:, 0]).max() < 1e-15


@pytest.mark.parametrize("kind", ["half", "standard", "global", "quantile"])
def test_one_row_becomes_zero(kind):
    assert FeatureScaler(kind=kind).fit_transform([[3.0, -2.0]]).tolist() == [[0, 0]]


@pytest.mark.parametrize("kind", CENTERED)
def test_a_new_value_of_a_constant_feature_is_divided_by_one(kind):
    assert FeatureScaler(kind=kind).fit([[3.0], [3.0]]).transform([[5.0]]).tolist() == [[2]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_every_type_of_number_gives_the_result_of_doubles(kind, dtype):
    X = np.random.default_rng(0).integers(0, 200, size=(30, 3)).astype(dtype)
    found = FeatureScaler(kind=kind).fit_transform(X)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, FeatureScaler(kind=kind).fit_transform(X.astype(float)))


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_the_order_of_features_in_memory(X, kind):
    by_columns = FeatureScaler(kind=kind).fit_transform(np.asfortranarray(X))
    np.testing.assert_array_equal(by_columns, FeatureScaler(kind=kind).fit_transform(X))


# Sizes near the ends of what doubles can hold


def test_small_noise_far_from_zero_is_measured_exactly():
    noise = np.random.default_rng(0).normal(size=1000) * 1e-6
    X = (1e8 + noise).reshape(-1, 1)
    exact = [Fraction(value) for value in X[:, 0].tolist()]
    mean = sum(exact) / len(exact)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in exact) / len(exact))
    for form in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(FeatureScaler("standard").fit(form(X)).scale_, deviation, 1e-9)
    assert abs(FeatureScaler("standard").fit(X).center_[0] - float(mean)) <= np.spacing(1e8)


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("kind", ["half", "standard", "global", "quantile"])
def test_the_unit_of_all_features_does_not_matter_however_extreme(X, kind, factor):
    expected = FeatureScaler(kind=kind).fit_transform(X)
    found = FeatureScaler(kind=kind).fit_transform(X * factor)
    # A new unit rounds the values, and "quantile" is steep near its ends.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_tiny_and_huge_features_side_by_side_by_hand(form):
    # Standard deviations 1e-300 and 1e300: the tiny one is nothing to the common mean square.
    X = form(np.array([[-1e-300, -1e300], [1e-300, 1e300]]))
    for kind, scale in [
        ("standard", [1e-300, 1e300]),
        ("global", [math.sqrt(0.5) * 1e300] * 2),
        ("half", [math.sqrt(0.5), math.sqrt(0.5) * 1e300]),
    ]:
        np.testing.assert_allclose(FeatureScaler(kind=kind).fit(X).scale_, scale)


def test_quantile_ranks_the_smallest_numbers_that_there_are():
    # As of probabilities that vanish.
    X = np.array([[0.0], [5e-324], [1e-321], [1e-312], [1e-300], [1e-9], [1.0]])
    between = (X[:-1] + X[1:]) / 2
    scaler = FeatureScaler(kind="quantile").fit(X)
    found = scaler.transform(np.sort(np.vstack([X, between]), axis=0))[:, 0]
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(scaler.transform([[5e-313]]), stats.norm.ppf(2.5 / 6), rtol=1e-6)


def test_quantile_ranks_narrow_features_and_unseen_values_far_away():
    X = np.array([[1.0], [2.0], [3.0]]) * 1e-300
    scaler = FeatureScaler(kind="quantile").fit(X)
    end = stats.norm.ppf(1 - 1e-7)
    found = scaler.transform([[-1e300], [0], [1e-300], [2e-300], [3e-300], [1e300]])
    np.testing.assert_allclose(found.ravel(), [-end, -end, -end, 0, end, end], atol=1e-6)


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.one_of(
            st.just(0.0),
            st.floats(1e-300, 1e300),
            st.floats(-1e300, -1e-300),
        ),
    ),
    st.sampled_from(KINDS),
)
def test_training_rows_of_any_size_stay_finite(X, kind):
    scaler = FeatureScaler(kind=kind).fit(X)
    assert np.isfinite(scaler.transform(X)).all()
    FeatureScaler.from_arrays(kind, scaler.to_arrays())


# Sparse features


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_features_are_scaled_by_the_standard_deviation_alone(X_with_zeros, form):
    expected = StandardScaler(with_mean=False).fit_transform(X_with_zeros)
    found = FeatureScaler(kind="standard").fit_transform(form(X_with_zeros))
    assert sparse.issparse(found)
    assert found.nnz == np.count_nonzero(X_with_zeros)
    np.testing.assert_allclose(found.toarray(), expected)


@pytest.mark.parametrize(("kind", "power"), [("global", 0), ("half", 0.5)])
def test_sparse_features_share_the_root_mean_square_of_all_entries(X_with_zeros, kind, power):
    expected = X_with_zeros / X_with_zeros.std(axis=0) ** power
    expected /= np.sqrt(np.square(expected).mean())
    found = FeatureScaler(kind=kind).fit_transform(sparse.csr_array(X_with_zeros))
    np.testing.assert_allclose(found.toarray(), expected)


def test_a_constant_sparse_feature_counts_with_its_distance_from_zero():
    # The first feature is 0 and 4 (deviation 2), the second always 3.
    X = sparse.csr_array([[0.0, 3.0], [4.0, 3.0]])
    common = math.sqrt((16 + 9 + 9) / 4)
    np.testing.assert_allclose(FeatureScaler("global").fit(X).scale_, [common, common])
    common = math.sqrt((16 / 2 + 9 + 9) / 4)
    np.testing.assert_allclose(FeatureScaler().fit(X).scale_, [math.sqrt(2) * common, common])
    assert FeatureScaler("standard").fit(X).scale_.tolist() == [2, 1]


@pytest.mark.parametrize("kind", LINEAR)
def test_entries_of_a_sparse_array_that_are_stored_twice_are_added(kind):
    twice = sparse.csr_array(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    once = sparse.csr_array([[3.0, 0.0], [0.0, 5.0]])
    scaler = FeatureScaler(kind=kind).fit(twice)
    expected = FeatureScaler(kind=kind).fit_transform(once).toarray()
    np.testing.assert_allclose(scaler.transform(twice).toarray(), expected)
    assert twice.nnz == 3  # the array given is not tidied up


@pytest.mark.parametrize("kind", LINEAR)
def test_what_was_learned_from_sparse_features_scales_dense_ones_too(X_with_zeros, kind):
    scaler = FeatureScaler(kind=kind).fit(sparse.csr_array(X_with_zeros))
    found = scaler.transform(X_with_zeros)
    np.testing.assert_array_equal(found, scaler.transform(sparse.csr_array(X_with_zeros)).toarray())


@pytest.mark.parametrize("kind", CENTERED)
def test_a_mean_is_not_subtracted_from_sparse_features(X, kind):
    scaler = FeatureScaler(kind=kind).fit(X)
    with pytest.raises(ParameterError, match="fitted on sparse features. Got one fitted on dense"):
        scaler.transform(sparse.csr_array(X))


def test_quantile_refuses_sparse_features(X):
    message = "'quantile' needs dense features.*Got sparse features. Give X.toarray()"
    with pytest.raises(ParameterError, match=message):
        FeatureScaler(kind="quantile").fit(sparse.csr_array(X))
    scaler = FeatureScaler(kind="quantile").fit(X)
    with pytest.raises(ParameterError, match=message):
        scaler.transform(sparse.csr_array(X))


# Arrays in and out


@pytest.mark.parametrize("kind", KINDS)
def test_a_scaler_rebuilt_from_its_file_gives_the_same_bits(X, kind, tmp_path):
    scaler = FeatureScaler(kind=kind).fit(X)
    np.savez(tmp_path / "scaler.npz", **scaler.to_arrays())
    with np.load(tmp_path / "scaler.npz", allow_pickle=False) as file:
        rebuilt = FeatureScaler.from_arrays(kind, file)
    assert rebuilt.n_features_in_ == 4
    assert rebuilt.get_params() == scaler.get_params()
    assert rebuilt.transform(X * 1.1).tobytes() == scaler.transform(X * 1.1).tobytes()
    with pytest.raises(ValueError, match="X has 3 features"):
        rebuilt.transform(X[:, :3])


@pytest.mark.parametrize("kind", LINEAR)
def test_a_scaler_of_sparse_features_is_rebuilt_too(X_with_zeros, kind):
    X = sparse.csr_array(X_with_zeros)
    scaler = FeatureScaler(kind=kind).fit(X)
    rebuilt = FeatureScaler.from_arrays(kind, scaler.to_arrays())
    assert rebuilt.transform(X).data.tobytes() == scaler.transform(X).data.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_copies_on_the_way_out_and_in(X, kind):
    scaler = FeatureScaler(kind=kind).fit(X)
    expected = scaler.transform(X)
    arrays = scaler.to_arrays()
    rebuilt = FeatureScaler.from_arrays(kind, arrays)
    for array in arrays.values():
        array[:] = 5
    np.testing.assert_array_equal(scaler.transform(X), expected)
    np.testing.assert_array_equal(rebuilt.transform(X), expected)


@pytest.mark.parametrize(
    ("kind", "arrays", "message"),
    [
        ("half", {}, "'half' is rebuilt from 'center_', 'scale_'. Got nothing"),
        ("half", {"center_": [0.0]}, "'half' is rebuilt from 'center_', 'scale_'. Got 'center_'"),
        ("quantile", {"center_": [0.0]}, "rebuilt from 'quantiles_'. Got 'center_'"),
        (
            "none",
            {"center_": [0.0], "scale_": [1.0], "width_": [1.0]},
            "Got 'center_', 'scale_', 'width_'",
        ),
        (
            "half",
            {"center_": [[0.0]], "scale_": [1.0]},
            r"'center_' must hold numbers in 1 dimension\(s\). Got the shape \(1, 1\) of float64",
        ),
        ("half", {"center_": [], "scale_": []}, r"Got the shape \(0,\)"),
        ("half", {"center_": ["a"], "scale_": [1.0]}, "'center_' must hold numbers.*of <U1"),
        ("half", {"center_": [0.0, 1.0], "scale_": [1.0]}, "for every feature. Got 2 and 1"),
        ("half", {"center_": [0.0], "scale_": [np.nan]}, "'scale_' must be finite. Got nan"),
        ("half", {"center_": [-np.inf], "scale_": [1.0]}, "'center_' must be finite. Got -inf"),
        ("half", {"center_": [0.0], "scale_": [0.0]}, "'scale_' must be above 0. Got 0.0"),
        ("quantile", {"quantiles_": [0.0]}, r"in 2 dimension\(s\). Got the shape \(1,\)"),
        ("quantile", {"quantiles_": [[0.0, np.inf]]}, "'quantiles_' must be finite. Got inf"),
        ("quantile", {"quantiles_": [[1.0], [0.0]]}, "must not fall from row to row"),
        ("max", {}, "'kind' must be one of 'half', 'standard'.*Got 'max'"),
    ],
)
def test_damaged_arrays_are_refused(kind, arrays, message):
    arrays = {name: np.array(values) for name, values in arrays.items()}
    with pytest.raises(ParameterError, match=message):
        FeatureScaler.from_arrays(kind, arrays)


# As a transformer, and as the scaling of a method


@pytest.mark.parametrize("kind", ["max", None, 3])
def test_an_unknown_kind_is_refused_in_fit(kind):
    with pytest.raises(ParameterError, match="'kind' must be one of 'half', 'standard', 'global'"):
        FeatureScaler(kind=kind).fit(SMALL)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scaler_that_is_not_fitted_says_so(kind):
    with pytest.raises(NotFittedError):
        FeatureScaler(kind=kind).transform(SMALL)
    with pytest.raises(NotFittedError):
        FeatureScaler(kind=kind).to_arrays()


@pytest.mark.parametrize("kind", KINDS)
def test_frames_keep_their_names_where_frames_are_asked_for(X, kind):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    expected = FeatureScaler(kind=kind).fit_transform(X)
    with config_context(transform_output="pandas"):
        found = FeatureScaler(kind=kind).fit_transform(frame)
    assert found.columns.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scaling_by_name_is_a_feature_scaler(X, kind):
    check_scaling(kind)
    scaler = fit_scaler(kind, X)
    assert scaler.get_params() == {"kind": kind}
    np.testing.assert_array_equal(apply_scaler(scaler, X), FeatureScaler(kind).fit_transform(X))


def test_a_transformer_given_as_scaling_is_cloned_and_fitted(X):
    given_scaler = MinMaxScaler()
    check_scaling(given_scaler)
    scaler = fit_scaler(given_scaler, X)
    assert not hasattr(given_scaler, "scale_")
    np.testing.assert_allclose(apply_scaler(scaler, X).max(axis=0), 1)


def test_dense_features_stay_dense_whatever_the_transformer_gives(X):
    to_sparse = fit_scaler(FunctionTransformer(sparse.csr_array), X)
    np.testing.assert_array_equal(apply_scaler(to_sparse, X), X)


def test_scaled_sparse_features_have_short_indices_and_every_entry_once():
    twice = sparse.csr_matrix(
        (np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    twice.indices, twice.indptr = twice.indices.astype(np.int64), twice.indptr.astype(np.int64)
    before = twice.copy()
    found = apply_scaler(fit_scaler("none", twice), twice)
    assert found.data.tolist() == [3, 5]
    assert found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(twice.data, before.data)


def test_scaled_features_are_doubles_whatever_the_transformer_gives(X):
    scaler = fit_scaler(StandardScaler(), X.astype(np.float32))
    assert apply_scaler(scaler, X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        (FeatureScaler, r"Got the class FeatureScaler: write FeatureScaler\(\)"),
        ("max", "'half', 'standard', 'global', 'quantile', 'none'. Got 'max' instead"),
        (None, "'scaling' must be one of"),
    ],
)
def test_what_is_no_scaling_is_refused(scaling, message):
    with pytest.raises(ParameterError, match=message):
        check_scaling(scaling)


@pytest.mark.parametrize("kind", KINDS)
def test_a_method_takes_every_kind_by_name_or_as_a_transformer(X, kind):
    sets = CandidateLabels.from_labels(["a", "b"] * 100)
    by_name = PLKNN(scaling=kind).fit(X, sets).predict_proba(X)
    by_hand = PLKNN(scaling=FeatureScaler(kind)).fit(X, sets).predict_proba(X)
    np.testing.assert_array_equal(by_name, by_hand)
