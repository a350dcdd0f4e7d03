import pytest

from disambig.bench.formats import Table
from disambig.web.markup import table_html
from web.page_parts import HOSTILE, as_tree, assert_safe, of_class

SMALL = Table(
    "Accuracy",
    ("data", "NCPD", "same", "win", "words"),
    (
        ("glass", "0.811 ± 0.03 •", "1", "12/3/1", "b"),
        ("ecoli", "-", "1", "2/3/1", "a"),
        ("all", "", "", "14/6/2", ""),
    ),
    notes=("A note.", "Another."),
    emphasised=frozenset({(0, 1)}),
    n_summary_rows=1,
)


def of(table, name="accuracy"):
    return as_tree(table_html(table, name=name))


def long(n_rows, **more):
    return Table("t", ("data", "x"), tuple((f"d{i}", str(i)) for i in range(n_rows)), **more)


def test_a_table_has_its_title_cells_and_notes():
    tree = of(SMALL)
    assert tree.get("id") == "accuracy"
    assert tree.find("h3").text == "Accuracy"
    cells = [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]
    assert cells == [list(SMALL.header), *map(list, SMALL.rows)]
    assert [one.text for one in tree.iter("li")] == ["A note.", "Another."]


def test_headers_of_rows_and_columns_say_so_and_what_stands_out_is_strong():
    tree = of(SMALL)
    assert {one.get("scope") for one in tree.find(".//thead").iter("th")} == {"col"}
    assert [row[0].get("scope") for row in tree.findall(".//tbody/tr")] == ["row"] * 3
    assert [one.text for one in tree.iter("strong")] == ["0.811 ± 0.03 •"]


def test_columns_can_be_sorted_where_rows_differ_by_number_or_by_text():
    heads = of(SMALL).findall(".//thead/tr/th")
    kinds = {"".join(one.itertext()): one.get("data-kind") for one in heads}
    assert list(kinds) == list(SMALL.header)
    assert list(kinds.values()) == ["text", "number", None, "number", "text"]
    assert [one.find("button") is not None for one in heads] == [True, True, False, True, True]


def test_rows_that_belong_together_stay_together():
    rows = tuple(row for i in range(20) for row in ((f"d{i}", "ours", "1"), ("", "paper", "2")))
    tree = of(Table("Beside", ("data", "", "NCPD"), rows))
    assert not list(tree.iter("button"))
    assert not list(tree.iter("input"))


def test_the_last_rows_are_marked_as_a_summary():
    rows = of(SMALL).findall(".//tbody/tr")
    assert [row.get("class") for row in rows] == [None, None, "summary"]
    assert [row.get("class") for row in of(long(3)).findall(".//tbody/tr")] == [None] * 3


@pytest.mark.parametrize(("n_rows", "has_filter"), [(8, False), (9, True)])
def test_long_tables_have_a_filter_with_a_label_and_a_count(n_rows, has_filter):
    summary = Table("t", ("data", "x"), (*long(n_rows).rows, ("all", "0")), n_summary_rows=1)
    tree = of(summary)
    labels = list(tree.iter("label"))
    assert bool(labels) == has_filter
    if has_filter:
        assert "".join(labels[0].itertext()).strip() == "Filter"
        assert labels[0].find("input") is not None
        assert of_class(tree, "count")[0].text == "9 rows"


def test_the_frame_of_a_table_can_be_scrolled_by_keyboard_and_the_longest_scroll_below_the_header():
    frames = [of_class(of(long(n_rows)), "scroll")[0] for n_rows in (15, 16)]
    assert [frame.get("tabindex") for frame in frames] == ["0", "0"]
    assert [frame.get("aria-labelledby") for frame in frames] == ["accuracy-title"] * 2
    assert ["tall" in frame.get("class").split() for frame in frames] == [False, True]


def test_texts_of_a_table_are_text_whatever_they_are():
    rows = tuple((f"{HOSTILE}{i}", HOSTILE) for i in range(10))
    table = Table(HOSTILE, (HOSTILE, HOSTILE), rows, (HOSTILE,), frozenset({(0, 1)}), 1)
    tree = of(table)
    assert_safe(table_html(table, name="t"))
    assert tree.find("h3").text == HOSTILE
    assert not list(tree.iter("script"))


def test_an_empty_table_has_a_header_all_the_same():
    tree = of(Table("Nothing", ("data", "x"), ()))
    assert len(tree.findall(".//thead/tr/th")) == 2
    assert not tree.findall(".//tbody/tr")
