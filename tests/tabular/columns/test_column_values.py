import datetime
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from disambig._core.errors import TableError
from disambig.tabular.columns.misfits import MisfitError
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import ColumnPlan, PlannedColumn, column_values, value_names


def plan_of(**kinds):
    return ColumnPlan(
        columns=tuple(
            PlannedColumn(name=name, kind=kind, date_format="ISO8601" if kind == "date" else None)
            for name, kind in kinds.items()
        )
    )


def values_of(cells, kind):
    column = pd.Series(cells, dtype=None if len(cells) else object)
    return column_values(pd.DataFrame({"x": column}), plan_of(x=kind))


@pytest.mark.parametrize("cells", [["1.50", "NA", " 2"], [1.5, None, 2], [1.5, "", "2"]])
def test_numbers_are_doubles_whatever_they_came_as(cells):
    values = values_of(cells, "number")["x"]
    assert values.dtype == np.float64
    assert_array_equal(values, [1.5, np.nan, 2])


def test_numbers_in_text_are_the_doubles_they_were_written_from():
    numbers = np.random.default_rng(0).normal(size=20_000) ** 9
    text = values_of([repr(float(number)) for number in numbers], "number")["x"]
    assert_array_equal(text, numbers)
    assert_array_equal(
        values_of([repr(float(n)) for n in numbers[:99]], "number")["x"], numbers[:99]
    )


@pytest.mark.parametrize(
    "cells",
    [["Yes", "no", ""], [True, False, None], ["1", "0", "NA"], [1.0, 0, None], ["T", "f", None]],
)
def test_booleans_are_zero_and_one_whatever_they_came_as(cells):
    assert_array_equal(values_of(cells, "boolean")["x"], [1.0, 0.0, np.nan])


@pytest.mark.parametrize(
    "cells", [["3", "3.0", "", "a"], [3, 3.0, None, "a"], ["3.00", 3, "NA", "a"]]
)
def test_a_number_is_the_same_category_however_it_is_written(cells):
    values = values_of(cells, "category")["x"]
    assert values.dtype == object
    assert values.tolist() == ["3", "3", None, "a"]


def test_categories_can_come_as_numbers_booleans_and_dates():
    assert values_of([3.0, 2.5, None], "category")["x"].tolist() == ["3", "2.5", None]
    assert values_of([2**60 + 1, 2], "category")["x"].tolist() == [str(2**60 + 1), "2"]
    assert values_of([True, False], "category")["x"].tolist() == ["True", "False"]
    days = pd.to_datetime(["2024-01-31", None])
    assert values_of(days, "category")["x"].tolist() == ["2024-01-31", None]
    assert values_of(["007", "7"], "category")["x"].tolist() == ["007", "7"]


def test_dates_are_days_day_of_year_weekday_and_hour():
    values = values_of(["1970-01-02 12:00", "2024-12-31", "", "1969-12-31T23:00+01:00"], "date")
    assert values.columns.tolist() == ["x (days)", "x (day of year)", "x (weekday)", "x (hour)"]
    assert_array_equal(
        values,
        [
            [1.5, 2, 4, 12],
            [(datetime.date(2024, 12, 31) - datetime.date(1970, 1, 1)).days, 366, 1, 0],
            [np.nan] * 4,
            [-1 + 22 / 24, 365, 2, 22],
        ],
    )


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_typed_dates_of_every_resolution_are_read_like_text(unit):
    text = ["1677-09-22 05:06:07", "2024-02-29 23:59:59", None]
    typed = pd.Series(pd.to_datetime(text)).astype(f"datetime64[{unit}]")
    assert_frame_equal(values_of(typed, "date"), values_of(text, "date"), check_exact=True)


def test_dates_with_a_zone_are_moved_to_utc():
    typed = pd.Series(pd.to_datetime(["2024-01-01 08:00"])).dt.tz_localize("Asia/Tokyo")
    assert values_of(typed, "date").loc[0, "x (hour)"] == 23
    assert_frame_equal(values_of(typed, "date"), values_of(["2024-01-01 08:00+09:00"], "date"))


def test_dates_are_read_in_the_format_of_the_plan():
    table = pd.DataFrame({"day": ["1/2/2024", "31/1/2024"]})
    plan, *_ = plan_columns(table)
    later = column_values(pd.DataFrame({"day": ["3/2/2024"]}), plan)
    assert later.loc[0, "day (day of year)"] == 31 + 3
    with pytest.raises(TableError, match="'day' must hold dates.*'2024-02-03' .row 1.*31/12/2024"):
        column_values(pd.DataFrame({"day": ["2024-02-03"]}), plan)


def test_names_of_date_parts_give_way_to_columns():
    plan = plan_of(day="date", **{"day (hour)": "number"})
    assert value_names(plan)[0][-1] == "day (hour)'"
    values = column_values(pd.DataFrame({"day": ["2024-01-01"], "day (hour)": [5]}), plan)
    assert values.loc[0, ["day (hour)", "day (hour)'"]].tolist() == [5, 0]


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        (["1", "abc", "2"], "number", "'x' must hold numbers.*'abc' .row 2."),
        (["1", "1_0", "x"], "number", "'1_0' .2 rows, the first is row 2."),
        ([True, False], "number", "'x' must hold numbers.*Got True"),
        (["1", "inf"], "number", "'x' holds numbers that are inf.*.row 2: 'inf'."),
        ([1.0, np.inf], "number", "'x' holds numbers that are inf.*.row 2: inf."),
        (["yes", "maybe"], "boolean", "'x' must hold booleans.*'maybe' .row 2.*true or false"),
        ([1, 2], "boolean", "'x' must hold booleans.*Got 2 .row 2."),
        (["2024-01-01", "soon"], "date", "'x' must hold dates.*'soon' .row 2.*2024-12-31"),
        ([1999, 2000], "date", "'x' must hold dates.*1999"),
        (["x" * 1000], "number", r"'x{57}\.\.\.' "),
        ([[1]], "number", "'x' holds lists"),
    ],
)
def test_cells_that_do_not_fit_the_plan_are_refused(cells, kind, message):
    with pytest.raises(TableError, match=message):
        values_of(cells, kind)


def test_missing_columns_are_named_all_at_once():
    table = pd.DataFrame({"height": [1], "c": [2]})
    with pytest.raises(TableError, match="no columns 'hieght', 'd'.*Did you mean 'height'"):
        column_values(table, plan_of(hieght="number", c="number", d="number"))
    with pytest.raises(TableError, match="and 992 more, which should be features of the model"):
        column_values(table, plan_of(**{f"x{i}": "number" for i in range(1000)}))


def test_other_columns_and_their_order_do_not_matter():
    plan = plan_of(a="number", b="category")
    table = pd.DataFrame({"b": ["u", "v"], "extra": [[1], [2]], "a": [1, 2]}, index=[7, 7])
    values = column_values(table, plan)
    assert values.columns.tolist() == ["a", "b"]
    assert values.index.tolist() == [0, 1]
    assert values.to_numpy().tolist() == [[1.0, "u"], [2.0, "v"]]


@pytest.mark.parametrize("kind", ["number", "category", "boolean", "date"])
@pytest.mark.parametrize("cells", [[], [None, ""]])
def test_columns_without_values_are_missing_throughout(kind, cells):
    values = values_of(cells, kind)
    assert len(values) == len(cells)
    assert values.isna().all(axis=None)


def test_the_table_is_left_as_it_was():
    table = pd.DataFrame({"a": [" x ", "NA", None], "b": pd.Series([1, " y", None], dtype=object)})
    before = table.copy(deep=True)
    column_values(table, plan_of(a="category", b="category"))
    assert_frame_equal(table, before)


def test_all_columns_that_do_not_hold_what_they_held_are_named_at_once():
    plan = plan_of(a="number", b="number", c="boolean", d="number")
    new = {"a": ["1,5", "2,5"], "b": ["x", "1"], "c": ["ja", None], "d": [[1], [2]]}
    with pytest.raises(TableError) as caught:
        column_values(pd.DataFrame(new), plan)
    assert str(caught.value) == (
        "4 columns do not hold what they held in the training table. 'a' (got '1,5' in 2 rows, the "
        "first is row 1), 'b' (got 'x' in row 1) must hold numbers: write them like 1234.5; 'c' "
        "(got 'ja' in row 1) must hold booleans: write true or false; 'd' (2 rows, the first is "
        "row 1) cannot hold lists or mappings: embeddings and other lists must be spread out, one "
        "number per column. Leave cells empty where nothing is known."
    )


def test_the_error_of_a_column_survives_pickling():
    with pytest.raises(MisfitError) as caught:
        column_values(pd.DataFrame({"a": ["x"]}), plan_of(a="number"))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
