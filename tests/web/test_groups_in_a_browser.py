"""Rows that come together, in a real browser: seen together, and told by each other's labels."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from disambig.web.table_report import table_page
from web.hand_made_rows import five_rows
from web.photo_rows import FACES, counted, photo_rows, write_photos
from web.review_process import ReviewProcess
from web.test_report_in_a_browser import FAINT_TEXTS, cells

pytestmark = pytest.mark.browser


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], ReviewProcess]]:
    """Return what starts a review of the six faces, as often as wanted."""
    table = write_photos(tmp_path)
    started: list[ReviewProcess] = []

    def start_review() -> ReviewProcess:
        started.append(ReviewProcess(table))
        return started[-1]

    yield start_review
    for one in started:
        one.end()


def face_on(page) -> str:
    return page.inner_text("#card-title").removeprefix("face ").split(",")[0]


def tiles(page) -> dict[str, str]:
    """Return what is said of every face that is shown together."""
    texts = [text.split("\n") for text in page.locator("#mates button").all_inner_texts()]
    return {lines[0]: ": ".join(line for line in lines[1:] if line) for lines in texts}


def opinions(page) -> dict[str, str]:
    """Return what the first network said of every label."""
    labels = page.locator("#opinions thead th").all_inner_texts()[1:]
    said = page.locator("#opinions tbody tr >> nth=0").locator("td").all_inner_texts()
    return dict(zip(labels, said, strict=True))


def sure(decisions: dict[int, str], face: str) -> str:
    """Return the likeliest label of a face and its confidence, by counting."""
    share = counted(decisions)[FACES.index(face)]
    label = max(share, key=share.__getitem__)
    return f"{label}: {100 * share[label]:.1f} %"


def settle(page, face: str, label: str) -> None:
    """Open a face of the photo that is shown, and choose a label for it."""
    page.click(f"#mates button:has-text('{face}')")
    assert face_on(page) == face
    before = page.inner_text("#gain")
    page.click(f"#choices button:has(strong:text-is('{label}'))")
    page.wait_for_function("text => document.querySelector('#gain').innerText !== text", arg=before)


def open_face(page, face: str) -> None:
    page.fill("#list-filter", face)
    page.click("#list tbody button")
    page.fill("#list-filter", "")
    assert face_on(page) == face


def test_a_row_is_shown_with_the_others_of_its_group_one_click_away(visit, start):
    page = visit(start().address)
    open_face(page, "b2")
    assert page.inner_text("#group-title") == "Together: photo beach"
    assert page.inner_text("#group-promise").startswith(
        "No two of these rows have the same label, as is believed of 90 % of all groups."
    )
    assert tiles(page) == {face: sure({}, face) for face in ("b1", "b2", "b3")}
    assert page.locator("#mates [aria-current]").inner_text().startswith("b2")
    page.click("#mates button:has-text('b1')")  # which nobody doubts
    assert face_on(page) == "b1"
    assert page.evaluate("document.activeElement.innerText").startswith("b1")
    assert page.inner_text("#card-place") == ""
    assert page.inner_text("#values").split() == ["photo", "beach"]
    open_face(page, "alone")
    assert not page.is_visible("#group")


def test_groups_come_one_after_the_other_and_rows_inside_as_in_the_table(visit, start):
    page = visit(start().address)
    by_doubt = sorted(range(1, 6), key=lambda row: max(counted({})[row].values()))
    first = ["b2", "b3"] if by_doubt[0] in (1, 3) else ["g1", "g2"]
    listed = cells(page, "#list", 3)
    assert listed[:2] == first
    assert set(listed) == {"b2", "b3", "g1", "g2", "alone"}
    assert cells(page, "#list", 2)[:2] == [{"b": "beach", "g": "garden"}[first[0][0]]] * 2
    begins = page.locator("#list tbody tr.begins > td:nth-child(3)").all_inner_texts()
    assert len(begins) == 3
    page.click("#list-group button")
    turned = cells(page, "#list", 3)
    assert turned[-2:] == first  # rows of a group stay in their order
    page.locator("#choices").scroll_into_view_if_needed()
    walked = [face_on(page)]
    for _ in range(4):
        page.keyboard.press("s")
        walked.append(face_on(page))
    assert walked == listed
    page.fill("#list-filter", "garden")
    assert cells(page, "#list", 3) == ["g1", "g2"]


def test_settling_one_updates_the_others_and_undoing_it_takes_that_back(visit, start):
    page = visit(start().address)
    open_face(page, "b2")
    facts = page.inner_text("#gain")
    settle(page, "b2", "Ben")
    open_face(page, "b3")
    was = sure({}, "b3").replace("Ben: ", "Ben ")
    assert tiles(page)["b2"] == "Ben: decided"
    assert tiles(page)["b3"] == f"{sure({1: 'Ben'}, 'b3')}, was {was}"
    assert page.locator("#choices strong").first.inner_text() == "Cy"
    errors = sum(1 - max(share.values()) for share in counted({1: "Ben"}))
    assert f"about {errors:.0f} error" in page.inner_text("#progress")
    row = page.locator("#list tbody tr:has(td:text-is('b3'))")
    assert sure({1: "Ben"}, "b3").removeprefix("Cy: ") in row.inner_text()
    page.click("#undo")
    page.wait_for_selector("#status:has-text('Undone')")
    assert face_on(page) == "b2"
    assert tiles(page) == {face: sure({}, face) for face in ("b1", "b2", "b3")}
    assert page.inner_text("#gain") == facts


def test_what_networks_said_stays_with_its_label_when_the_order_changes(visit, start):
    page = visit(start().address)
    open_face(page, "b2")
    said = opinions(page)
    assert said == {"Ada": "50.0 %", "Ben": "30.0 %", "Cy": "20.0 %"}
    before = page.locator("#choices strong").all_inner_texts()
    settle(page, "b3", "Ben")
    open_face(page, "b2")
    labels = page.locator("#choices strong").all_inner_texts()
    assert labels != before
    assert opinions(page) == said


def test_a_row_that_its_group_made_sure_is_not_asked_for_and_one_made_doubtful_is(visit, start):
    page = visit(start().address)
    assert page.inner_text("#progress").startswith("0 of 5 ")
    open_face(page, "g1")
    settle(page, "g1", "Emil")
    # Two faces and two names: the other is Dora.
    assert page.inner_text("#progress").startswith("1 of 5 ")
    assert "Their groups made 1 row sure." in page.inner_text("#gain")
    assert face_on(page) == "b2"
    settle(page, "b2", "Ada")  # which b1 was sure to be
    assert face_on(page) == "b1"  # first what is left of the photo
    assert "b1" in cells(page, "#list", 3)
    assert page.inner_text("#progress").startswith("2 of 6 ")


def test_tabs_reloads_and_new_servers_show_the_same(visit, start):
    review = start()
    one, other = visit(review.address, calm=False), visit(review.address)
    open_face(one, "b2")
    open_face(other, "b2")
    settle(other, "b2", "Ben")
    open_face(other, "b3")
    settle(other, "b1", "Cy")
    open_face(other, "b3")
    seen = tiles(other)
    one.click("#choices button:has(strong:text-is('Cy'))")
    one.wait_for_selector("#status:has-text('settled in another tab')")
    assert tiles(one) == seen  # a conflict tells what has happened
    other.reload()
    other.wait_for_selector("#card-title:not(:empty)")
    open_face(other, "b3")
    assert tiles(other) == seen
    review.end()
    again = visit(start().address)
    open_face(again, "b3")
    assert tiles(again) == seen
    assert seen["b3"].startswith(sure({1: "Ben", 0: "Cy"}, "b3"))


def test_any_row_of_the_group_can_be_settled_and_is_listed_then(visit, start):
    review = start()
    page = visit(review.address)
    open_face(page, "b2")
    settle(page, "b1", "Cy")
    entry = json.loads(review.decisions.read_text(encoding="utf-8"))
    assert (entry["face"], entry["label"]) == ("b1", "Cy")
    assert "b1" in cells(page, "#list", 3)


def test_a_report_shows_groups_and_says_that_decisions_do_not_change_them(visit, tmp_path):
    path = tmp_path / "photos.html"
    path.write_text(table_page(photo_rows(), title="Photos"), encoding="utf-8")
    page = visit(path.as_uri())
    open_face(page, "b2")
    assert "Decisions on this page do not change" in page.inner_text("#group-promise")
    before = tiles(page)
    settle(page, "b2", "Ben")
    assert tiles(page) == before | {"b2": "Ben: decided"}


def test_a_review_that_knows_no_row_by_itself_says_that_decisions_count_later(visit, tmp_path):
    table = write_photos(tmp_path)
    details = tmp_path / "photos-clean.csv.details.json"
    content = json.loads(details.read_text(encoding="utf-8"))
    del content["free_confidences"]  # as after --in-sample
    details.write_text(json.dumps(content), encoding="utf-8")
    review = ReviewProcess(table)
    try:
        page = visit(review.address)
        open_face(page, "b2")
        before = tiles(page)
        assert page.inner_text("#group-promise").endswith(
            "Decisions change how sure the others are only once the table is cleaned again with "
            "them."
        )
        settle(page, "b2", "Ben")
        assert tiles(page) == before | {"b2": "Ben: decided"}
    finally:
        review.end()


def test_of_a_large_group_some_are_shown_and_the_others_counted(visit, tmp_path):
    n_rows = 60
    sets = five_rows([{"cat": 0.6, "dog": 0.4}] * n_rows).candidates
    rows = five_rows(
        [{"cat": 0.6, "dog": 0.4}] * n_rows,
        candidates=sets.with_groups([0] * n_rows),
        second_look=np.ones(n_rows, dtype=bool),
        values=pd.DataFrame({"x": ["1"] * n_rows}),
        group="runs",
    )
    path = tmp_path / "many.html"
    path.write_text(table_page(rows, title="Many"), encoding="utf-8")
    page = visit(path.as_uri())
    assert page.inner_text("#group-title") == "Together: rows 1 to 60"
    assert page.inner_text("#group-promise") == ""
    assert page.locator("#mates button").count() == 24
    assert page.inner_text("#more-mates") == "36 more rows are in this group and not shown."
    page.click("#list-after")
    page.click("#list tbody button >> nth=15")  # row 41
    shown = [int(name.removeprefix("Row ")) for name in tiles(page)]
    assert shown == list(range(29, 53))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_groups_can_be_read_in_light_and_dark_and_on_a_phone(visit, start, scheme):
    page = visit(start().address, color_scheme=scheme)
    open_face(page, "b2")
    settle(page, "b2", "Ben")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(FAINT_TEXTS) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
