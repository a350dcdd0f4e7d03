"""Whatever a table holds: a plan or a TableError, and the same for text as for types."""

import datetime
import io
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from disambig._core.errors import TableError
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer
from disambig.tabular.columns.values import ColumnPlan, column_values

WORDS = st.sampled_from(["red", "blue", " blue", "7", "007", "x y z u v", "yes", "N/A", "", "3.0"])
MISSING = st.sampled_from([None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN")])
FINITE = st.floats(min_value=-1e300, max_value=1e300)
MOMENTS = st.datetimes(
    min_value=datetime.datetime(1700, 1, 1), max_value=datetime.datetime(2250, 1, 1)
)
ODD = st.sampled_from(
    [[1.0], (), {}, b"x", 1j, object(), datetime.timedelta(1), np.zeros(2), print]
)
ANY_CELL = st.one_of(
    st.text(st.characters(), max_size=12),
    WORDS,
    MISSING,
    st.floats(),
    st.integers(),
    st.integers(min_value=-(10**400), max_value=10**400),
    st.decimals(),
    st.booleans(),
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
    st.dates(),
    st.times(),
    st.builds(np.float32, st.floats(width=32)),
    st.dates().map(str),
    MOMENTS.map(pd.Timestamp),
    ODD,
)
KINDS_OF_CELLS = (
    WORDS,
    MISSING,
    st.text(st.characters(), max_size=5),
    st.one_of(st.floats(), MISSING),
    st.one_of(st.integers(), MISSING),
    st.one_of(st.integers(), st.integers(min_value=-(10**400), max_value=10**400), MISSING),
    st.one_of(st.decimals(), MISSING),
    st.one_of(st.booleans(), MISSING),
    st.one_of(st.datetimes(), st.dates(), MISSING),
    st.one_of(st.dates().map(str), MISSING),
    ANY_CELL,
)


def columns_of(cells, n_rows):
    return st.lists(cells, min_size=n_rows, max_size=n_rows)


def outcome(frame):
    """Return plan, notices and values, or the message of the error and no values."""
    try:
        plan, values, notices = plan_columns(frame)
    except TableError as error:
        return str(error), [], None
    # A column is read once while it is judged, and gives what reading it by the plan gives.
    pd.testing.assert_frame_equal(values, column_values(frame, plan))
    return plan, notices, values


@st.composite
def object_tables(draw):
    n_rows = draw(st.integers(1, 12))
    names = draw(st.lists(st.sampled_from(["id", "a", "b", "key"]), min_size=1, unique=True))
    kinds = draw(st.lists(st.sampled_from(KINDS_OF_CELLS), min_size=4, max_size=4))
    frame = pd.DataFrame(index=range(n_rows))
    for name, cells in zip(names, kinds, strict=False):
        column = np.empty(n_rows, dtype=object)
        for row, cell in enumerate(draw(columns_of(cells, n_rows))):
            column[row] = cell
        frame[name] = pd.Series(column, dtype=object)
    return frame


@settings(max_examples=100)
@given(object_tables())
def test_any_table_gives_a_plan_or_a_table_error(frame):
    plan, notices, values = outcome(frame)
    if values is None:
        assert 0 < len(plan) < 2000
        return
    assert all(isinstance(notice, str) for notice in notices)
    assert ColumnPlan.model_validate_json(plan.model_dump_json()) == plan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transformer = FeatureTransformer.fit(values, plan, scaling="standard")
        features = transformer.transform(values)
    assert np.isfinite(features).all()
    assert len(features) == len(frame)


@settings(max_examples=50)
@given(object_tables(), object_tables())
def test_prediction_on_any_other_table_gives_values_or_a_table_error(frame, other):
    try:
        plan, *_ = plan_columns(frame, features=list(frame.columns))
        values = column_values(other, plan)
    except TableError:
        return
    assert len(values) == len(other)


TYPED_CELLS = {
    "double": (FINITE, "float64"),
    "whole": (st.integers(-5, 5), "float64"),
    "nullable": (st.integers(-(2**62), 2**62), "Int64"),
    "id": (st.integers(-20, 20), "Int16"),
    "flag": (st.booleans(), "boolean"),
    "color": (WORDS, object),
    "group": (st.sampled_from("abc"), "category"),
    "code": (st.sampled_from([3, 3.0, "3", "a", 2.5, True]), object),
    "moment": (MOMENTS, "datetime64[us]"),
    "zoned": (MOMENTS.map(lambda moment: pd.Timestamp(moment, tz="UTC")), "datetime64[us, UTC]"),
    "day": (st.dates(datetime.date(1800, 1, 1)), object),
}


@st.composite
def typed_tables(draw):
    """A table of typed columns, some with missing cells."""
    n_rows = draw(st.integers(2, 15))
    columns = {}
    for name in draw(st.lists(st.sampled_from(sorted(TYPED_CELLS)), min_size=1, unique=True)):
        cells, dtype = TYPED_CELLS[name]
        some = st.one_of(cells, st.none()) if draw(st.booleans()) else cells
        columns[name] = pd.Series(draw(columns_of(some, n_rows)), dtype=dtype)
    return pd.DataFrame(columns)


def as_text(frame):
    """The table as it is read from a CSV file: every cell text, nothing parsed."""
    written = io.StringIO(frame.to_csv(index=False))
    return pd.read_csv(written, dtype=str, keep_default_na=False, skip_blank_lines=False)


@settings(max_examples=60)
@given(typed_tables())
def test_text_and_types_give_equal_plans_notices_and_values(frame):
    text = as_text(frame)
    plan, notices, values = outcome(frame)
    text_plan, text_notices, text_values = outcome(text)
    assert (plan, notices) == (text_plan, text_notices)
    if values is not None:
        assert_frame_equal(values, text_values, check_exact=True)
        # A plan from types reads text, and the other way round.
        assert_frame_equal(column_values(text, plan), values, check_exact=True)
        assert_frame_equal(column_values(frame, text_plan), values, check_exact=True)
