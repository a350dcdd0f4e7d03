"""The keys of a review: they belong to labels, none is lost, and all can be taken back."""

import numpy as np
import pytest

from disambig.web.table_report import table_page
from waiting import wait_until
from web.conftest import HOSTILE
from web.hand_made_rows import five_rows
from web.served_reviews import LABELS, animals

pytestmark = pytest.mark.browser

KEYS = dict(zip(LABELS, "123", strict=True))


def row_on(page) -> int:
    return int(page.inner_text("#card-title").removeprefix("Row "))


def labels_on(page) -> list[str]:
    return page.locator("#choices strong").all_inner_texts()


def saved(page, text: str) -> None:
    page.wait_for_selector(f"#status:has-text('Saved in'):has-text('{text}')")


def test_a_key_means_the_same_label_on_every_row(visit, serve):
    served = serve(animals())
    page = visit(served.address)
    for _ in range(4):
        shown = dict(
            zip(labels_on(page), page.locator("#choices kbd").all_inner_texts(), strict=True)
        )
        assert shown == {label: KEYS[label] for label in shown}
        page.keyboard.press("s")
    page.keyboard.press("?")
    assert page.locator("#label-keys li").all_inner_texts() == ["1 cat", "2 dog", "3 fox"]


def test_the_key_of_a_label_that_the_row_cannot_have_decides_nothing_and_says_so(visit, serve):
    served = serve(animals())
    page = visit(served.address)
    (absent,) = set(LABELS) - set(labels_on(page))
    page.keyboard.press(KEYS[absent])
    page.wait_for_selector(f"#status:has-text('{absent} is not among the candidates')")
    assert (row_on(page), served.lines) == (1, [])


def test_a_burst_of_keys_settles_as_many_rows_each_as_it_was_seen(visit, serve):
    served = serve(animals())
    page = visit(served.address)
    # Rows 1 to 6 may be cat or dog, dog or fox, fox or cat, and so on.
    page.keyboard.type("123c31")
    saved(page, "cat")
    page.wait_for_selector("#progress:has-text('6 of 30')")
    words = ["cat", "dog", "fox", "cannot tell", "fox", "cat"]
    wait_until(lambda: served.decided == [(str(i + 1), word) for i, word in enumerate(words)])


def test_undo_takes_back_one_after_the_other_also_after_a_reload(visit, serve):
    served = serve(animals())
    page = visit(served.address)
    page.keyboard.type("123")
    saved(page, "fox")  # the last of them
    page.reload()
    page.wait_for_selector("#progress:has-text('3 of 30')")
    for row in (3, 2, 1):
        page.keyboard.press("u")
        page.wait_for_selector(f"#progress:has-text('{row - 1} of 30')")
        assert row_on(page) == row
    assert page.is_disabled("#undo")
    assert served.review.log.standing().settled == {}


def test_who_leaves_the_page_before_all_is_saved_is_asked(visit, serve):
    page = visit(serve(animals()).address, calm=False)
    held, asked = [], []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.route("**/decisions", lambda route: held.append(route))
    page.keyboard.press("1")
    wait_until(lambda: page.evaluate("document.title") and held)
    page.evaluate("setTimeout(() => location.reload())")
    wait_until(lambda: page.evaluate("document.title") and asked)
    assert asked == ["beforeunload"]
    held[0].continue_()
    saved(page, "cat")
    page.unroute("**/decisions")
    page.reload()
    page.wait_for_selector("#progress:has-text('1 of 30')")
    assert len(asked) == 1


def test_undo_brings_back_what_was_decided_before(visit, serve):
    served = serve(animals())
    page = visit(served.address)
    page.keyboard.press("1")
    saved(page, "cat")
    page.click("#list tbody button >> nth=0")
    page.keyboard.press("b")
    saved(page, "bad row")
    page.reload()
    page.wait_for_selector("#progress:has-text('1 of 30')")
    page.keyboard.press("u")
    page.wait_for_selector("#status:has-text('Undone')")
    assert "Decided: cat." in page.inner_text("#card-place")
    page.keyboard.press("u")
    page.wait_for_selector("#progress:has-text('0 of 30')")


@pytest.mark.parametrize(
    ("key", "answer"), [("n", "none of these"), ("c", "cannot tell"), ("b", "bad row")]
)
def test_answers_other_than_labels_have_keys_and_are_listed(visit, serve, key, answer):
    served = serve(animals())
    page = visit(served.address)
    page.keyboard.press(key)
    saved(page, answer)
    assert served.lines == [{"row": "1", "label": None, "answer": answer}]
    assert row_on(page) == 2
    assert page.locator("#list tbody tr >> nth=0").locator("td").last.inner_text() == answer
    page.select_option("#state-filter", "settled")
    assert page.locator("#list tbody tr").count() == 1
    page.select_option("#state-filter", "open")
    assert page.inner_text("#list-count") == "1 to 25 of 29 rows"
    page.select_option("#state-filter", "")
    page.click("#list tbody button >> nth=0")
    assert (
        page.locator("#other-answers [aria-pressed=true]")
        .inner_text()
        .endswith(answer.capitalize())
    )


def test_answers_in_a_report_are_saved_with_their_column(visit, tmp_path):
    path = tmp_path / "animals.html"
    path.write_text(table_page(animals(), title="Animals"), encoding="utf-8")
    page = visit(path.as_uri())
    page.locator("#choices").scroll_into_view_if_needed()
    page.keyboard.type("1nb")
    page.wait_for_selector("#progress:has-text('3 of 30')")
    page.reload()
    page.wait_for_selector("#progress:has-text('3 of 30')")
    page.locator("#choices").scroll_into_view_if_needed()
    page.keyboard.press("u")
    page.wait_for_selector("#progress:has-text('2 of 30')")
    with page.expect_download() as download:
        page.click("#export")
    download.value.save_as(tmp_path / "decisions.csv")
    text = (tmp_path / "decisions.csv").read_text(encoding="utf-8")
    assert text == "row,label,answer\n1,cat,\n2,,none of these\n"


def test_of_more_labels_than_keys_the_most_frequent_have_one(visit, tmp_path):
    names = [f"label {number:02}" for number in range(40)]
    # The later a label comes, the more rows may have it.
    shares = [dict.fromkeys(names[first:], 1 / (40 - first)) for first in range(39)]
    rows = five_rows(
        shares,
        second_look=np.ones(39, dtype=bool),
        chosen=np.arange(39),
        values=five_rows().values.iloc[[0] * 39],
    )
    path = tmp_path / "many.html"
    path.write_text(table_page(rows, title="Many"), encoding="utf-8")
    page = visit(path.as_uri())
    page.locator("#choices").scroll_into_view_if_needed()
    page.keyboard.press("?")
    keyed = page.locator("#label-keys li").all_inner_texts()
    assert [text[2:] for text in keyed] == names[-len(keyed) :]
    keys = [text[0] for text in keyed]
    assert len(set(keys)) == len(keys) == 28
    assert not set(keys) & set("usncbyx?")
    assert f"The {len(keyed)} labels" in page.inner_text("#keys-left-out")


def test_blind_hides_what_the_model_says_until_the_answer_is_given(visit, serve):
    rows = animals(miss_probability=np.full(30, 0.9), label_if_missed=np.full(30, 2))
    served = serve(rows, blind=True)
    page = visit(served.address)
    page.wait_for_selector("#similar")
    for _ in range(3):
        # The label of a miss is one among others, and none is the first by its confidence.
        assert labels_on(page) == sorted(labels_on(page))
        assert "fox" in labels_on(page)
        text = page.inner_text("main")
        assert "%" not in page.inner_text("#answers") + page.inner_text("#list")
        assert "not in the set" not in page.inner_text("#answers")
        assert "It would then be" not in text
        page.keyboard.press("s")
    assert page.locator("#answers progress").count() == 0
    row = row_on(page)
    page.keyboard.press(KEYS[labels_on(page)[0]])
    chosen = LABELS[(row - 1) % 3]
    confidence = 100 * rows.confidence[row - 1]
    page.wait_for_selector(f"#status:has-text('The model: {chosen} {confidence:.1f} %')")
    page.click("#list tbody button >> nth=3")
    assert f"{confidence:.1f} %" in page.inner_text("#answers")


def test_a_hostile_label_has_a_key_and_stays_text(visit, serve, tmp_path):
    shares = [{HOSTILE: 0.6, "dog": 0.4}, *({"dog": 1.0},) * 4]
    served = serve(five_rows(shares, second_look=np.arange(5) == 0))
    page = visit(served.address)
    page.keyboard.press("?")
    assert f"1 {HOSTILE}" in page.locator("#label-keys li").all_inner_texts()
    page.keyboard.press("1")
    saved(page, HOSTILE)
    assert served.decided == [("1", HOSTILE)]
    assert page.locator("#end").is_visible()
