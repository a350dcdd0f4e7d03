import pytest

from disambig.workbench.wording import (
    counted_rows,
    percent,
    printable,
    quoted,
    quoted_list,
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
    assert len(quoted("x" * 100)) == 42


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
    assert (counted_rows(1), counted_rows(1200)) == ("1 row", "1,200 rows")
    assert row_list([3], 1) == "row 3"
    assert row_list([3, 4], 2) == "rows 3 and 4"
    assert row_list([3, 4], 9) == "rows 3, 4 and 7 more"
