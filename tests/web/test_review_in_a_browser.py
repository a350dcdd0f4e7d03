"""The review: a server on this machine, a real browser, and a file of decisions."""

import functools
import http.server
import json
import re
import threading

import pytest

from cli.command_runs import written
from disambig import read_table
from disambig.tabular import read_decisions
from disambig.web import table_page
from web.conftest import HOSTILE
from web.hand_made_rows import five_rows
from web.review_process import ReviewProcess
from web.test_report_in_a_browser import press_label

pytestmark = pytest.mark.browser

SAVED = "#status:has-text('Saved')"


def lines(path):
    """Return which bird, and what was decided, line by line."""
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(entry["bird"], entry["label"]) for entry in entries]


def bird_on(page):
    title = page.locator("#card-title:not(:empty)").inner_text()  # empty until decisions are read
    return title.removeprefix("bird ").split(",")[0]


def label_of(page, place):
    return page.locator("#choices strong").nth(place - 1).inner_text()


def rows_done(page):
    return int(page.inner_text("#progress").split(" of ")[0])


def test_a_decision_is_in_the_file_and_survives_a_reload_and_a_killed_server(visit, review):
    served = review()
    page = visit(served.address)
    first, label = bird_on(page), label_of(page, 2)
    assert page.locator("#opinions tbody tr").count() > 0
    press_label(page, 2)
    page.wait_for_selector(SAVED)
    assert lines(served.decisions) == [(first, label)]
    page.reload()
    assert bird_on(page) != first
    page.wait_for_load_state("networkidle")  # why is fetched for the next row too
    served.end()
    again = visit(review().address)
    assert bird_on(again) == bird_on(page)
    again.fill("#list-filter", first)
    assert again.locator("#list tbody td").last.inner_text() == label


def test_without_its_server_a_page_says_that_nothing_was_saved(visit, review):
    served = review()
    page = visit(served.address, calm=False)
    bird = bird_on(page)
    served.end()
    press_label(page, 1)
    page.wait_for_selector("#status:has-text('Not saved: row ')")
    assert bird_on(page) != bird  # a key that comes now is about this one
    page.keyboard.press("c")
    page.wait_for_selector("#status:has-text('Not saved: rows ')")
    assert re.match(r"Not saved: rows \d+, \d+\. ", page.inner_text("#status"))
    page.click("#status button")
    assert bird_on(page) == bird
    assert page.inner_text("#progress").startswith("0 of ")
    assert not served.decisions.exists()


def test_keys_choose_take_back_and_skip(visit, served, cleaned):
    page = visit(served.address)
    first = bird_on(page)
    before = page.inner_text("#gain")
    page.keyboard.press("s")
    second = bird_on(page)
    assert second != first
    press_label(page, 1)
    page.wait_for_selector(SAVED)
    assert page.inner_text("#gain") != before
    page.keyboard.press("u")
    page.wait_for_selector("#status:has-text('Undone')")
    assert bird_on(page) == second
    assert page.inner_text("#gain") == before
    assert read_decisions(read_table(served.decisions), read_table(cleaned), id="bird") == {}
    page.keyboard.press("9")  # there are not so many labels
    page.keyboard.press("s")
    page.wait_for_selector("#status:has-text('Skipped')")
    assert lines(served.decisions)[-1] == (second, None)


def test_any_label_can_be_chosen_and_rows_filtered_by_what_they_may_be(visit, served):
    page = visit(served.address)
    page.select_option("#class-filter", "stork")
    for _ in range(3):
        assert "stork" in page.inner_text("#choices")
        page.keyboard.press("s")
    bird = bird_on(page)
    page.select_option("#other", HOSTILE)
    assert bird_on(page) == bird  # not before it is said so
    page.click("#choose-other")
    page.wait_for_selector(SAVED)
    assert lines(served.decisions)[-1] == (bird, HOSTILE)
    assert HOSTILE in page.inner_text("#status")


def test_two_tabs_do_not_overwrite_each_other(visit, served):
    one, other = visit(served.address, calm=False), visit(served.address)
    bird, label = bird_on(other), label_of(other, 2)
    press_label(other, 2)
    other.wait_for_selector(SAVED)
    assert bird_on(one) == bird  # it does not know yet
    press_label(one, 1)
    one.wait_for_selector("#status:has-text('settled in another tab')")
    assert f"it is now {label}" in one.inner_text("#status")
    assert lines(served.decisions) == [(bird, label)]
    one.click("#status button")
    assert label in one.inner_text("#card-place")
    changed = label_of(one, 1)
    press_label(one, 1)  # now it does
    one.wait_for_selector(SAVED)
    assert lines(served.decisions) == [(bird, label), (bird, changed)]


def test_a_file_that_is_taken_away_takes_its_decisions_along(visit, served):
    page = visit(served.address)
    birds = []
    for _ in range(3):
        birds.append(bird_on(page))
        press_label(page, 1)
        page.wait_for_selector(f"#card-title:not(:has-text('{birds[-1]}'))")
    page.wait_for_selector("#progress:has-text('3 of ')")
    served.decisions.unlink()
    fourth = bird_on(page)
    press_label(page, 1)
    page.wait_for_selector("#progress:has-text('1 of ')")
    page.keyboard.press("s")
    assert bird_on(page) == birds[0]
    assert [bird for bird, _ in lines(served.decisions)] == [fourth]


def test_a_wrong_token_is_refused(visit, served):
    host, token = served.address.removesuffix("/").rsplit("/", 1)
    page = visit("about:blank", calm=False)
    for address in (f"{host}/", f"{host}/{token[:-1]}x/", f"{host}/{token}x/decisions"):
        assert page.goto(address).status == 403
        assert "heron" not in page.content()


@pytest.fixture
def elsewhere(tmp_path):
    (tmp_path / "other.html").write_text("<!doctype html><title>another site</title>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/other.html"
        server.shutdown()


def test_another_origin_can_neither_read_nor_post_even_if_it_knows_the_address(
    visit, served, elsewhere
):
    page = visit(elsewhere, calm=False)
    for options in ("{}", "{mode: 'no-cors'}"):
        answer = page.evaluate(
            f"fetch('{served.address}decisions', {options}).then((a) => a.text(), () => '')"
        )
        assert answer == ""
    body = '{"row": 1, "label": "heron", "before": null}'
    for kind in ("application/json", "text/plain"):
        for mode in ("cors", "no-cors"):
            page.evaluate(
                f"fetch('{served.address}decisions', {{method: 'POST', mode: '{mode}', "
                f"headers: {{'Content-Type': '{kind}'}}, body: '{body}'}}).catch(() => null)"
            )
    assert not served.decisions.exists()
    page.evaluate(
        f"""new Promise((done) => {{
          const frame = document.createElement('iframe');
          frame.onload = done;
          frame.src = '{served.address}';
          document.body.append(frame);
        }})"""
    )
    assert "heron" not in page.frames[-1].content()
    assert not served.decisions.exists()


@pytest.fixture
def with_misses(cleaned, tmp_path):
    """Return a review in which the set of the most doubtful bird, and no other, may miss."""
    frame = read_table(cleaned)
    doubtful = frame[frame["second_look"] == "True"]["confidence"].astype(float).idxmin()
    candidates = frame.loc[doubtful, "candidate_confidences"]
    label = next(name for name in ("heron", "stork", HOSTILE) if name not in candidates)
    frame["miss_probability"], frame["label_if_missed"] = "0", "heron"
    frame.loc[doubtful, ["miss_probability", "label_if_missed"]] = ["0.83", label]
    review = ReviewProcess(written(tmp_path / cleaned.name, frame))
    yield review, label
    review.end()


def test_a_set_that_may_miss_the_right_label_is_a_case_of_its_own(visit, with_misses):
    served, label = with_misses
    page = visit(served.address)
    page.keyboard.press("s")
    assert not page.is_visible("#miss")  # another bird
    page.select_option("#doubt-filter", "set")
    # The page knows no names of birds without the details of the cleaning.
    first = page.inner_text("#card-title")
    assert page.inner_text("#miss") == (
        f"The set may miss the right label: probability 0.83. It would then be: {label}."
    )
    assert page.locator("#list tbody tr").count() == 1
    assert f"not in the set, 83.0 %: {label}" in page.inner_text("#list tbody")
    assert label_of(page, 1) == label
    assert "not in the set" in page.locator("#choices button").first.inner_text()
    press_label(page, 1)
    page.wait_for_selector(SAVED)
    (decision,) = map(json.loads, served.decisions.read_text(encoding="utf-8").splitlines())
    assert (f"Row {decision['row']}", decision["label"]) == (first, label)
    page.select_option("#doubt-filter", "candidates")
    assert page.inner_text("#card-title") != first
    assert "not in the set" not in page.inner_text("#list tbody")


def test_where_no_set_is_doubted_there_is_no_choice_of_doubts(visit, tmp_path):
    path = tmp_path / "five.html"
    path.write_text(table_page(five_rows(), title="Five"), encoding="utf-8")
    page = visit(path.as_uri())
    assert not page.is_visible("#doubt-filter")
    assert not page.is_visible("#list-doubt")
    assert not page.is_visible("#miss")
    n_cells = page.locator("#list tbody tr >> nth=0").locator("th, td").count()
    assert page.locator("#list thead th:visible").count() == n_cells
