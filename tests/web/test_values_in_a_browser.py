"""What a review shows of a row: pictures and texts first, links, and why."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from waiting import wait_until
from web.conftest import HOSTILE, NARROW
from web.served_reviews import LABELS, animals
from web.test_keys_in_a_browser import row_on
from web.test_report_in_a_browser import FAINT_TEXTS

pytestmark = pytest.mark.browser

HOSTILE_NAME = '"><b onclick=x>&?row=1#.png'


def with_values(n_rows: int = 30, **columns):
    rows = animals(n_rows)
    return animals(n_rows, values=rows.values.assign(**columns).drop(columns="truth"))


def test_a_long_text_comes_first_in_full_width_and_in_full(visit, serve):
    texts = [f"{HOSTILE} number {row}, " + "word " * 200 + "the end" for row in range(30)]
    served = serve(with_values(**{f"story {HOSTILE}": texts}))
    page = visit(served.address)
    page.wait_for_selector("#texts .text:has-text('the end')")
    assert page.inner_text("#texts h4") == f"story {HOSTILE}"
    assert page.inner_text("#texts .text").startswith(f"{HOSTILE} number 0,")
    box, card = page.locator("#texts .text").bounding_box(), page.locator("#card").bounding_box()
    assert box["width"] > 0.9 * card["width"]
    assert box["y"] < page.locator("#values").bounding_box()["y"]
    # The next one has been asked for meanwhile: it is there at once.
    page.keyboard.press("s")
    page.wait_for_selector("#texts .text:has-text('number 1,'):has-text('the end')")
    assert "story" not in page.inner_text("#values")


def test_the_first_screen_shows_progress_the_row_and_the_choices(visit, serve):
    columns = {f"value_{number}": ["1.5"] * 30 for number in range(18)}
    page = visit(serve(with_values(**columns)).address)
    page.set_viewport_size({"width": 1280, "height": 800})
    for part in ("#progress", "#values", "#choices", "#other-answers"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] < 800, part


def test_the_choices_of_a_long_row_stay_at_hand_and_keys_wait_until_it_is_seen(visit, serve):
    columns = {f"story {number}": ["word " * 400] * 30 for number in range(3)}
    served = serve(with_values(**columns))
    page = visit(served.address)
    page.set_viewport_size({"width": 1280, "height": 800})
    card = page.locator("#card").bounding_box()
    assert card["height"] > 1200
    page.keyboard.press("1")
    page.wait_for_selector("#status:has-text('Saved')")
    status = page.locator("#status").bounding_box()
    assert status["y"] + status["height"] <= 800
    # Below the fold but for its first lines, which the choices cover.
    page.evaluate("document.querySelector('#card').style.marginTop = '42rem'")
    assert page.locator("#choices").bounding_box()["y"] < 800
    page.keyboard.press("1")
    page.evaluate("document.querySelector('#card').style.marginTop = ''")
    page.keyboard.press("s")
    page.wait_for_selector("#status:has-text('Skipped')")
    assert served.decided == [("1", "cat")]


def test_who_answers_by_a_button_goes_on_at_the_next_row(visit, serve):
    page = visit(serve(animals(2)).address)
    for title in ("Row 2", "All rows here are settled"):
        page.focus("#choices button >> nth=1")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#card-title:has-text('{title}')")
        assert page.evaluate("document.activeElement.id") == "card-title"
        page.keyboard.press("Tab")
        if title == "Row 2":
            assert page.evaluate(
                "document.activeElement === byId('choices').querySelector('button')"
            )


def test_of_many_columns_some_are_shown_until_all_are_wanted(visit, serve):
    columns = {f"value_{number}": [str(number)] * 30 for number in range(40)}
    page = visit(serve(with_values(**columns)).address)
    assert page.locator("#values dt").count() == 24
    page.click("#more-values")
    assert page.locator("#values dt").count() == 42
    page.click("#more-values")
    assert page.locator("#values dt").count() == 24


@pytest.fixture
def pictured(tmp_path):
    """Return rows with pictures, of which the second is missing and the third lies outside."""
    folder = tmp_path / "table"
    folder.mkdir()
    for name in ("one.png", HOSTILE_NAME, "two.png", "../outside.png"):
        Image.new("RGB", (60, 40), "teal").save(folder / name)
    scans = ["one.png", "gone.png", "../outside.png", "", HOSTILE_NAME, *["two.png"] * 25]
    pages = ["https://example.org/1", "javascript:alert(1)", HOSTILE, *["file:///etc/passwd"] * 27]
    return with_values(scan=scans, page=pages), folder


def test_pictures_are_shown_and_others_than_those_of_the_table_are_not(visit, serve, pictured):
    rows, folder = pictured
    page = visit(serve(rows, folder=folder).address, calm=False)
    image = page.locator("#pictures img")
    assert image.get_attribute("alt") == "scan: one.png"
    page.wait_for_function("() => document.querySelector('#pictures img').naturalWidth === 60")
    for name in ("gone.png", "../outside.png"):
        page.keyboard.press("s")
        page.wait_for_selector(f"#pictures .warn:has-text('scan: {name} cannot be shown')")
        assert page.locator("#pictures img").count() == 0
    page.keyboard.press("s")
    assert not page.is_visible("#pictures")
    page.keyboard.press("s")
    assert page.locator("#pictures img").get_attribute("alt") == f"scan: {HOSTILE_NAME}"
    page.wait_for_function("() => document.querySelector('#pictures img').naturalWidth === 60")


def test_a_picture_is_fetched_once_for_a_row(visit, serve, pictured):
    rows, folder = pictured
    page = visit(serve(rows, folder=folder).address)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.click("#list tbody button:text-is('7')")
    page.wait_for_function("() => document.querySelector('#pictures img').naturalWidth === 60")
    page.wait_for_selector("#why-status", state="hidden")
    assert [url.split("?")[1] for url in asked if "picture?" in url] == ["row=7&column=scan"]


def test_only_addresses_of_the_web_are_links_and_nothing_is_fetched(visit, serve, pictured):
    rows, folder = pictured
    page = visit(serve(rows, folder=folder).address, calm=False)
    link = page.locator("#values a")
    assert link.get_attribute("href") == "https://example.org/1"
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert link.get_attribute("target") == "_blank"
    for text in ("javascript:alert(1)", HOSTILE, "file:///etc/passwd"):
        page.keyboard.press("s")
        assert text in page.inner_text("#values")
        assert page.locator("#values a").count() == 0


def test_why_shows_similar_rows_and_where_values_lie_of_the_row_that_is_shown(visit, serve):
    rows = animals(30, 60)
    colours = [HOSTILE if row % 3 == 0 else "red" for row in range(90)]
    rows.values["colour"] = colours
    rows = animals(
        30,
        60,
        values=rows.values,
        features={"number": ["size", "legs"], "category": ["colour"]},
    )
    # Or no row whose true label is known would be shown, and there are no other sure ones.
    served = serve(rows, checks=False)
    page = visit(served.address)
    page.wait_for_selector("#similar table")
    found = page.evaluate("fetch('why?row=1').then((answer) => answer.json())")
    lines = page.locator("#similar tbody tr")
    assert lines.count() == 1 + len(found["similar"]) > 1
    assert lines.first.inner_text().startswith("this row")
    labels = page.locator("#similar tbody th").all_inner_texts()[1:]
    assert labels == [one["label"] for one in found["similar"]]
    (size,) = (one for one in found["ranges"] if one["column"] == "size")
    strips = page.locator("#ranges svg.range")
    said = [one.get_attribute("aria-label") for one in strips.all()]
    for label in size["labels"]:
        (text,) = (one for one in said if one.startswith(f"{label['label']}, {label['rows']} row"))
        assert f"middle half {label['quarter']:.2f} to {label['three_quarters']:.2f}" in text
        assert f"this row at {size['at']:.2f}" in text
    assert HOSTILE in page.inner_text("#why")
    assert "of 20 rows" in page.inner_text("#ranges")  # shares of the colour
    page.keyboard.press("s")
    assert row_on(page) == 2
    page.wait_for_selector("#similar table")
    after = page.evaluate("fetch('why?row=2').then((answer) => answer.json())")
    labels = page.locator("#similar tbody th").all_inner_texts()[1:]
    assert labels == [one["label"] for one in after["similar"]]


def test_a_late_answer_about_an_earlier_row_is_not_shown(visit, serve):
    rows = animals(30, 60)
    page = visit(serve(rows, checks=False).address, calm=False)
    page.wait_for_selector("#similar table")
    held = []
    page.route("**/why?row=7", lambda route: held.append(route))
    page.click("#list tbody button:text-is('7')")
    page.wait_for_selector("#why-status:has-text('Looking')")
    page.click("#list tbody button:text-is('1')")
    page.wait_for_selector("#similar table")
    shown = page.inner_text("#why")
    held[0].continue_()
    page.wait_for_timeout(200)
    assert page.inner_text("#why") == shown


def test_what_a_blind_review_says_of_why_is_in_the_order_of_the_labels(visit, serve):
    page = visit(serve(animals(30, 60), blind=True, checks=False).address)
    for _ in range(3):
        page.wait_for_selector("#similar table")
        labels = page.locator("#similar tbody th").all_inner_texts()[1:]
        assert labels == sorted(labels, key=LABELS.index)
        page.keyboard.press("s")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_choices_stay_at_hand_and_nothing_is_too_wide(visit, serve, scheme):
    texts = ["word " * 400] * 90
    rows = animals(30, 60)
    rows = animals(30, 60, values=rows.values.assign(story=texts))
    page = visit(serve(rows, checks=False).address, color_scheme=scheme)
    page.set_viewport_size(NARROW)
    page.wait_for_selector("#similar table")
    page.evaluate("scrollTo(0, 0)")
    box = page.locator("#answers").bounding_box()
    assert box["y"] + box["height"] <= NARROW["height"] + 1
    assert page.locator("#card").bounding_box()["height"] > NARROW["height"]
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(FAINT_TEXTS) == []


def test_ten_thousand_rows_can_be_settled(visit, serve):
    n_rows = 10_000
    generator = np.random.default_rng(0)
    values = pd.DataFrame({f"x{i}": generator.normal(size=n_rows).round(3) for i in range(5)})
    served = serve(animals(n_rows, values=values, features={"number": list(values)}))
    page = visit(served.address)
    page.keyboard.type("123")
    page.wait_for_selector("#progress:has-text('3 of 10,000')")
    wait_until(lambda: served.decided == [("1", "cat"), ("2", "dog"), ("3", "fox")])
    assert page.inner_text("#list-count") == "1 to 25 of 10,000 rows"
    assert page.inner_text("#list-title") == "All doubtful rows"
