"""How messages show values, names and rows."""

import numpy as np
import pytest

from disambig._core.messages import (
    about,
    about_number,
    bare_name,
    capitalized,
    closest_name,
    describe_table_rows,
    is_or_are,
    join_names,
    option,
    percent,
    printable,
    quote_value,
    quoted_list,
    rough_number,
    row_count,
    row_list,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold] text", "plain [bold] text"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines", "two\\nlines"),
        ("right\u202eleft", "right\\u202eleft"),
        ("\ud800", "\\ud800"),
        ("caf\u00e9 \u4e2d", "caf\u00e9 \u4e2d"),
        (7, "7"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text, shown):
    assert printable(text) == shown


def test_long_texts_are_cut():
    assert printable("abcdefghij", 10) == "abcdefghij"
    assert printable("abcdefghijk", 10) == "abcdefg..."
    assert len(quote_value("x" * 100)) == 62


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("it's", '"it\'s"'),
        ("\x1b[31mred", "'\\x1b[31mred'"),
        (3.5, "3.5"),
        (["a", "\n"], "['a', '\\n']"),
    ],
)
def test_a_cell_is_shown_as_what_it_is(cell, shown):
    assert quote_value(cell) == shown


def test_an_integer_that_python_refuses_to_write_is_shown_all_the_same():
    assert quote_value(10**5000) == quote_value([10**5000]) == "an integer of very many digits"


def test_an_option_is_named_for_the_shell_and_for_python():
    assert option("empty", "all") == "--empty all (in Python empty='all')"
    assert option("separator", ";") == "--separator ';' (in Python separator=';')"
    assert option("ignore") == "--ignore (in Python ignore=)"
    assert option("text-model") == "--text-model (in Python text_model=)"


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["a"], "'a'"),
        (["a", "b"], "'a' and 'b'"),
        (["a", "b", "c"], "'a', 'b' and 'c'"),
        (list("abcdef"), "'a', 'b', 'c', 'd' and 2 more"),
    ],
)
def test_labels_are_listed_as_people_do(labels, shown):
    assert quoted_list(labels) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (0.001, "under 1 %"), (0.5, "50 %"), (0.999, "over 99 %"), (1, "100 %")],
)
def test_a_share_is_all_or_nothing_only_where_it_is(share, shown):
    assert percent(share) == shown


def test_rows_are_counted_and_listed():
    assert (row_count(1), row_count(1200)) == ("1 row", "1,200 rows")
    assert row_list([3], 1) == "row 3"
    assert row_list([3, 4], 2) == "rows 3 and 4"
    assert row_list([3, 4], 9) == "rows 3, 4 and 7 more"
    assert row_list([3, 4000], 9, ["K-17", ""]) == "rows 3 ('K-17'), 4,000 and 7 more"


@pytest.mark.parametrize(
    ("written", "bare"),
    [("Yahoo! News", "yahoonews"), ("bird-song", "birdsong"), ("MSRCv2", "msrcv2"), ("!?", "")],
)
def test_bare_name_drops_case_and_punctuation(written, bare):
    assert bare_name(written) == bare


def test_closest_name_ignores_punctuation():
    assert closest_name("Soccer-Plaier", ["lost", "soccer_player"]) == "soccer_player"


def test_closest_name_is_none_when_nothing_is_near():
    assert closest_name("zebra", ["lost", "glass"]) is None


def test_marked_rows_are_counted_and_the_first_is_named():
    assert describe_table_rows(np.array([False, True])) == "row 2"
    marked = np.arange(5000) >= 999
    assert describe_table_rows(marked) == "4,001 rows, the first is row 1,000"


def test_names_are_joined_for_a_sentence():
    assert join_names(["a", "b"]) == "a, b"
    assert join_names("abcd", most=2) == "a, b and 2 more"
    assert join_names(["p=1, r=2", "p=1, r=3", "q"], most=2, separator=";") == (
        "p=1, r=2; p=1, r=3; and 1 more"
    )
    assert join_names(["x" * 100]) == "x" * 57 + "..."
    assert join_names(["x" * 100], longest=None) == "x" * 100


@pytest.mark.parametrize(
    ("expected", "in_a_table", "in_a_sentence"),
    [
        (0, "0", "no errors are"),
        (0.001, "< 0.1", "fewer than 1 error is"),
        (0.3, "0.3", "fewer than 1 error is"),
        (0.49, "0.5", "fewer than 1 error is"),
        (0.9, "0.9", "about 1 error is"),
        (0.96, "1", "about 1 error is"),
        (1.49, "1", "about 1 error is"),
        (1.5, "2", "about 2 errors are"),
        (31.3, "31", "about 31 errors are"),
        (460.4, "460", "about 460 errors are"),
        (999.6, "1,000", "about 1,000 errors are"),
        (4604.5, "4,600", "about 4,600 errors are"),
        (12_345.6, "12,300", "about 12,300 errors are"),
    ],
)
def test_expected_counts_have_no_digits_that_nobody_could_vouch_for(
    expected, in_a_table, in_a_sentence
):
    assert rough_number(expected) == in_a_table
    assert f"{about(expected, 'error')} {is_or_are(expected)}" == in_a_sentence


@pytest.mark.parametrize(
    ("expected", "count", "number", "verb"),
    [
        (0, "no errors", "none", "are"),
        (0.2, "fewer than 1 error", "fewer than 1", "is"),
        (1.2, "about 1 error", "about 1", "is"),
        (31.3, "about 31 errors", "about 31", "are"),
        (4604.5, "about 4,600 errors", "about 4,600", "are"),
    ],
)
def test_expected_counts_are_whole_numbers_in_sentences(expected, count, number, verb):
    assert about(expected, "error") == count
    assert about_number(expected) == number
    assert is_or_are(expected) == verb


@pytest.mark.parametrize(
    ("sentence", "begun"), [("about AGGD", "About AGGD"), ("", ""), ("Éa", "Éa"), ("éa", "Éa")]
)
def test_a_sentence_begins_with_a_capital_and_keeps_the_others(sentence, begun):
    assert capitalized(sentence) == begun
