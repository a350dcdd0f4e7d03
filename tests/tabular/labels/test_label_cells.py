from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from disambig.tabular.labels.label_cells import CellReader, LabelProblem, write_cells, write_weights
from disambig.tabular.table_cells import distinct_cells, text_of, texts_of


def read(cell, *others, separator="|", literal=False):
    labels = CellReader([cell, *others], separator=separator, literal=literal).read(cell)
    return tuple(labels.plain), tuple(labels.weighted), tuple(labels.excluded)


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("cat|dog", ("cat", "dog")),
        (" cat | | dog ", ("cat", "dog")),
        ("12.5", ("12.5",)),
        ('["cat", 3, 4.0, true, null, " "]', ("cat", "3", "4", "True")),
        (["cat", 3, 4.0, True, None], ("cat", "3", "4", "True")),
        (("cat", "dog"), ("cat", "dog")),
        ({"cat"}, ("cat",)),
        (np.array(["cat", "dog"]), ("cat", "dog")),
        (np.array("cat"), ("cat",)),
        (np.array([1.0, 2.5]), ("1", "2.5")),
        (b"cat|dog", ("cat", "dog")),
        (3, ("3",)),
        (3.0, ("3",)),
        (np.float32(0.5), ("0.5",)),
        (True, ("True",)),
        (np.bool_(False), ("False",)),
        (Decimal("1.5"), ("1.5",)),
        (pd.Timestamp("2024-05-01 12:30"), ("2024-05-01 12:30:00",)),
    ],
)
def test_a_cell_names_its_labels(cell, labels):
    assert read(cell) == (labels, (), ())


@pytest.mark.parametrize(
    "cell", ["", "  ", "|", " | ", None, np.nan, pd.NA, pd.NaT, [], {}, "[]", "{}", [None, ""]]
)
def test_a_blank_cell_says_nothing(cell):
    assert read(cell) == ((), (), ())


@pytest.mark.parametrize(
    "cell", ["cat:0.7|dog:.3", "cat : 7e-1|dog: 0.30", '{"cat": 0.7, "dog": 0.3}']
)
def test_weights_are_read(cell):
    assert read(cell) == ((), (("cat", 0.7), ("dog", 0.3)), ())


def test_a_mapping_gives_weights_and_a_missing_one_leaves_its_label_out():
    cell = {"cat": 0.7, "dog": None, "cow": np.nan, 3.0: Decimal(2), "": 1}
    assert read(cell) == ((), (("cat", 0.7), ("3", 2.0)), ())


def test_pairs_as_parquet_gives_them_are_weights():
    assert read([("cat", 0.7), ("dog", 0.3)]) == ((), (("cat", 0.7), ("dog", 0.3)), ())


@pytest.mark.parametrize("cell", ["cat:", "cat:x", "cat:-1", "cat:0,5,1", "cat:inf", "cat:1e999"])
def test_what_is_no_weight_belongs_to_the_label(cell):
    assert read(cell) == ((cell,), (), ())


def test_a_weight_may_have_a_decimal_comma():
    assert read("cat:0,7|dog:,3") == ((), (("cat", 0.7), ("dog", 0.3)), ())


def test_only_the_last_colon_is_that_of_the_weight():
    assert read("a:b:2") == ((), (("a:b", 2.0),), ())


@pytest.mark.parametrize("cell", ["!cat|! dog", '["!cat", "!dog"]', ["!cat", "!dog"]])
def test_labels_that_are_ruled_out_are_read(cell):
    assert read(cell) == ((), (), ("cat", "dog"))


def test_literal_takes_every_sign_for_a_part_of_the_label():
    assert read('!cat|dog:0.7|["a"]', literal=True) == (("!cat", "dog:0.7", '["a"]'), (), ())
    assert read(["!cat"], literal=True) == (("!cat",), (), ())
    assert read({"!cat": 2}, literal=True) == ((), (("!cat", 2.0),), ())


def test_brackets_are_no_json_when_one_cell_does_without():
    assert read("[cat]", "dog") == (("[cat]",), (), ())


def test_blank_cells_and_lists_do_not_keep_a_column_from_being_json():
    assert read('["cat"]', " ", None, ["dog"]) == (("cat",), (), ())
    assert read(" ", '["cat"]') == ((), (), ())


@pytest.mark.parametrize("cell", ["[cat]", '["cat"] x', "[" * 100_000, '{"cat": 1'])
def test_a_cell_that_is_no_list_in_a_column_of_lists_is_a_problem(cell):
    with pytest.raises(LabelProblem, match="was read as a list of labels.* This one is neither"):
        read(cell, '["dog"]')


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("cat|!", "'!' goes before the label"),
        ("!!cat", "'!' goes before the label"),
        (":0.7", "belongs to no label"),
        ("!cat:0.7", "ruled out has no weight"),
        ({"!cat": 0.7}, "ruled out has no weight"),
        ({"cat": -1}, "finite number, 0 or more. 'cat' has -1"),
        ({"cat": np.inf}, "'cat' has inf"),
        ({"cat": "much"}, "'cat' has 'much'"),
        ({"cat": True}, "'cat' has True"),
        ({"cat": [1]}, r"'cat' has \[1\]"),
        ('{"cat": 1%s}' % ("0" * 400), "'cat' has 1000"),
        ('{"cat": 1, "cat": 2}', "is there twice"),
        ([("cat", "dog")], "'cat' has 'dog'"),
        ([["cat"], "dog"], r"Got \['cat'\] inside"),
        ([{"cat": 1}], "strings or numbers"),
    ],
)
def test_a_cell_that_cannot_be_meant_is_a_problem(cell, message):
    with pytest.raises(LabelProblem, match=message):
        read(cell)


def test_identifiers_are_the_same_text_from_every_kind_of_column():
    for values in (["3", "4"], [3, 4], [3.0, 4.0], [" 3", "4 "], np.array([3, 4], dtype="uint8")):
        assert texts_of(pd.Series(values), what="items").tolist() == ["3", "4"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e300, "1e+300"), (-0.0, "0"), (np.int8(5), "5"), (b" x", "x"), (np.inf, "inf")],
)
def test_every_value_has_a_text(value, text):
    assert text_of(value) == text


def test_distinct_cells_tell_one_from_true_and_texts_from_numbers():
    column = pd.Series([1, True, "1", 1, None, np.nan, [1], [True], [1]], dtype=object)
    codes, cells = distinct_cells(column)
    assert codes.tolist() == [0, 1, 2, 0, 3, 3, 4, 5, 4]
    assert [repr(cell) for cell in cells] == ["1", "True", "'1'", "None", "[1]", "[True]"]


@pytest.mark.parametrize("kind", ["category", "string", "object", "string[pyarrow]"])
def test_distinct_cells_of_every_kind_of_text_column(kind):
    codes, cells = distinct_cells(pd.Series(["b", "a", None, "b"], dtype=kind))
    assert (codes.tolist(), cells) == ([0, 1, 2, 0], ["b", "a", None])


def test_labels_that_are_percentages_are_written_so_that_they_are_read_back():
    shares = [{"5%": 0.75, "10%": 0.25}, {"10%": 1.0}]
    one, other = write_weights(shares, ["10%", "5%"])
    assert read(one, other) == ((), (("5%", 0.75), ("10%", 0.25)), ())
    one, other = write_cells([["5%", "10%"], ["5%"]], ["10%", "5%"])
    assert read(one, other) == (("5%", "10%"), (), ())
