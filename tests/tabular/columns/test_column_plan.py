import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from disambig._core.errors import TableError
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import ColumnPlan, PlannedColumn


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "id": ["17", "4", "99", "12"],
            "height": ["1.5", "", "2", "2.5"],
            "color": ["red", "blue", "red", ""],
            "smoker": ["yes", "no", "no", ""],
            "day": ["31.12.2024", "1.1.2025", "", "2.1.2025"],
            "unit": ["cm", "cm", "cm", "cm"],
            "notes": ["", "", "", ""],
            "label": ["a", "a|b", "b", "b"],
        }
    )


def kinds(plan):
    return {column.name: column.kind for column in plan.columns}


def test_features_are_what_can_teach(table):
    plan, *_ = plan_columns(table, reserved=["label"])
    assert kinds(plan) == {
        "height": "number",
        "color": "category",
        "smoker": "boolean",
        "day": "date",
    }
    assert plan.columns[-1].date_format == "%d.%m.%Y"


def test_people_are_told_what_was_left_out_and_why(table):
    *_, notices = plan_columns(table, reserved=["label"])
    assert notices == [
        "Left out 'id', which is an identifier, because it can give the label away; use --features "
        "(in Python features=) to keep it.",
        "Left out 'unit', which has one value in all rows: nothing can be learned from it.",
        "Left out 'notes', which is empty: nothing can be learned from it.",
    ]


def test_a_counter_is_left_out_with_a_notice():
    table = pd.DataFrame({"n": np.arange(20), "x": np.linspace(0, 1, 20)})
    plan, _, notices = plan_columns(table)
    assert plan.names == ["x"]
    assert notices[0].startswith("Left out 'n', which counts the rows, because it can give")


def test_long_lists_in_notices_are_cut():
    table = pd.DataFrame({f"c{i}": [1, 1] for i in range(100)} | {"x": [1, 3]})
    *_, [notice] = plan_columns(table)
    assert (
        "'c7' and 92 more, which have one value in all rows: nothing can be learned from them"
        in notice
    )


def test_remarks_are_cut_too():
    table = pd.DataFrame({f"day {i}": ["1/2/2024", "3/4/2024"] for i in range(100)})
    *_, notices = plan_columns(table)
    assert len(notices) == 6
    assert notices[-1] == "The same, or similar, holds for 95 more columns."


def test_chosen_features_are_taken_in_the_order_of_the_table(table):
    plan, _, notices = plan_columns(table, features=["height", "id"], reserved=["label"])
    assert kinds(plan) == {"id": "number", "height": "number"}
    assert notices == []


def test_a_single_name_is_no_list_of_letters(table):
    plan, *_ = plan_columns(table, features="height", reserved="label")
    assert plan.names == ["height"]
    assert "color" not in plan_columns(table, ignore="color")[0].names


def test_an_identifier_of_text_that_is_chosen_is_a_category():
    table = pd.DataFrame({"name": ["a", "b", "c"]})
    assert kinds(plan_columns(table, features=["name"])[0]) == {"name": "category"}


@pytest.fixture
def table_with_bad_columns(table):
    table["review"] = [f"this one is number {i}" for i in range(4)]
    table["summary"] = [f"in short it was {i}" for i in range(4)]
    table["meta"] = [{"by": "ann"}, None, {"by": "bob"}, {}]
    table["spans"] = [[1, 2], [], [3], [4]]
    table["ratio"] = ["1.5", "inf", "2", "-inf"]
    table["raw"] = [None, b"x", None, None]
    return table


def test_one_notice_names_all_columns_that_cannot_be_learned_from_and_the_others_are_used(
    table_with_bad_columns,
):
    plan, values, notices = plan_columns(table_with_bad_columns, reserved=["label"])
    assert plan.names == ["height", "color", "smoker", "day", "review", "summary"]
    assert len(values) == 4
    assert notices[0] == (
        "Left out 4 columns that cannot be learned from: 'meta' (3 rows, the first is row 1), "
        "'spans' (4 rows, the first is row 1) hold lists or mappings: embeddings and other lists "
        "must be spread out, one number per column; 'ratio' holds numbers that are infinite or "
        "above 1e+300 in size (2 rows, the first is row 2: 'inf'): leave such cells empty; 'raw' "
        "holds bytes (row 2): turn them into text or numbers."
    )


def test_one_error_names_all_chosen_columns_that_cannot_be_learned_from(table_with_bad_columns):
    with pytest.raises(TableError, match="'spans' holds lists.*'raw' holds bytes.*--ignore"):
        plan_columns(table_with_bad_columns, features=["spans", "height", "raw"])


def test_columns_that_cannot_be_learned_from_are_named_where_no_other_is_left(
    table_with_bad_columns,
):
    with pytest.raises(TableError, match="Got none: 'id' is an ident.*; 'spans' holds lists"):
        plan_columns(table_with_bad_columns[["id", "spans"]])


def test_columns_that_are_ignored_are_not_looked_at(table):
    table["vector"] = [[1, 2]] * 4
    *_, notices = plan_columns(table, reserved=["label"])
    assert "'vector' holds lists" in notices[0]
    *_, notices = plan_columns(table, ignore=["vector"], reserved=["label"])
    assert "vector" not in " ".join(notices)


def test_names_that_are_not_in_the_table_are_refused_with_a_guess(table):
    with pytest.raises(TableError, match="no column 'hieght', .* a feature. Did you mean 'height'"):
        plan_columns(table, features=["hieght"])
    with pytest.raises(TableError, match="no column 'colour', .* left out. Did you mean 'color'"):
        plan_columns(table, ignore=["colour"])


def test_a_column_cannot_be_chosen_and_left_out(table):
    with pytest.raises(TableError, match="'color' was chosen as a feature, and is also to be left"):
        plan_columns(table, features=["height", "color"], ignore=["color"])
    with pytest.raises(TableError, match="'label' was chosen as a feature, and is also a label"):
        plan_columns(table, features=["label"], reserved=["label"])


def test_columns_can_be_said_to_hold_categories():
    table = pd.DataFrame({"zip": [1001, 90210, 1001], "id": [3, 1, 2], "x": [1, 2, 2]})
    plan, _, notices = plan_columns(table, categories=["zip", "id"])
    assert kinds(plan) == {"zip": "category", "id": "category", "x": "number"}
    assert notices == []
    assert kinds(plan_columns(table, categories="zip")[0])["zip"] == "category"


def test_a_category_must_be_a_feature(table):
    with pytest.raises(TableError, match="no column 'colour', .* a category.*Did you mean 'color'"):
        plan_columns(table, categories=["colour"])
    with pytest.raises(TableError, match="'label' is not: it holds labels"):
        plan_columns(table, reserved=["label"], categories=["label"])
    with pytest.raises(TableError, match="'color' is not: .* or other features were chosen"):
        plan_columns(table, features=["height"], categories=["color"])
    assert "color" not in plan_columns(table, ignore=["color"], categories=["color"])[0].names


def test_a_table_without_features_is_refused_and_says_why(table):
    with pytest.raises(TableError, match="'id' is an identifier, 'unit' has one value"):
        plan_columns(table[["id", "unit", "label"]], reserved=["label"])
    with pytest.raises(TableError, match="Got none besides the labels"):
        plan_columns(table[["label"]], reserved=["label"])
    with pytest.raises(TableError, match="at least one column that can be a feature"):
        plan_columns(table, features=[])
    wide = pd.DataFrame({f"c{i}": [1, 1] for i in range(100)})
    with pytest.raises(TableError, match="'c3' has one value in all rows and 96 more"):
        plan_columns(wide)


def test_names_must_be_texts_of_their_own():
    with pytest.raises(TableError, match="Got 0, a int"):
        plan_columns(pd.DataFrame(np.eye(2)))
    with pytest.raises(TableError, match="More than one is called 'a'"):
        plan_columns(pd.DataFrame(np.eye(3), columns=["a", "a", "b"]))


def test_a_plan_survives_json(table):
    plan, *_ = plan_columns(table, reserved=["label"])
    assert ColumnPlan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    "written",
    [
        "",
        "[]",
        "{}",
        '{"columns": []}',
        '{"columns": [{"name": "a"}]}',
        '{"columns": [{"name": 1, "kind": "number"}]}',
        '{"columns": [{"name": "a", "kind": "identifier"}]}',
        '{"columns": [{"name": "a", "kind": "date"}]}',
        '{"columns": [{"name": "a", "kind": "date", "date_format": "%c"}]}',
        '{"columns": [{"name": "a", "kind": "number", "date_format": "ISO8601"}]}',
        '{"columns": [{"name": "a", "kind": "number", "more": 1}]}',
        '{"columns": [{"name": "a", "kind": "number"}, {"name": "a", "kind": "category"}]}',
        '{"columns": [{"name": "a", "kind": "number"}], "more": 1}',
    ],
)
def test_a_damaged_plan_is_refused(written):
    with pytest.raises(ValidationError):
        ColumnPlan.model_validate_json(written)


def test_a_plan_cannot_be_changed():
    plan = ColumnPlan(columns=(PlannedColumn(name="a", kind="number"),))
    with pytest.raises(ValidationError, match="frozen"):
        plan.columns[0].name = "b"


def test_columns_are_listed_by_what_they_hold_in_the_order_of_the_table():
    frame = pd.DataFrame(
        {
            "b": ["1.5", "2.5", "0.5", "4"] * 5,
            "colour": ["red", "blue"] * 10,
            "a": ["3.5", "2.5", "1.5"] * 6 + ["1", "2.25"],
        }
    )
    plan, *_ = plan_columns(frame)
    assert plan.by_kind() == {"number": ["b", "a"], "category": ["colour"]}
    assert list(plan.by_kind()) == ["number", "category"]
