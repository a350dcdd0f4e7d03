import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.columns.numbers import GAP_WORDS
from disambig.tabular.columns.plan import FeatureColumns, plan_columns
from disambig.tabular.columns.values import ColumnPlan, PlannedColumn, column_values


def planned(columns, **options):
    frame = pd.DataFrame({name: pd.Series(cells, dtype="str") for name, cells in columns.items()})
    return plan_columns(frame, **options)


def numbers(cells, **options):
    plan, values, _ = planned({"x": cells}, **options)
    assert plan.by_kind() == {"number": ["x"]}
    return values["x"].tolist()


@pytest.mark.parametrize(
    ("cells", "expected", "number_format", "unit"),
    [
        (["1,5", "2", "-0,25"], [1.5, 2, -0.25], "1.234,5", ""),
        (["1.234,5", "2", "12.345.678"], [1234.5, 2, 12_345_678], "1.234,5", ""),
        (["1,234.5", "2", "12,345,678"], [1234.5, 2, 12_345_678], "1,234.5", ""),
        (["0,123", "1,234", "5"], [0.123, 1.234, 5], "1.234,5", ""),
        (["1 234,5", "7,5", "2"], [1234.5, 7.5, 2], "1 234,5", ""),
        (["1\u00a0234", "\u202f7", "2"], [1234, 7, 2], "1 234.5", ""),
        (["1'234.50", "7", "2"], [1234.5, 7, 2], "1'234.5", ""),
        (["12 %", "3.5%", "0 %"], [12, 3.5, 0], "1234.5", "%"),
        (["12\u00a0%", "3,5\u00a0%", "0\u00a0%"], [12, 3.5, 0], "1.234,5", "%"),
        (["$1,200", "$3.50", "$0"], [1200, 3.5, 0], "1,234.5", "$"),
        (["1.200 €", "3,50 €", "0 €"], [1200, 3.5, 0], "1.234,5", "€"),
        (["\u22121,5", "+2,5", ",5"], [-1.5, 2.5, 0.5], "1.234,5", ""),
        (["1,5e3", "2,5E-1", "0"], [1500, 0.25, 0], "1.234,5", ""),
        (["(1,200.50)", "7", "(3)"], [-1200.5, 7, -3], "1,234.5", ""),
        (
            ["($5)", "-$1,200", "$(7.5)", "$-2", "$ (3)", "$4"],
            [-5, -1200, -7.5, -2, -3, 4],
            "1,234.5",
            "$",
        ),
        (["(1,5 €)", "2 €", "-3 €"], [-1.5, 2, -3], "1.234,5", "€"),
    ],
)
def test_numbers_are_read_as_people_write_them_and_new_rows_alike(
    cells, expected, number_format, unit
):
    plan, values, notices = planned({"x": cells})
    assert values["x"].tolist() == expected
    (column,) = plan.columns
    assert (column.number_format, column.unit) == (number_format, unit)
    example = f"{number_format} {unit}".strip()
    assert f"Numbers are read as they are written: in 'x' like {example}." in notices
    again = ColumnPlan.model_validate_json(plan.model_dump_json())
    assert column_values(pd.DataFrame({"x": cells[::-1]}), again)["x"].tolist() == expected[::-1]
    typed = pd.DataFrame({"x": expected})
    if unit == "%":  # a spreadsheet keeps 12 % as 0.12
        with pytest.raises(TableError, match=f"must hold percentages.* as text like {example},"):
            column_values(typed, again)
    else:  # typed numbers need no writing
        assert column_values(typed, again)["x"].tolist() == expected


def test_a_minus_sign_of_another_shape_and_brackets_do_not_need_commas():
    cells = ["\u22121.5", "(2)", "3.", "+4", "5e1"]
    plan, values, notices = planned({"x": cells[:2] + cells[3:]})
    assert (values["x"].tolist(), notices) == ([-1.5, -2, 4, 50], [])
    new = pd.DataFrame({"x": [*cells, None]})
    np.testing.assert_array_equal(column_values(new, plan)["x"], [-1.5, -2, 3, 4, 50, np.nan])
    with pytest.raises(
        TableError, match=r"'1,5' \(2 rows, the first is row 2\): write them like 1234"
    ):
        column_values(pd.DataFrame({"x": ["5.", "1,5", "x"]}), plan)


@pytest.mark.parametrize(
    "cells",
    [
        ["1,5", "2.5", "1,5"],  # some with a comma, some with a point
        ["12 %", "3", "3"],  # a unit here and none there
        ["5 €", "$5", "5 €"],
        ["$5 %", "$5 %", "$6 %"],
        ["1,2,3", "1,2", "1,2"],
        ["12,34,567", "1", "1"],
        ["0171 123 456", "1", "1"],
        ["1.2.13", "1.2.13", "1.2.14"],
        ["10.0.0.1", "10.0.0.2", "10.0.0.1"],
        ["%", "%", "1 %"],
        ["\u0663,\u0665", "1,5", "1,5"],
        ["1_000,5", "1,5", "1,5"],
        ["(1)", "(2)", "(1)"],  # all in brackets: not all of them are negative
        ["(-1)", "2", "2"],
    ],
)
def test_what_is_not_one_way_of_writing_is_no_column_of_numbers(cells):
    plan, *_ = planned({"x": cells})
    assert plan.by_kind() == {"category": ["x"]}


def test_commas_that_can_be_both_separate_thousands_and_people_are_told():
    _, values, notices = planned({"price": ["5", "1,234", "12,500"]})
    assert values["price"].tolist() == [5, 1234, 12500]
    assert notices[-1] == (
        "Commas in 'price', such as '1,234' (row 2), can be between thousands or before decimals: "
        "they are taken to be between thousands. If that is wrong, use --decimal , (in Python "
        "decimal=',')."
    )


def test_commas_that_can_be_both_are_before_decimals_where_another_column_says_so():
    plan, values, notices = planned(
        {"price": ["5", "1,234", "12,500"], "size": ["1,5", "2", "0,1"]}
    )
    assert values["price"].tolist() == [5, 1.234, 12.5]
    assert plan.names == ["price", "size"]
    assert notices == ["Numbers are read as they are written: in 'price', 'size' like 1.234,5."]


def test_commas_that_can_be_both_are_before_decimals_where_cells_are_separated_by_semicolons():
    frame = pd.DataFrame({"price": ["5", "1,234", "12,500"]})
    frame.attrs["delimiter"] = ";"
    _, values, _ = plan_columns(frame)
    assert values["price"].tolist() == [5, 1.234, 12.5]


def test_points_that_may_separate_thousands_are_read_as_before_and_people_are_told():
    _, values, notices = planned({"n": ["1.234", "5", "12.500"], "size": ["1,5", "2", "0,1"]})
    assert values["n"].tolist() == [1.234, 5, 12.5]
    assert notices[-1].startswith("Points in 'n' are taken to be before decimals, but may be betw")
    *_, notices = planned({"n": ["1.234", "5", "12.500"]})
    assert notices == []


def test_the_decimal_sign_can_be_given():
    assert numbers(["5", "1,234", "12,500"], decimal=",") == [5, 1.234, 12.5]
    assert numbers(["5", "1.234", "12.500"], decimal=",") == [5, 1234, 12500]
    assert numbers(["5", "1.25", "12.500"], decimal=",") == [5, 1.25, 12.5]  # no thousands
    assert numbers(["5", "1,25", "12,500"], decimal=".") == [5, 1.25, 12.5]
    assert numbers(["5", "1,234", "12,500"], decimal=".") == [5, 1234, 12500]
    *_, notices = planned({"x": ["5", "1,234", "12,500"]}, decimal=".")
    assert notices == ["Numbers are read as they are written: in 'x' like 1,234.5."]


def test_a_wrong_decimal_sign_is_refused():
    frame = pd.DataFrame({"x": [1], "label": ["a"]})
    options = dict.fromkeys(["truth", "id", "features"]) | {"ignore": (), "categories": ()}
    with pytest.raises(ParameterError, match="decimal.*';'"):
        FeatureColumns(frame, "label", **options, decimal=";")


@pytest.mark.parametrize("word", sorted(GAP_WORDS))
def test_a_word_for_a_gap_is_one_where_everything_else_is_a_number(word):
    plan, values, notices = planned({"age": ["1.5", word, "2", word]})
    np.testing.assert_array_equal(values["age"], [1.5, np.nan, 2, np.nan])
    assert notices == [
        f"In 'age' {word!r} counts as a gap (2 rows, the first is row 2), because all other cells "
        "are numbers."
    ]
    new = column_values(pd.DataFrame({"age": ["-", "?", "3"]}), plan)["age"]
    np.testing.assert_array_equal(new, [np.nan, np.nan, 3])


def test_several_words_for_gaps_are_named_together():
    *_, notices = planned({"age": ["1.5", "-", "2", "?", "3"]})
    (notice,) = notices
    assert notice.startswith("In 'age' '-', '?' count as gaps (2 rows, the first is row 2)")


def test_words_for_gaps_stay_what_they_are_among_words():
    plan, *_ = planned({"answer": ["yes", "?", "maybe", "?"]})
    assert plan.by_kind() == {"category": ["answer"]}


def test_a_new_row_that_is_written_in_another_way_is_refused_with_an_example():
    plan, *_ = planned({"x": ["1,5", "2", "0,25"]})
    with pytest.raises(TableError, match=r"Got '1\.5' \(row 2\): write them like 1\.234,5"):
        column_values(pd.DataFrame({"x": ["1,5", "1.5"]}), plan)
    plan, *_ = planned({"x": ["1.5", "2", "0.25"]})
    with pytest.raises(TableError, match=r"Got '1,5' .2 rows.*like 1234\.5, and"):
        column_values(pd.DataFrame({"x": ["1,5", "?"]}), plan)


def test_a_column_that_an_older_version_planned_has_plain_numbers():
    old = '{"columns": [{"name": "x", "kind": "number", "date_format": null}]}'
    assert ColumnPlan.model_validate_json(old).columns == (PlannedColumn(name="x", kind="number"),)


@given(
    st.lists(st.floats(-1e9, 1e9).map(lambda number: round(number, 3)), min_size=3, unique=True),
    st.sampled_from([(",", "."), (".", ","), ("\u00a0", ","), ("'", ".")]),
)
def test_any_numbers_survive_being_written_in_any_way(numbers_, characters):
    thousands, decimal = characters
    numbers_ = [*numbers_, 1234567.25]  # which cannot be read in two ways
    written = [f"{number:,.3f}" for number in numbers_]
    table = str.maketrans({",": thousands, ".": decimal})
    plan, values, _ = planned({"x": [text.translate(table) for text in written]}, features="x")
    assert plan.columns[0].kind == "number"
    assert all(map(math.isclose, values["x"], numbers_))
