import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from disambig._core.errors import TableError
from disambig.tabular.columns.cells import read_column
from disambig.tabular.columns.kinds import describe_cells


def described(values, name="x", dtype=None):
    return describe_cells(read_column(pd.Series(values, name=name, dtype=dtype)))


def kind_of(values, name="x", dtype=None):
    return described(values, name, dtype).kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1.5", "", "-2e3"], "number"),
        (["1", "NA", " 2 "], "number"),
        (["1999", "2004", "2004"], "number"),
        ([1.5, None, 2.0], "number"),
        ([Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), 3], "number"),
        (["True", "false", "TRUE"], "boolean"),
        (["y", "N", None], "boolean"),
        (["t", "f"], "boolean"),
        ([True, None, False], "boolean"),
        (["yes", "false", "yes"], "category"),
        (["2024-01-31", "", "2023-12-01T10:00Z"], "date"),
        (["2024-01-31 10:00:00.5+02:00", "2024-01-31"], "date"),
        ([datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 5)], "date"),
        (["2024-02-30", "2024-02-30", "2024-02-28"], "category"),
        (["31.01.2024", "2024-01-31", "31.01.2024"], "category"),
        (["a", "b", "a"], "category"),
        (["a", "b", "c"], "identifier"),
        (["5", "5.0", "5"], "constant"),
        (["a", "a"], "constant"),
        (["a", None], "category"),
        (["", "NA", None], "empty"),
        ([np.nan, None], "empty"),
        (["1_000", "2_000", "1_000"], "category"),
        (["NAN", "1", "NAN"], "category"),
    ],
)
def test_a_column_is_what_its_cells_are(values, kind):
    assert kind_of(values) == kind
    assert kind_of(values, dtype=object) == kind


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.5, None, 3], dtype="Float64"),
        pd.Series([1, 0, 5], dtype="Sparse[int]"),
        pd.Series([1, 5, 2], dtype="uint64"),
        pd.Series([1, None, 2], dtype="int64[pyarrow]"),
        pd.Series([1, "2", 3.5], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_numbers_of_every_type_are_numbers(column):
    assert describe_cells(read_column(column)).kind == "number"


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.to_datetime(["2024-01-31", None])),
        pd.Series(pd.to_datetime(["2024-01-31", "2024-02-01"])).dt.tz_localize("Asia/Tokyo"),
        pd.Series(pd.to_datetime(["2024-01-31", None])).astype("category"),
        pd.Series(pd.to_datetime(["2024-01-31", None])).astype("timestamp[us][pyarrow]"),
        pd.Series([datetime.date(2024, 1, 31), None]).astype("date32[pyarrow]"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_dates_of_every_type_are_dates(column):
    assert describe_cells(read_column(column)).kind == "date"
    assert describe_cells(read_column(column)).date_format == "ISO8601"


@pytest.mark.parametrize(
    ("values", "date_format"),
    [
        (["2024/1/31", "2024/12/01"], "%Y/%m/%d"),
        (["31.1.2024", "01.12.2024"], "%d.%m.%Y"),
        (["1/31/2024", "12/01/2024"], "%m/%d/%Y"),
        (["31/1/2024", "01/12/2024"], "%d/%m/%Y"),
    ],
)
def test_the_format_of_dates_is_found(values, date_format):
    found = described(values)
    assert (found.kind, found.date_format, found.remark) == ("date", date_format, "")


def test_the_month_is_first_where_dates_can_be_read_both_ways_and_people_are_told():
    found = described(["1/2/2024", "3/4/2024"], name="day")
    assert found.date_format == "%m/%d/%Y"
    assert "dates in 'day'" in found.remark
    assert "month is taken to be first" in found.remark


def test_long_values_are_free_text():
    reviews = ["I liked it very much", "not worth the money at all", "would buy it once more"]
    assert kind_of(reviews) == "text"
    assert kind_of(reviews * 40) == "category"
    assert kind_of([f"review number {i} of many" for i in range(100)] * 10) == "text"


@pytest.mark.parametrize("name", ["Anna Lee {}", "part {}", "{}"])
def test_many_short_values_are_names_whether_some_repeat_or_not(name):
    names = [name.format(chr(97 + i % 26) * 3 + chr(97 + i // 26)) for i in range(60)]
    assert kind_of([*names, names[1]]) == "names"
    alone = described(names)
    assert alone.kind == ("identifier" if name == "{}" else "names")
    assert alone.feature == ("category" if name == "{}" else "text")


@pytest.mark.parametrize(
    "sentence",
    ["第{}个包裹今天早上已经送到了", "ฉันได้รับพัสดุ {} ชิ้นเมื่อเช้านี้", "{}つの荷物が今朝届きました"],
)
def test_sentences_without_spaces_are_text(sentence):
    numbers = "一二三四五六七八九十"
    cells = [sentence.format(a + b) for a in numbers for b in numbers]
    assert kind_of(cells) == "text"


def test_names_of_a_script_without_spaces_are_names():
    assert kind_of(["张伟", "王秀英", "李娜", "刘洋"]) == "names"
    assert kind_of([f"w{i}" for i in range(15)] + ["w1"]) == "category"


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "Id",
        "user_id",
        "userId",
        "PassengerId",
        "customerid",
        "uuid",
        "id_2",
        "index",
        "key",
        "row",
        "Unnamed:0",
        "sample_no",
        "Unnamed:_0.1",
        "row-number",
        "primary_key",
        "ID#",
    ],
)
def test_names_of_identifiers_are_known(name):
    assert kind_of(["17", "4", "99"], name=name) == "identifier"
    assert kind_of(["17", "4", "4"], name=name) == "number"
    assert kind_of(["17", "4", "1.5"], name=name) == "number"


@pytest.mark.parametrize(
    "name",
    [
        "width",
        "humidity",
        "acid",
        "grid",
        "idle_time",
        "paid",
        "monkeys",
        "body_mass_index",
        "keyboard",
        "rows",
        "number",
        "x",
        "_",
        "значение",
        "valid",
        "Solids",
        "arrow",
    ],
)
def test_other_names_are_not_those_of_identifiers(name):
    assert kind_of(["17", "4", "99"], name=name) == "number"


def test_integers_that_doubles_cannot_tell_apart_are_still_distinct():
    large = [2**60 + i for i in range(20)]
    assert kind_of(large, name="id") == "identifier"
    assert kind_of([str(number) for number in large], name="id") == "identifier"


@pytest.mark.parametrize("start", [0, 1, -3])
def test_an_unbroken_range_is_a_counter_even_if_shuffled(start):
    numbers = np.random.default_rng(0).permutation(np.arange(start, start + 10))
    assert kind_of(numbers) == "counter"
    assert kind_of([f"{number}.0" for number in numbers]) == "counter"
    assert kind_of(numbers[:9]) == "number"
    assert kind_of([*numbers[:9], start + 20]) == "number"
    assert kind_of([*numbers, None]) == "number"


def test_integers_that_rise_or_fall_from_row_to_row_are_a_counter_gaps_or_not():
    numbers = np.cumsum(np.arange(1, 11))
    assert kind_of(numbers) == kind_of(-numbers) == kind_of(list(map(str, numbers))) == "counter"
    assert kind_of(numbers + 0.5) == "number"
    assert kind_of(numbers[:9]) == "number"
    assert kind_of([*numbers, numbers[-1]]) == "number"
    assert kind_of([*numbers, None]) == "number"


@pytest.mark.parametrize("dtype", [object, "str"])
@pytest.mark.parametrize("times", [1, 10_000])  # long columns are read in another way
def test_digits_with_zeros_before_them_are_codes(dtype, times):
    assert kind_of(["01001", "", "90210", " 01001"] * times, dtype=dtype) == "category"
    assert kind_of(["0", "0.5", "-0.5", "10"] * times, dtype=dtype) == "number"
    assert kind_of(["01.5", "10.25", "01.5"] * times, dtype=dtype) == "number"
    assert kind_of(["007"] * 2 * times, dtype=dtype) == "constant"


def test_codes_are_never_free_text_and_identifiers_if_all_differ():
    codes = [f"{number:05d}" for number in range(0, 9000, 7)]
    assert kind_of(codes) == "identifier"
    assert kind_of([*codes, codes[0]]) == "category"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 1], "category"),
        ([1.0, None, 2.0, 2.0], "category"),
        (["1", "2", "1"], "category"),
        ([1, 2, 3], "identifier"),
        ([1, 1], "constant"),
        ([None, None], "empty"),
    ],
)
def test_numbers_that_pandas_has_as_categories_are_categories(values, kind):
    assert kind_of(values, dtype="category") == kind


@pytest.mark.parametrize("values", [[1, 2, 3], ["a b c d e", "f g h i j"], ["1e400", "1"]])
def test_what_is_known_to_be_a_category_is_one(values):
    assert describe_cells(read_column(pd.Series(values)), category=True).kind == "category"


def test_identifiers_counters_and_text_can_be_features():
    assert described(["a", "b"]).feature == "category"
    assert described([5, 7], name="id").feature == "number"
    assert described(range(20)).feature == "number"
    assert described(["four words at least", "and some more of them"]).feature == "text"


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e400", "1e301", float("inf"), 10**400])
def test_numbers_beyond_reach_are_refused_with_column_and_row(value):
    column = pd.Series([1, 2, value], name="mass", dtype=object)
    with pytest.raises(TableError, match="Column 'mass' holds numbers that are inf.* \\(row 3: "):
        describe_cells(read_column(column))


def test_integers_of_thousands_of_digits_are_refused_too():
    with pytest.raises(TableError, match="'mass' holds .*row 2: an integer of very many digits"):
        described([1, 10**6000], name="mass", dtype=object)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], "'e' holds lists or mappings .row 2.: .*one number per column"),
        ((1, 2), "'e' holds lists"),
        ({"a": 1}, "'e' holds lists or mappings"),
        (np.zeros(3), "'e' holds lists"),
        (b"abc", "'e' holds bytes .row 2."),
        (1j, "'e' holds complex numbers"),
        (datetime.timedelta(1), "'e' holds time spans"),
        (datetime.time(1), "'e' holds cells of the type time"),
        (pd.Period("2024-01"), "'e' holds cells of the type Period"),
        (pd.Interval(0, 1), "'e' holds cells of the type Interval"),
        (object(), "'e' holds cells of the type object .row 2."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_cells_that_no_feature_is_made_of_are_refused(value, message):
    column = pd.Series([None, None, "a"], name="e", dtype=object)
    column.iat[1] = value
    with pytest.raises(TableError, match=message):
        describe_cells(read_column(column))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1j, 2]),
        pd.Series(pd.to_timedelta(["1D", "2D"])),
        pd.Series(pd.period_range("2024", periods=2, freq="D")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ],
    ids=lambda column: str(column.dtype),
)
def test_types_that_no_feature_is_made_of_are_refused(column):
    with pytest.raises(TableError, match="A feature must be made of numbers"):
        describe_cells(read_column(column))


def test_a_cell_that_spoils_a_column_of_numbers_is_pointed_to():
    found = described(["1.5", "2", "two", "4", "2"], name="age")
    assert found.kind == "category"
    assert "Most cells of 'age' look like numbers, but 'two' (row 3)" in found.remark
    assert "'2.5' (row 2)" in described(["1,5", "2.5", "3,5", "1,5"]).remark
    assert "'old' (row 3)" in described(["1,5", "?", "old", "2,5", "3,25"] * 2).remark
    assert "'<3' (row 2) cannot be read like" in described(["(1.5)", "<3", "2", "-$3"]).remark
    assert described(["red", "green", "red"]).remark == ""


def test_numbers_with_a_word_behind_them_are_pointed_to():
    weights = described([f"{number / 4} kg" for number in range(30)], name="weight")
    assert weights.kind == "identifier"
    assert "numbers, but '0.0 kg' (row 1) cannot be read as one, so" in weights.remark
    assert described(["1 cat", "big cat", "old dog"]).remark == ""


def test_long_columns_are_understood_like_short_ones():
    n_rows = 12_000
    for cells in (["1.5", "NA", " 3 "], ["+1", "2", "3"], ["1", "2", "x"], ["1", "NAN", "2"]):
        short = described(cells * 2)
        assert described(cells * (n_rows // 3)) == short
    assert described(["1"] * n_rows + ["x"]).kind == "category"
    with pytest.raises(TableError, match=".row 12,001: '1e999'."):
        described(["1", "2"] * (n_rows // 2) + ["1e999"])
