"""Reasons are made of the columns that were learned from, read as cleaning read them."""

import pandas as pd
import pytest

from disambig.tabular import clean_table, read_cleaned
from disambig.tabular.clean_details import details_path, read_details
from disambig.tabular.provenance import Provenance
from disambig.tabular.reasons.column_reading import hidden_columns, read_features
from disambig.tabular.reasons.reasons import Reasons
from tabular.reasons.hand_made_tables import table_of
from tabular.small_tables import three_clouds

CAT, DOG = {"cat": 1.0}, {"dog": 1.0}
EITHER = {"cat": 0.6, "dog": 0.4}


def names_read(table) -> list[str]:
    plan, _ = read_features(table, hidden_columns(table))
    return [] if plan is None else plan.names


@pytest.fixture
def cleaned(tmp_path):
    """Return a table that was cleaned with details, truth and a column left out."""
    out = tmp_path / "clean.csv"
    frame = three_clouds(60).assign(remark="")
    frame.loc[::2, "truth"] = ""
    clean_table(
        frame, method="plknn", truth="truth", features=["length", "colour"], n_folds=2, out=out
    )
    table = pd.read_csv(out, dtype=str, keep_default_na=False)
    return read_cleaned(table, read_details(details_path(out)))


def test_only_what_was_learned_from_is_compared(cleaned):
    assert names_read(cleaned) == ["length", "colour"]
    assert hidden_columns(cleaned) == {"label", "truth"}


def test_labels_and_truth_are_never_read_even_if_features_named_them(cleaned):
    features = {"number": ["length"], "category": ["label", "truth"]}
    assert names_read(read_as(cleaned, features)) == ["length"]


def read_as(table, features):
    return type(table)(**{**vars(table), "features": features})


def test_where_it_is_not_known_how_a_table_was_made_columns_of_labels_are_found_by_their_cells():
    shares = [EITHER, CAT, DOG, EITHER] * 5
    values = {
        "size": [3, 1, 2, 2] * 5,
        "label": ["cat|dog", "cat", "dog", "dog|cat"] * 5,
        "voted": ["cat:0.9;dog:0.1", "cat:1", "dog:1", "dog:.3;cat:.7"] * 5,
        "checked": ["", "cat", "dog", "cat"] * 5,
        "caption": ["a cat sees a dog here", "my cat is here", "our dog is here", "dog, cat?"] * 5,
    }
    table = table_of(shares, values)
    assert {"label", "voted"} <= hidden_columns(table) <= {"label", "voted", "checked"}
    assert "size" in names_read(table)
    assert not {"label", "voted", "checked"} & set(names_read(table))


def test_decimal_commas_units_and_gap_words_are_read_as_in_cleaning():
    table = table_of([EITHER, CAT, DOG, DOG], {"price": ["1.234,5 €", "0,5 €", "-", "12.000,0 €"]})
    _, values = read_features(table, hidden_columns(table))
    assert values["price"].tolist()[:2] == [1234.5, 0.5]
    assert pd.isna(values["price"][2])
    assert values["price"][3] == 12_000


@pytest.mark.parametrize("words", [("--decimal", ","), ("--decimal=,",)])
def test_the_decimal_comma_that_the_command_named_is_known(words):
    table = table_of([EITHER, CAT, DOG], {"size": ["1,234", "2,5", "12"]})
    said = type(table)(**{**vars(table), "provenance": Provenance(command=("clean", *words))})
    both = {"size": ["1,234", "2,345", "12"]}
    plain = table_of([EITHER, CAT, DOG], both)
    named = type(plain)(**{**vars(plain), "provenance": said.provenance})
    assert read_features(plain, set())[1]["size"].tolist() == [1234, 2345, 12]
    assert read_features(named, set())[1]["size"].tolist() == [1.234, 2.345, 12]


def test_a_date_is_compared_and_shown_by_its_day():
    days = ["2024-01-01", "2024-01-02", "2024-06-01", "2024-06-02"]
    reasons = Reasons(table_of([EITHER, CAT, DOG, DOG], {"seen": days}))
    assert reasons.similar(0)[0].row == 1
    assert [one.column for one in reasons.ranges(0)] == ["seen"]
    assert reasons.ranges(0)[0].at == 0.125


def test_cells_that_were_edited_beyond_recognition_leave_the_other_columns():
    table = table_of(
        [EITHER, CAT, DOG],
        {"size": ["1", "two", "3"], "width": ["1", "2", "9"], "lists": [[1], [2], [3]]},
        features={"number": ["size", "width", "lists"]},
    )
    assert "width" in names_read(table)
    assert Reasons(table).similar(0)[0].row == 1


def test_images_alone_give_no_reasons():
    table = table_of([EITHER, CAT], {"photo": ["a.png", "b.png"]}, features={"image": ["photo"]})
    reasons = Reasons(table)
    assert (reasons.similar(0), reasons.ranges(0), reasons.shares(0)) == ([], [], [])
