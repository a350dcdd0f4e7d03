import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig import LabelColumns
from disambig._core.errors import TableError
from disambig.tabular.labels.python_cells import read_python

_labels = st.lists(st.text(max_size=8), max_size=5)


@given(_labels)
def test_a_printed_list_of_any_text_is_read_back(labels):
    assert read_python(repr(labels)) == labels


@given(_labels)
def test_a_printed_tuple_or_set_is_read_back(labels):
    assert read_python(repr(tuple(labels))) == labels
    assert set(read_python(repr(set(labels)))) == set(labels)


@given(st.dictionaries(st.text(max_size=8), st.floats(0, 9), min_size=1, max_size=4))
def test_a_printed_dictionary_is_read_back(weights):
    assert read_python(repr(weights)) == weights


@given(st.lists(st.text("ab '\"x|,", min_size=1, max_size=8), min_size=1, max_size=4))
def test_an_array_that_pandas_wrote_is_read_back(labels):
    for array in (np.array(labels), np.array(labels, dtype=object)):
        assert read_python(str(array)) == labels


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("['a', nan, None, 3, 2.5, True]", ["a", None, None, 3, 2.5, True]),
        ("[np.str_('a'), np.int64(3)]", ["a", 3]),
        ("{np.str_('a'): np.float64(0.5)}", {"a": 0.5}),
        ("['a'\n 'b']", ["a", "b"]),
        ("[b'a', u'b']", ["a", "b"]),
        (" ('a',) ", ["a"]),
        ("set()", []),
        ("{}", []),
    ],
)
def test_what_python_and_numpy_print_is_read(text, values):
    assert read_python(text) == values


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "[a]", "['a'", "['a]", "[['a']]", "['a', ('b',)]", "['a' 'b', 'c']", "['a',,]"),
        *(
            "['a' ... 'z']",
            "{'a': 1, 'a': 2}",
            "{'a': 1, 'b'}",
            "[__import__('os')]",
            "['a'].pop()",
        ),
        *("[np.str_('a']", "(a) yes", "[1 + 1]", "['a': 1]"),
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  # the caller says which cell
        read_python(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "[" * 100_000 + "]" * 100_000,
        "['" + "\\" * 200_001,
        "[" + "np.x(" * 50_000 + "]",
        "[" + "'" * 100_001 + "]",
    ],
)
def test_a_hostile_cell_is_refused_in_time_proportional_to_it(text):
    # A search that goes back would take hours.
    with pytest.raises(ValueError):  # noqa: PT011
        read_python(text)


def candidates(*cells):
    return LabelColumns().read(pd.DataFrame({"label": list(cells)})).to_strings()


def test_columns_of_printed_lists_tuples_and_sets_are_candidate_sets():
    assert candidates("['a', 'b']", "['c']") == ["a|b", "c"]
    assert candidates("('a', 'b')", "('c',)") == ["a|b", "c"]
    assert candidates("{'b', 'a'}", "{'c'}") == ["a|b", "c"]
    assert candidates("['a' 'b']", "['c']") == ["a|b", "c"]


def test_brackets_that_are_parts_of_labels_stay():
    assert candidates("(a) yes", "(b) no") == ["(a) yes", "(b) no"]
    assert candidates("['a']", "b") == ["['a']", "b"]


def test_printed_lists_may_stand_beside_labels_that_they_hold():
    assert candidates("['a', 'b']", "a", "{'b': 0.5, 'c': 0.5}") == ["a|b", "a", "b|c"]
    assert candidates("['a', 'b']", "c|b", "['a'") == ["a|b", "b|c", "['a'"]


def test_all_rows_with_unreadable_cells_are_counted_and_the_first_is_shown():
    with pytest.raises(TableError, match=r"in 3 rows, the first is row 2: .* '\[a'\. Every cell"):
        candidates("['a']", "[a", "['b']", "[b]", "[a")
