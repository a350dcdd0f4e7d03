"""Percentages, question marks and a column for each label: how people write candidate labels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from disambig import LabelColumns, audit_table, clean_table, fit_table
from disambig._core.errors import ParameterError, TableError
from disambig.tabular import read_annotations
from disambig.tabular.labels.percentages import are_percentages, read_percentages


def parse(frame, *columns, **options):
    frame = pd.DataFrame(frame)
    return LabelColumns(columns=columns or tuple(frame.columns), **options).parse(frame)


def shares(parsed):
    classes = parsed.candidates.classes.tolist()
    return [
        {name: round(share, 4) for name, share in zip(classes, row, strict=True) if share}
        for row in parsed.candidates.prior().toarray()
    ]


# ---- percentages


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Barolo (62%), Grignolino (28%)", [("Barolo", 62), ("Grignolino", 28)]),
        ("Barolo 62%; Grignolino 28 %", [("Barolo", 62), ("Grignolino", 28)]),
        ("Barolo: 62.5% | Grignolino: 28,5%.", [("Barolo", 62.5), ("Grignolino", 28.5)]),
        ("62% Barolo, 28% Grignolino", [("Barolo", 62), ("Grignolino", 28)]),
        ("(62%) Barolo, (28%) Grignolino", [("Barolo", 62), ("Grignolino", 28)]),
        ("Smith, John (62%), Doe, Jane (28%)", [("Smith, John", 62), ("Doe, Jane", 28)]),
        ("Barolo (red) [62%]\nGrignolino [28%]", [("Barolo (red)", 62), ("Grignolino", 28)]),
        ("-5 °C (90%)", [("-5 °C", 90)]),
        ("Barolo 62% / Grignolino 28%", [("Barolo", 62), ("Grignolino", 28)]),
        ("Barolo (62%) and Grignolino (28%)", [("Barolo", 62), ("Grignolino", 28)]),
        ("Barolo (>60%), or Grignolino (<40%)", [("Barolo", 60), ("Grignolino", 40)]),
        ("62% Barolo / 20% Grignolino or 9% Rum", [("Barolo", 62), ("Grignolino", 20), ("Rum", 9)]),
        ("+1 (70%), +2 (20%) & oregano (10%)", [("+1", 70), ("+2", 20), ("oregano", 10)]),
    ],
)
def test_percentages_are_read_as_they_are_written(text, pairs):
    assert read_percentages(text) == pairs


@pytest.mark.parametrize(
    "text",
    ["cat", "%", "50%", "cat 50% dog", "cat 50%, 50%", "cat 70%, dog 90%", "a 0%", "9% a 9%"],
)
def test_what_is_no_label_for_each_percentage_is_refused(text):
    with pytest.raises(ValueError, match="percentage"):
        read_percentages(text)


def test_percentages_need_the_whole_column_to_be_weights():
    assert are_percentages(["cat (70%), dog (30%)", "cow"])
    assert are_percentages(["cat (70%)", "cat"])
    assert not are_percentages(["milk 1%", "milk 3%"])
    assert not are_percentages(["cat (70%), dog (30%)", "100 % sure it is not a cat, 50%"])


def test_what_is_missing_to_a_hundred_belongs_to_all_other_labels():
    parsed = parse({"label": ["a (60%), b (20%)", "c", "d", "a 33%, b 33%, c 33%"]})
    assert shares(parsed) == [
        {"a": 0.6, "b": 0.2, "c": 0.1, "d": 0.1},
        {"c": 1},
        {"d": 1},
        {"a": 0.3333, "b": 0.3333, "c": 0.3333},  # rounding
    ]
    assert "weights in 2 rows of column 'label', such as 'a (60%), b (20%)'" in parsed.notices[0]


def test_percentages_that_belong_to_labels_can_be_kept():
    parsed = parse({"label": ["a (60%), b (20%)", "c"]}, literal=True)
    assert parsed.candidates.to_strings() == ["a (60%), b (20%)", "c"]
    assert parsed.notices == ()


def test_labels_of_a_model_say_what_percentages_are():
    frame = pd.DataFrame({"label": ["a 60%"]})
    sets = LabelColumns().read_new(frame, ["a", "b"])
    np.testing.assert_allclose(sets.prior().toarray(), [[0.6, 0.4]])
    fabrics = ["100% cotton", "50% wool, 50% cotton"]
    sets, notices = LabelColumns().read_new_with_notices(pd.DataFrame({"label": fabrics}), fabrics)
    assert (sets.to_strings(), notices) == (fabrics, ())


# ---- question marks


def test_an_unsure_label_has_three_quarters_and_the_others_the_rest():
    parsed = parse({"label": ["a?", "a", "b", "c", "b?|c?", "b?|c"]})
    assert shares(parsed)[0] == {"a": 0.75, "b": 0.125, "c": 0.125}
    assert shares(parsed)[4] == {"a": 0.25, "b": 0.375, "c": 0.375}
    assert shares(parsed)[5] == {"b": 0.5, "c": 0.5}  # it says what else it could be
    assert "such as 'a?', was read as unsure" in parsed.notices[0]
    assert "in 2 rows" in parsed.notices[0]


@pytest.mark.parametrize("cell", ["a ?", "a??", "a (?)", "a [?]", "a(??)"])
def test_a_question_mark_may_stand_in_brackets(cell):
    parsed = parse({"label": [cell, "a", "b"]})
    assert shares(parsed)[0] == {"a": 0.75, "b": 0.25}
    assert "has 75 % of the weight, all others the rest, in 1 row." in parsed.notices[0]


def test_a_question_mark_beside_a_label_without_one_is_said_to_be_left_out():
    parsed = parse({"label": ["a?|b", "a", "b"]})
    assert parsed.candidates.to_strings()[0] == "a|b"
    assert "such as 'a?', was left out: its row has another label" in parsed.notices[0]


def test_labels_that_all_end_in_question_marks_are_left_alone():
    assert parse({"label": ["why?", "what?", "?"]}).candidates.to_strings() == [
        "why?",
        "what?",
        "?",
    ]
    parsed = parse({"label": ["a?", "a"]}, literal=True)
    assert parsed.candidates.to_strings() == ["a?", "a"]


def test_an_unsure_vote_is_a_vote():
    parsed = parse({"one": ["a?", "b"], "two": ["a", "a?"]}, votes=True)
    assert shares(parsed) == [{"a": 1}, {"a": 0.5, "b": 0.5}]
    assert "a vote like any other, in 2 rows" in parsed.notices[0]
    long = pd.DataFrame({"item": [1, 1, 2], "who": [1, 2, 1], "said": ["a", "a?", "b"]})
    with pytest.warns(UserWarning, match="a vote like any other, in 1 row"):
        _, sets = read_annotations(long, item="item", annotator="who", label="said")
    assert sets.to_strings() == ["a", "b"]


def test_a_label_that_a_model_knows_with_its_question_mark_is_not_unsure():
    frame = pd.DataFrame({"label": ["a?", "a"]})
    sets, notices = LabelColumns().read_new_with_notices(frame, ["a", "a?"])
    assert (sets.to_strings(), notices) == (["a?", "a"], ())
    sets, notices = LabelColumns().read_new_with_notices(frame.head(1), ["a", "b"])
    assert sets.prior().toarray().tolist() == [[0.75, 0.25]]
    assert len(notices) == 1


# ---- a column for each label

MASK = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]])
SETS = ["cat", "cow|dog", "dog"]


@pytest.mark.parametrize(
    ("yes", "no"),
    [(1, 0), ("1", "0"), (1.0, 0.0), (True, False), ("yes", "no"), ("x", ""), ("X", None)],
)
def test_marks_say_which_labels_a_row_may_have(yes, no):
    cells = np.where(MASK == 1, np.array(yes, dtype=object), np.array(no, dtype=object))
    parsed = parse(pd.DataFrame(cells, columns=["cat", "cow", "dog"]))
    assert parsed.candidates.to_strings() == SETS
    assert parsed.candidates.weights is None
    assert "each was read as a label of its own: 'cat', 'cow' and 'dog'" in parsed.notices[0]
    assert "if each column is an annotator, --votes (in Python votes=True)." in parsed.notices[0]


def test_what_pandas_and_scikit_learn_make_of_labels_is_read_back():
    single = pd.get_dummies(pd.Series(["cat", "dog", "cow"]), prefix="label")
    assert parse(single, "label_*").candidates.to_strings() == ["cat", "dog", "cow"]
    binarizer = MultiLabelBinarizer()
    frame = pd.DataFrame(binarizer.fit_transform([["cat"], ["dog", "cow"]]))
    frame.columns = binarizer.classes_
    assert parse(frame).candidates.to_strings() == ["cat", "cow|dog"]


@pytest.mark.parametrize("total", [1, 100])
def test_numbers_that_add_up_to_the_whole_are_shares(total):
    frame = pd.DataFrame({"cat": [0.7, 0.0], "dog": [0.3, 0.5], "cow": [0, 0.5]}) * total
    assert shares(parse(frame)) == [{"cat": 0.7, "dog": 0.3}, {"cow": 0.5, "dog": 0.5}]


def test_shares_may_have_decimal_commas():
    frame = pd.DataFrame({"cat": ["0,7", "0"], "dog": ["0,3", "0,5"], "cow": ["0,0", "0,5"]})
    assert shares(parse(frame)) == [{"cat": 0.7, "dog": 0.3}, {"cow": 0.5, "dog": 0.5}]


def test_votes_are_read_where_it_is_said_that_columns_are_labels():
    frame = {"cat": [3, 0], "dog": [1, 2], "cow": [0, 2]}
    assert parse(frame).candidates.classes.tolist() == ["0", "1", "2", "3"]
    assert shares(parse(frame, column_per_label=True)) == [
        {"cat": 0.75, "dog": 0.25},
        {"cow": 0.5, "dog": 0.5},
    ]


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        ({"one": [0, 1], "two": [1, 1]}, {"votes": True}),
        ({"one": [0, 1], "two": [1, 1]}, {"literal": True}),
        ({"one": ["0.3", "0.9"], "two": ["0.3", "0.1"]}, {}),
        ({"one": [0, 1]}, {}),
    ],
)
def test_numbers_that_may_be_labels_stay_labels(frame, options):
    assert set(parse(frame, **options).candidates.classes) <= {"0", "1", "0.3", "0.9", "0.1"}


def test_a_row_without_a_mark_has_no_label_and_the_message_says_how_cells_were_read():
    frame = pd.DataFrame({"cat": [0, 0, 1], "dog": [0, 1, 0]})
    assert parse(frame).empty.tolist() == [True, False, False]
    with pytest.raises(TableError, match=r"none in row 1\..*read as a label of its own"):
        LabelColumns(columns=("cat", "dog")).read(frame)


def test_a_cell_that_is_neither_mark_nor_weight_is_refused_where_columns_are_labels():
    with pytest.raises(TableError, match=r"in 2 rows, the first is row 2: column 'dog' holds 'a'"):
        parse({"cat": [0, 1, 1], "dog": [1, "a", -1]}, column_per_label=True)
    with pytest.raises(ParameterError, match="either an annotator .* or a label"):
        LabelColumns(votes=True, column_per_label=True)


def test_a_star_names_columns_for_labels_and_for_annotators():
    frame = pd.DataFrame({"ann_1": ["a", "b"], "ann_2": ["a", "c"], "x": [1, 2], "a*": ["p", "q"]})
    assert LabelColumns(columns=("ann_*",)).columns_in(frame) == ("ann_1", "ann_2")
    assert shares(parse(frame, "ann_*", votes=True)) == [{"a": 1}, {"b": 0.5, "c": 0.5}]
    assert LabelColumns(columns=("a*",)).columns_in(frame) == ("a*",)
    with pytest.raises(TableError, match=r"no column 'none_\*'"):
        parse(frame, "none_*")


def _example(n_rows=40):
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 3, n_rows)
    mask = np.eye(3, dtype=int)[truth] | np.eye(3, dtype=int)[generator.integers(0, 3, n_rows)]
    frame = pd.DataFrame(mask, columns=["is_cat", "is_cow", "is_dog"])
    noise = generator.normal(size=(n_rows, 2))
    return frame.assign(p=truth + 0.3 * noise[:, 0], q=truth - 0.3 * noise[:, 1])


def test_a_table_with_a_column_for_each_label_is_audited_fitted_cleaned_and_predicted(tmp_path):
    frame = _example()
    names = np.array(["cat", "cow", "dog"])
    sets = ["|".join(names[row == 1]) for row in frame.filter(like="is_").to_numpy()]
    joined = frame[["p", "q"]].assign(label=sets)
    with pytest.warns(UserWarning, match="read as a label of its own"):
        cleaned = clean_table(frame, labels="is_*", method="plknn", out=tmp_path / "clean.csv")
    expected = clean_table(joined, method="plknn")
    pd.testing.assert_series_equal(cleaned["chosen_label"], expected["chosen_label"])
    assert "is_cat" in (tmp_path / "clean.csv.details.json").read_text()
    audit = audit_table(frame, labels="is_*")
    assert any("a label of its own" in notice for notice in audit.notices)
    assert set(audit.features["number"]) == {"p", "q"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_table(frame, labels="is_*", method="plknn", n_folds=0)
        predicted = model.predict(frame, labels="is_*")["predicted_label"]
    assert all(name in row.split("|") for name, row in zip(predicted, sets, strict=True))
