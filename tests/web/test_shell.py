"""One self-contained page, whatever texts are in it."""

from dataclasses import replace

import pandas as pd
import pytest
from markupsafe import Markup

from disambig.tabular.provenance import Provenance
from disambig.web.doubtful_rows import doubtful_data
from disambig.web.markup import element, fragment
from disambig.web.review import review_page
from disambig.web.shell import Section, render_page
from disambig.web.table_report import table_page
from web.hand_made_rows import HOSTILE, five_rows
from web.page_checks import check_self_contained

SIGNS = [HOSTILE, "]]>", "&lt;b&gt;", "\u2028\u2029", "{{ 7 * 7 }}", "\\", '" onload="x', "'"]


def test_texts_of_elements_and_attributes_are_escaped():
    made = element("p", {"title": '"><b>', "hidden": True, "id": None, "lang": False}, "a < b & c")
    assert made == '<p title="&#34;&gt;&lt;b&gt;" hidden>a &lt; b &amp; c</p>'
    assert element("p", None, made) == f"<p>{made}</p>"
    assert element("br") == "<br>"
    assert fragment("<", element("i", None, ">")) == "&lt;<i>&gt;</i>"
    assert isinstance(made, Markup)


def test_numbers_have_no_more_digits_than_a_screen_has_pixels():
    assert element("rect", {"x": 1 / 3, "y": 12, "width": 1e6}) == (
        '<rect x="0.333333" y="12" width="1e+06"></rect>'
    )


@pytest.mark.parametrize("text", SIGNS)
def test_no_text_gets_out_of_its_place(text):
    page = render_page(
        title=text,
        lead=text,
        sections=[Section("one", text, element("p", None, text)), Section("two", "Two", Markup())],
        data={"things": {"a": text, text: [text]}},
    )
    read = check_self_contained(page)
    assert read.data("things") == {"a": text, text: [text]}
    tags = [tag for tag, _ in read.elements]
    assert tags.count("script") == 1 + 2  # the data, and two programs
    assert tags.count("h1") == 1
    assert "<!--" not in page


def test_data_is_inert_to_a_parser_of_html():
    page = render_page(title="t", lead="l", sections=[], data={"things": "<&>\u2028\u2029 é"})
    assert (
        '<script type="application/json" id="things">"\\u003c\\u0026\\u003e\\u2028\\u2029 é"'
        in page
    )


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        render_page(title="t", lead="l", sections=[], data={"things": float("nan")})


def test_a_page_of_a_server_may_talk_to_it_and_to_nobody_else():
    page = render_page(title="t", lead="l", sections=[], connects=True)
    check_self_contained(page, connects=True)


def test_a_page_without_scripts_allows_none():
    page = render_page(title="t", lead="l", sections=[], scripts=())
    assert "script-src &#39;none&#39;" in page
    assert "<script" not in page


@pytest.mark.parametrize("text", [HOSTILE, '"><img src=x onerror=alert(1)>', "a\u2028b"])
def test_hostile_labels_columns_and_cells_stay_data(text):
    rows = five_rows(
        [{text: 0.6, "b": 0.4}, *[{"b": 1.0}] * 4],
        values=pd.DataFrame({text: [text] * 5}),
        id=None,
        group=text,
        provenance=Provenance(
            judged_by=text,
            made_at=text,
            command=(text,),
            calibrated_on=text,
            about={text: text},
        ),
        histories=[{"T": [0.1, 0.2]}],
        per_network={0: [[0.5, 0.5]]},
    )
    rows = replace(rows, candidates=rows.candidates.with_groups([text] * 5))
    served = review_page(doubtful_data(rows, saved_in=text), title=text)
    for page, connects in (
        (table_page(rows, title=text, source=text, command=[text]), False),
        (served, True),
    ):
        read = check_self_contained(page, connects=connects)
        payload = read.data("doubtful")
        assert text in payload["classes"]
        assert payload["columns"] == [text]
        assert [row[-1] for row in payload["rows"]] == [[text]] * 3
        assert payload["groups"]["names"] == [text]
        assert "<script>alert" not in page


def test_a_review_says_where_decisions_go():
    data = doubtful_data(five_rows(), most=2, saved_in="my decisions.csv")
    page = review_page(data, title="Review")
    read = check_self_contained(page, connects=True)
    assert read.data("doubtful")["savedIn"] == "my decisions.csv"
    assert len(read.data("doubtful")["rows"]) == 2
    assert "saved to my decisions.csv at once" in read.text
