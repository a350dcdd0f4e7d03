"""The report of a study, opened in a real browser as a file."""

import pytest

from bench.small_reports import CORRUPTION, result_of, small
from bench.small_studies import write_table
from disambig.bench import make_report
from disambig.web import study_page
from web.conftest import NARROW, WIDE
from web.page_parts import HOSTILE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    data = {"path": str(write_table(folder / "small.csv")), "truth": "truth"}
    corruption = CORRUPTION | {"p": [0.2, 0.3, 0.4, 0.6], "r": [1, 2]}
    datasets = [data, data | {"title": HOSTILE, "corruption": corruption}]
    result = result_of(small("plknn", "sure", datasets=datasets, protocol={"kind": "holdout"}))
    page = folder / "study.html"
    page.write_text(study_page(make_report(result)), encoding="utf-8")
    return page


def column(page, table, place):
    return page.locator(f"#{table} tbody tr:not(.summary) > :nth-child({place})").all_inner_texts()


def test_it_opens_without_a_complaint_and_fits_the_window(visit, page_file):
    for scheme in ("light", "dark"):
        page = visit(page_file.as_uri(), color_scheme=scheme)
        for size in (WIDE, NARROW):
            page.set_viewport_size(size)
            assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        assert page.locator("svg").count() >= 4
        assert HOSTILE in page.inner_text("main")


def test_its_tables_sort_and_filter_and_summaries_stay_last(visit, page_file):
    page = visit(page_file.as_uri())
    assert page.locator("#accuracy tbody tr").last.inner_text().startswith("win/tie/loss")
    before = column(page, "accuracy", 2)
    page.click("#accuracy th:nth-child(2) button")
    after = column(page, "accuracy", 2)
    means = [float(text.split()[0]) for text in after]
    assert sorted(after) == sorted(before)
    assert means == sorted(means, reverse=True)
    assert page.locator("#accuracy tbody tr").last.inner_text().startswith("win/tie/loss")
    filtered = page.locator(".data-table:has(input)").all()
    assert filtered
    for table in filtered:
        table.locator("input").fill("no such row")
        assert table.locator("tbody tr:not(.summary):visible").count() == 0
        table.locator("input").fill("")
        assert table.locator("tbody tr:not(.summary):visible").count() > 0
