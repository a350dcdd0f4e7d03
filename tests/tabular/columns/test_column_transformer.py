import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer

from disambig.methods.scaling import FeatureScaler
from disambig.tabular.columns.kinds import MOST_CATEGORIES
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer, TransformerState
from disambig.tabular.columns.values import CategoryCodes, column_values, value_names


def prepared(table, rows=None):
    """Return the plan of a table, and a transformer fitted on some of its rows."""
    plan, *_ = plan_columns(table)
    values = column_values(table, plan)
    chosen = values if rows is None else values.iloc[rows]
    return plan, FeatureTransformer.fit(chosen, plan, scaling="standard")


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
    features = transformer.transform(column_values(table, plan))
    filled = np.array([1, 3, 3, 8])
    assert_allclose(features[:, 0], (filled - filled.mean()) / filled.std())
    assert_array_equal(features[:, 1:], [[0], [0], [1], [0]])


def test_categories_are_one_hot_and_what_is_missing_is_one():
    table = pd.DataFrame({"c": ["b", "a", "", "b"]})
    plan, transformer = prepared(table)
    features = transformer.transform(column_values(table, plan))
    assert_array_equal(features, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_a_date_has_one_mark_for_all_its_parts(table):
    plan, transformer = prepared(table[["day"]])
    features = transformer.transform(column_values(table, plan))
    assert features.shape == (4, 4 + 1)
    assert_array_equal(features[:, -1], [0, 1, 0, 0])


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_parts_of_a_date_that_begin_again_count_half_where_they_are_scaled(scaling):
    moments = pd.date_range("2024-01-01", periods=400, freq="31h")
    plan, *_ = plan_columns(pd.DataFrame({"at": moments}))
    values = column_values(pd.DataFrame({"at": moments}), plan)
    features = FeatureTransformer.fit(values, plan, scaling=scaling).transform(values)
    days = ((moments - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)).to_numpy()
    parts = np.column_stack([days, moments.day_of_year, moments.day_of_week, moments.hour])
    standardised = (parts - parts.mean(axis=0)) / parts.std(axis=0)
    expected = parts if scaling == "none" else standardised * [1, 0.5, 0.5, 0.5]
    assert_allclose(features, expected, atol=1e-9)


def test_a_number_with_a_heavy_tail_has_the_normal_score_of_its_rank_beside_it():
    generator = np.random.default_rng(0)
    sizes = generator.lognormal(sigma=2, size=300)
    sizes[::7] = np.nan
    plan, transformer = prepared(pd.DataFrame({"x": sizes}))
    new = pd.DataFrame({"x": [np.nanmedian(sizes), np.nanmin(sizes), 1e9, np.nan]})
    features = transformer.transform(column_values(new, plan))
    # The number, its score, and a mark for gaps. Scores end at 3, and a gap is the median.
    assert_allclose(features[:, 1], [0, -3, 3, 0], atol=0.001)
    assert_array_equal(features[:, 2], [0, 0, 0, 1])
    present = np.sort(sizes[~np.isnan(sizes)])
    at_84 = np.quantile(present, 0.8413447)  # one deviation above the mean of a normal distribution
    features = transformer.transform(column_values(pd.DataFrame({"x": [at_84]}), plan))
    assert_allclose(features[0, 1], 1, atol=0.01)


def test_a_value_that_stands_out_is_marked_and_a_gap_is_not_taken_for_it():
    generator = np.random.default_rng(0)
    rain = np.where(generator.random(200) < 0.6, 0, generator.gamma(4, size=200))
    table = pd.DataFrame({"rain": rain})
    table.loc[3, "rain"] = np.nan
    plan, transformer = prepared(table)
    assert transformer.state.spikes == {"rain": 0.0}
    assert transformer.medians == [0]  # what fills the gap
    new = pd.DataFrame({"rain": [0, 2.5, np.nan, -1]})
    marks = transformer.transform(column_values(new, plan))[:, 1:]
    # Below the range is the lowest that was seen, which is 0 here.
    assert_array_equal(marks, [[1, 0], [0, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize("kind", ["uniform", "few values", "two spikes", "boolean"])
def test_ordinary_numbers_are_one_feature(kind):
    generator = np.random.default_rng(0)
    columns = {
        "uniform": generator.random(300),
        "few values": generator.integers(0, 8, 300) ** 6,  # a heavy tail of eight values
        "two spikes": np.where(np.arange(300) % 3, np.arange(300) % 2, generator.normal(size=300)),
        "boolean": np.arange(300) == 7,
    }
    _, transformer = prepared(pd.DataFrame({"x": columns[kind]}))
    assert transformer.n_features == 1


def test_numbers_whose_cubes_overflow_have_a_tail_too():
    sizes = np.append(np.linspace(1, 2, 99), 1e299)
    plan, transformer = prepared(pd.DataFrame({"x": sizes}))
    assert transformer.state.tails == ["x"]
    assert np.isfinite(transformer.transform(column_values(pd.DataFrame({"x": sizes}), plan))).all()


def test_features_are_dense_doubles_with_the_same_columns_for_every_row(table):
    plan, transformer = prepared(table)
    values = column_values(table, plan)
    features = transformer.transform(values)
    assert type(features) is np.ndarray
    assert features.dtype == np.float64
    assert np.isfinite(features).all()
    for row in range(4):
        one = transformer.transform(values.iloc[[row]])
        assert_array_equal(one, features[[row]])


@pytest.mark.parametrize("rows", [[2], [2, 3], [1]])
def test_a_fold_may_lack_every_value_of_a_column(table, rows):
    plan, transformer = prepared(table, rows=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transformer.transform(column_values(table, plan))
    assert np.isfinite(features).all()
    assert len(features) == 4


def test_values_may_be_missing_that_never_were(table):
    full = table.iloc[[0, 3]].replace("", "red")
    plan, transformer = prepared(full)
    features = transformer.transform(column_values(table, plan))
    assert np.isfinite(features).all()


def test_new_categories_are_no_category_and_nobody_is_warned(table):
    plan, transformer = prepared(table[["color"]])
    new = column_values(pd.DataFrame({"color": ["green", "red"]}), plan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transformer.transform(new)
    assert_array_equal(features, [[0, 0, 0], [0, 1, 0]])


def test_new_categories_are_reported(table):
    plan, transformer = prepared(table)
    new = table.assign(color=["green", "red", "", "azure"])
    assert transformer.unseen_categories(column_values(new, plan)) == {"color": ["azure", "green"]}
    assert transformer.unseen_categories(column_values(table, plan)) == {}
    plan, transformer = prepared(table[["x"]])
    assert transformer.unseen_categories(column_values(table, plan)) == {}


def test_rare_categories_share_a_column_and_new_ones_join_them():
    cells = [f"c{i}" for i in range(100) for _ in range(3 if i < 49 else 1)]
    plan, transformer = prepared(pd.DataFrame({"c": cells + cells}))
    new = column_values(pd.DataFrame({"c": ["c0", "c99", "new"]}), plan)
    features = transformer.transform(new)
    assert features.shape == (3, MOST_CATEGORIES)
    assert_array_equal(features[:, -1], [0, 1, 1])
    assert transformer.unseen_categories(new) == {"c": ["new"]}


def by_scikit_learn(plan, values, *, halved, tails):
    """Return the same features by a pipeline of scikit-learn."""
    names = list(zip(plan.columns, value_names(plan), strict=True))
    numbers = [name for column, some in names if column.kind != "category" for name in some]
    first = [some[0] for column, some in names if column.kind != "category"]
    categories = [some[0] for column, some in names if column.kind == "category"]
    weights = np.where(np.isin(numbers, halved), 0.5, 1)
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        FeatureScaler(kind="standard"),
        FunctionTransformer(lambda X: X * weights),
    )
    scores = make_pipeline(
        QuantileTransformer(n_quantiles=len(values), output_distribution="normal"),
        FunctionTransformer(lambda X: np.clip(X, -3, 3)),
    )
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    return ColumnTransformer(
        [
            ("numbers", scaled, numbers),
            ("scores", scores, tails),
            ("missing", MissingIndicator(error_on_new=False), first),
            ("categories", encoder, categories),
        ],
        sparse_threshold=0,
    ).fit(values)


@pytest.mark.parametrize("n_categories", [3, MOST_CATEGORIES - 1, MOST_CATEGORIES + 30])
def test_features_are_what_scikit_learn_gives(n_categories):
    generator = np.random.default_rng(n_categories)
    count = 400
    table = pd.DataFrame(
        {
            "size": np.where(generator.random(count) < 0.2, np.nan, generator.normal(size=count)),
            "weight": generator.lognormal(3, 2, size=count),
            "kind": [
                f"k{int(number)}" for number in generator.exponential(20, count) % n_categories
            ],
            "other": generator.choice(["a", "b", None], size=count),
            "day": pd.date_range("2024-01-01", periods=count, freq="37h").strftime("%Y-%m-%d"),
        }
    )
    plan, transformer = prepared(table.iloc[:300])
    values = column_values(table, plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of categories that were not there before
        expected = by_scikit_learn(
            plan,
            values.iloc[:300],
            halved=["day (day of year)", "day (weekday)", "day (hour)"],
            tails=["weight"],
        )
        # What is further out than anything that was seen is another matter.
        inside = (values["weight"] <= values["weight"][:300].max()).to_numpy()
        rows = values.iloc[:300][inside[:300]]
        assert_allclose(transformer.transform(rows), expected.transform(rows), atol=1e-9)


def saved(transformer):
    """Return what a file holds: the state by way of JSON, and copies of the arrays."""
    state = TransformerState.model_validate_json(transformer.state.model_dump_json())
    return state, {name: array.copy() for name, array in transformer.to_arrays().items()}


def shaped_table():
    """Return a table with a spike, a heavy tail, a date and gaps."""
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "rain": np.where(generator.random(80) < 0.5, 0, generator.normal(size=80)),
            "size": np.where(generator.random(80) < 0.1, np.nan, generator.lognormal(0, 2, 80)),
            "at": pd.date_range("2024-03-01", periods=80, freq="101h"),
        }
    )


def test_a_rebuilt_transformer_gives_the_same_bits_of_shaped_numbers():
    table = shaped_table()
    plan, transformer = prepared(table)
    state = transformer.state
    assert (list(state.spikes), state.tails) == (["rain"], ["size"])
    rebuilt = FeatureTransformer.from_arrays(plan, *saved(transformer))
    values = column_values(table, plan)
    assert_array_equal(rebuilt.transform(values), transformer.transform(values))
    assert rebuilt.n_features == transformer.n_features == transformer.transform(values).shape[1]


def test_a_transformer_of_version_0_2_0_gives_the_features_of_then():
    table = shaped_table()
    plan, transformer = prepared(table)
    state, arrays = saved(transformer)
    # Its file says nothing of tails and spikes, and all numbers have their deviation as scale.
    old = json.loads(state.model_dump_json(exclude={"tails", "spikes"}))
    old_state = TransformerState.model_validate_json(json.dumps(old))
    old_arrays = {name: array for name, array in arrays.items() if not name.startswith("ranks.")}
    old_arrays["scaler.scale_"] = arrays["scaler.scale_"] * [1, 1, 1, 0.5, 0.5, 0.5]
    values = column_values(table, plan)
    features = FeatureTransformer.from_arrays(plan, old_state, old_arrays).transform(values)
    numbers = values.fillna(values.median()).to_numpy()
    centred = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    assert_allclose(features[:, : numbers.shape[1]], centred, atol=1e-9)
    assert features.shape[1] == numbers.shape[1] + 1  # the mark of gaps


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"tails": ["size", "size"]}, "a column that is not a number"),
        ({"tails": ["at (days)"]}, "a column that is not a number"),
        ({"spikes": {"at (days)": 0.0}}, "a column that is not a number"),
        ({"tails": ["size", "rain"]}, "every number with a heavy tail needs a scale"),
        ({"tails": []}, "nothing is to be scaled"),
    ],
)
def test_a_state_that_does_not_belong_to_its_plan_is_refused(changed, reason):
    plan, transformer = prepared(shaped_table())
    state, arrays = saved(transformer)
    with pytest.raises(ValueError, match=reason):
        FeatureTransformer.from_arrays(plan, state.model_copy(update=changed), arrays)


@pytest.mark.parametrize("columns", [["x", "color", "smoker", "day"], ["x"], ["color"]])
def test_a_rebuilt_transformer_gives_the_same_bits(table, columns):
    plan, transformer = prepared(table[columns])
    values = column_values(table, plan)
    rebuilt = FeatureTransformer.from_arrays(plan, *saved(transformer))
    assert_array_equal(rebuilt.transform(values), transformer.transform(values))
    assert rebuilt.unseen_categories(values) == {}
    assert rebuilt.n_features == transformer.n_features


def test_arrays_that_no_fit_gives_are_refused(table):
    plan, transformer = prepared(table)
    state, arrays = saved(transformer)
    for name, array in arrays.items():
        for wrong in (None, array[1:], np.stack([array, array]), array.astype(np.float32)):
            if wrong is not None and name.startswith("scaler") and wrong.dtype == np.float32:
                continue
            changed = {**arrays, name: wrong}
            if wrong is None:
                del changed[name]
            with pytest.raises(ValueError, match="needs|must|rebuilt|range"):
                FeatureTransformer.from_arrays(plan, state, changed)
    with pytest.raises(ValueError, match="do not belong to a transformer"):
        FeatureTransformer.from_arrays(plan, state, arrays | {"more": np.ones(1)})
    with pytest.raises(ValueError, match="does not hold its median"):
        FeatureTransformer.from_arrays(plan, state, arrays | {"low": arrays["high"] + 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gaps": ["color"]}, "not numbers of the plan"),
        ({"gaps": ["x", "x"]}, "not numbers of the plan"),
        ({"gaps": ["other"]}, "not numbers of the plan"),
        ({"categories": {}}, "are not those of its plan"),
        ({"categories": {"x": CategoryCodes(frequent=["a"])}}, "are not those of its plan"),
        ({"categories": {"color": CategoryCodes(frequent=["a", "a"])}}, "there twice"),
        ({"categories": {"color": CategoryCodes(frequent=["a"], rare=["a"])}}, "there twice"),
    ],
)
def test_a_state_of_other_columns_is_refused(table, change, message):
    plan, transformer = prepared(table)
    state, arrays = saved(transformer)
    with pytest.raises(ValueError, match=message):
        FeatureTransformer.from_arrays(plan, state.model_copy(update=change), arrays)


def test_the_largest_numbers_do_not_overflow():
    table = pd.DataFrame({"x": ["1e300", "-1e300", "", "1e300", "9e299"]})
    plan, transformer = prepared(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transformer.transform(column_values(table, plan))
    assert np.isfinite(features).all()


def test_a_number_further_out_than_all_that_was_learned_from_counts_as_the_furthest():
    learned = pd.DataFrame({"x": [4e-200, 1e-200, 2e-200]})
    plan, transformer = prepared(learned)
    far = column_values(pd.DataFrame({"x": [1e300, -1e300]}), plan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = transformer.transform(far)
    assert_array_equal(features, transformer.transform(column_values(learned[:2], plan)))


def test_times_of_days_that_had_none_where_they_were_learned_from_change_nothing():
    days = pd.DataFrame({"day": ["2024-01-01", "2024-03-05", "2024-05-02"]})
    plan, transformer = prepared(days)
    timed = transformer.transform(column_values(days + " 13:30", plan))
    plain = transformer.transform(column_values(days, plan))
    assert np.abs(timed - plain).max() < 0.02  # half a day of four months


def test_a_number_that_was_constant_in_the_rows_of_a_fit_tells_nothing_later():
    plan, *_ = plan_columns(pd.DataFrame({"x": [7, 7, 7, 7e9], "y": [1, 2, 4, 3]}))
    values = column_values(pd.DataFrame({"x": [7, 7, 7], "y": [1, 2, 4]}), plan)
    transformer = FeatureTransformer.fit(values, plan, scaling="standard")
    rare = column_values(pd.DataFrame({"x": [7e9, None], "y": [1, 1]}), plan)
    assert_array_equal(transformer.transform(rare)[:, 0], [0, 0])
