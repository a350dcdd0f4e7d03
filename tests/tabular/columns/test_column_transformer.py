import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone

from disambig.tabular.columns.kinds import MOST_CATEGORIES
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import (
    make_transformer,
    transform_values,
    unseen_categories,
)
from disambig.tabular.columns.values import column_values


def prepared(table, rows=None):
    """Return the plan of a table, and a transformer fitted on some of its rows."""
    plan, _ = plan_columns(table)
    values = column_values(table, plan)
    chosen = values if rows is None else values.iloc[rows]
    return plan, make_transformer(plan).fit(chosen)


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "x": ["1", "3", "", "5"],
            "color": ["red", "blue", "red", ""],
            "smoker": ["yes", "no", "no", "yes"],
            "day": ["2024-01-01", "", "2024-01-03", "2024-01-03"],
        }
    )


def test_numbers_are_filled_with_the_median_and_scaled_and_what_was_missing_is_marked():
    table = pd.DataFrame({"x": ["1", "3", "", "8"]})
    plan, transformer = prepared(table)
    features = transform_values(transformer, column_values(table, plan))
    filled = np.array([1, 3, 3, 8])
    assert_allclose(features[:, 0], (filled - filled.mean()) / filled.std())
    assert_array_equal(features[:, 1:], [[0], [0], [1], [0]])


def test_categories_are_one_hot_and_what_is_missing_is_one():
    table = pd.DataFrame({"c": ["b", "a", "", "b"]})
    plan, transformer = prepared(table)
    features = transform_values(transformer, column_values(table, plan))
    assert_array_equal(features, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_a_date_has_one_mark_for_all_its_parts(table):
    plan, transformer = prepared(table[["day"]])
    features = transform_values(transformer, column_values(table, plan))
    assert features.shape == (4, 4 + 1)
    assert_array_equal(features[:, -1], [0, 1, 0, 0])


def test_features_are_dense_doubles_with_the_same_columns_for_every_row(table):
    plan, transformer = prepared(table)
    values = column_values(table, plan)
    features = transform_values(transformer, values)
    assert type(features) is np.ndarray
    assert features.dtype == np.float64
    assert np.isfinite(features).all()
    for row in range(4):
        one = transform_values(transformer, values.iloc[[row]])
        assert_array_equal(one, features[[row]])


def test_a_global_wish_for_data_frames_changes_nothing(table):
    with config_context(transform_output="pandas"):
        plan, transformer = prepared(table)
        transformer = clone(transformer).fit(column_values(table, plan))
        assert type(transformer.transform(column_values(table, plan))) is np.ndarray


@pytest.mark.parametrize("rows", [[2], [2, 3], [1]])
def test_a_fold_may_lack_every_value_of_a_column(table, rows):
    plan, transformer = prepared(table, rows=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transform_values(transformer, column_values(table, plan))
    assert np.isfinite(features).all()
    assert len(features) == 4


def test_values_may_be_missing_that_never_were(table):
    full = table.iloc[[0, 3]].replace("", "red")
    plan, transformer = prepared(full)
    features = transform_values(transformer, column_values(table, plan))
    assert np.isfinite(features).all()


def test_new_categories_are_no_category_and_nobody_is_warned(table):
    plan, transformer = prepared(table[["color"]])
    new = column_values(pd.DataFrame({"color": ["green", "red"]}), plan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transform_values(transformer, new)
    assert_array_equal(features, [[0, 0, 0], [0, 1, 0]])


def test_new_categories_are_reported(table):
    plan, transformer = prepared(table)
    new = table.assign(color=["green", "red", "", "azure"])
    assert unseen_categories(transformer, column_values(new, plan)) == {"color": ["azure", "green"]}
    assert unseen_categories(transformer, column_values(table, plan)) == {}
    plan, transformer = prepared(table[["x"]])
    assert unseen_categories(transformer, column_values(table, plan)) == {}


def test_rare_categories_share_a_column_and_new_ones_join_them():
    cells = [f"c{i}" for i in range(100) for _ in range(3 if i < 49 else 1)]
    plan, transformer = prepared(pd.DataFrame({"c": cells + cells}))
    new = column_values(pd.DataFrame({"c": ["c0", "c99", "new"]}), plan)
    features = transform_values(transformer, new)
    assert features.shape == (3, MOST_CATEGORIES)
    assert_array_equal(features[:, -1], [0, 1, 1])
    assert unseen_categories(transformer, new) == {"c": ["new"]}


def test_a_fitted_transformer_is_saved_without_code(table):
    plan, transformer = prepared(table)
    saved = skops.io.dumps(transformer)
    untrusted = skops.io.get_untrusted_types(data=saved)
    assert set(untrusted) == {
        "disambig.methods.scaling.FeatureScaler",
        "disambig.tabular.columns.transformer.SeenRange",
        "numpy.dtype",
    }
    loaded = skops.io.loads(saved, trusted=untrusted)
    values = column_values(table, plan)
    assert_array_equal(transform_values(loaded, values), transform_values(transformer, values))
    assert unseen_categories(loaded, values) == {}


def test_the_largest_numbers_do_not_overflow():
    table = pd.DataFrame({"x": ["1e300", "-1e300", "", "1e300", "9e299"]})
    plan, transformer = prepared(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transform_values(transformer, column_values(table, plan))
    assert np.isfinite(features).all()


def test_a_number_further_out_than_all_that_was_learned_from_counts_as_the_furthest():
    learned = pd.DataFrame({"x": [4e-200, 1e-200, 2e-200]})
    plan, transformer = prepared(learned)
    far = column_values(pd.DataFrame({"x": [1e300, -1e300]}), plan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transform_values(transformer, far)
    assert_array_equal(features, transform_values(transformer, column_values(learned[:2], plan)))


def test_times_of_days_that_had_none_where_they_were_learned_from_change_nothing():
    days = pd.DataFrame({"day": ["2024-01-01", "2024-03-05", "2024-05-02"]})
    plan, transformer = prepared(days)
    timed = transform_values(transformer, column_values(days + " 13:30", plan))
    plain = transform_values(transformer, column_values(days, plan))
    assert np.abs(timed - plain).max() < 0.02  # half a day of four months


def test_a_number_that_was_constant_in_the_rows_of_a_fit_tells_nothing_later():
    plan, _ = plan_columns(pd.DataFrame({"x": [7, 7, 7, 7e9], "y": [1, 2, 4, 3]}))
    values = column_values(pd.DataFrame({"x": [7, 7, 7], "y": [1, 2, 4]}), plan)
    transformer = make_transformer(plan).fit(values)
    rare = column_values(pd.DataFrame({"x": [7e9, None], "y": [1, 1]}), plan)
    assert_array_equal(transform_values(transformer, rare)[:, 0], [0, 0])
