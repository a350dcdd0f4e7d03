"""The end of a review in a browser: what came of it, other reviewers, questions, and paper."""

import shlex

import pytest

from cli.command_runs import accepted
from disambig import read_table
from disambig.tabular.provenance import Provenance
from disambig.tabular.questions import Question
from disambig.web.table_report import table_page
from web.conftest import HOSTILE, IS_READY, copy_of
from web.review_process import ReviewProcess
from web.served_reviews import animals
from web.test_keys_in_a_browser import row_on, saved
from web.test_report_in_a_browser import FAINT_TEXTS, press_label

pytestmark = pytest.mark.browser


def test_the_end_gives_the_whole_command_which_takes_the_decisions_in(
    visit, cleaned, tmp_path, monkeypatch
):
    table = copy_of(cleaned, tmp_path)
    review = ReviewProcess(table, "--rows=2")
    try:
        page = visit(review.address)
        chosen = []
        for done in (1, 2):
            chosen.append(page.locator("#choices strong").nth(1).inner_text())
            press_label(page, 2)
            page.wait_for_selector(f"#progress:has-text('{done} of 2')")
        assert page.inner_text("#card-title") == "All rows here are settled"
        assert "You changed 2 of 2 labels" in page.inner_text("#end")
        assert not page.is_visible("#gain")
        assert page.is_visible("#end button:has-text('Copy the command')")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("#end button:has-text('Copy the command')")
        page.wait_for_selector("#end button:has-text('Copied')")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.inner_text("#end pre")
        program, *words = shlex.split(page.inner_text("#end pre"))
        page.keyboard.press("u")
        page.wait_for_selector("#progress:has-text('1 of 2')")
        assert not page.is_visible("#end")
        press_label(page, 2)
        page.wait_for_selector("#end pre")
    finally:
        review.end()
    assert program == "disambig"
    monkeypatch.chdir(tmp_path)
    accepted(*words, f"--out={tmp_path / 'again.csv'}")  # of two, the last counts
    again = read_table(tmp_path / "again.csv")
    assert sorted(again["chosen_label"][again["decision"] == "label"]) == sorted(chosen)


def test_a_report_gives_the_command_for_the_file_that_it_saves(visit, tmp_path):
    command = ("clean", f"a {HOSTILE}.csv", "--out", "b.csv")
    path = tmp_path / "animals.html"
    rows = animals(1, provenance=Provenance(command=command))
    path.write_text(table_page(rows, title="Animals"), encoding="utf-8")
    page = visit(path.as_uri())
    page.locator("#choices").scroll_into_view_if_needed()
    page.keyboard.press("1")
    expected = shlex.join(["disambig", *command, "--decisions", "decisions.csv"])
    assert page.inner_text("#end pre") == expected
    assert "Save the decisions as a CSV file" in page.inner_text("#end")


def test_a_reviewer_is_told_in_the_end_how_many_known_rows_were_right(visit, serve):
    rows = animals(20, 3)
    served = serve(rows)
    (known,) = served.review.data["review"]["checks"]
    truth = rows.values["truth"][known - 1]
    page = visit(served.address)
    for row in [*range(1, 21), known]:
        page.click(f"#list tbody button:text-is('{row}')")
        shown = page.locator("#choices button")
        label = truth if row == known else page.locator("#choices strong").first.inner_text()
        shown.filter(has_text=label).click()
    page.wait_for_selector("#end :text('Of 1 row whose true label is known')")
    assert "1 was answered correctly: 100 %" in page.inner_text("#end")
    assert [line.get("check") for line in served.lines].count(True) == 1
    assert served.review.log.standing().settled.keys() == set(range(20))
    # Neither its row nor its answer counts in what was gained.
    assert "You changed 0 of 20 labels" in page.inner_text("#end")


def test_reviewers_do_not_see_each_other_and_somebody_settles_their_conflicts(visit, serve):
    ann, ben = serve(animals(), reviewer="Ann"), serve(animals(), reviewer="Ben <b>x</b>")
    one, other = visit(ann.address), visit(ben.address)
    for page, keys in ((one, "12"), (other, "13")):
        page.keyboard.type(keys)
        page.wait_for_selector("#progress:has-text('2 of 30')")
        saved(page, "dog" if page is one else "fox")
    one.reload()
    one.wait_for_selector(IS_READY)
    assert "fox" not in one.inner_text("#list tbody tr >> nth=1").split("\t")[-1]
    third = serve(animals(), reviewer="Cleo", conflicts=True)
    page = visit(third.address)
    assert page.inner_text("#progress").startswith("0 of 1 ")
    assert row_on(page) == 2
    said = page.locator("#said li").all_inner_texts()
    assert said == ["Ann: dog", "Ben <b>x</b>: fox"]
    page.keyboard.press("3")
    page.wait_for_selector("#end :text('decided alike in 50 % of 2 rows')")
    assert third.lines[-1]["settles"] is True
    assert "Reviewers disagree" not in page.inner_text("#end")


def test_questions_are_headings_and_one_about_a_label_is_answered_by_yes_or_no(visit, serve):
    class HostileQuestion(Question):
        text = f"dog or cat? {HOSTILE}"

    questions = [
        Question(3, ("cat",), 0.4),
        HostileQuestion(0, ("dog", "cat"), 0.3),
        Question(6, ("dog",), 0.2),
    ]
    served = serve(animals(), questions=questions)
    page = visit(served.address)
    assert page.inner_text("#question") == "is it cat?"
    texts = page.locator("#choices strong").all_inner_texts()
    assert texts == ["yes, cat", "no, not cat", "dog"]
    page.keyboard.press("x")
    saved(page, "not cat")
    assert page.inner_text("#question") == f"dog or cat? {HOSTILE}"
    assert page.locator("#choices strong").all_inner_texts() == ["dog", "cat"]
    page.keyboard.press("1")
    saved(page, "cat")
    page.keyboard.press("y")
    saved(page, "dog")
    assert [(one["row"], one["label"], one.get("answer")) for one in served.lines] == [
        ("4", "cat", "not this"),
        ("1", "cat", None),
        ("7", "dog", None),
    ]
    page.wait_for_selector("#end:visible")


def test_what_was_found_by_cleaning_again_is_told_and_shown_when_wanted(visit, serve):
    served = serve(animals())
    page = visit(served.address)
    assert not page.is_visible("#watch")
    page.evaluate(
        """showWatch({state: "done", decisions: 20, errors: 24.1, errors_before: 31.3})"""
    )
    assert page.inner_text("#watch span") == (
        "Cleaned again with your 20 decisions: about 24 errors expected, about 31 before."
    )
    page.keyboard.press("1")
    page.wait_for_selector("#progress:has-text('1 of 30')")
    saved(page, "cat")
    page.click("#watch button")
    page.wait_for_selector("#watch", state="hidden")
    page.wait_for_selector("#progress:has-text('1 of 30')")
    page.evaluate(f"""showWatch({{state: "failed", message: "{HOSTILE}".replace("/", "/")}})""")
    assert HOSTILE in page.inner_text("#watch.warn")


def test_on_paper_all_rows_are_listed_and_no_card_is_there(visit, tmp_path):
    path = tmp_path / "animals.html"
    path.write_text(table_page(animals(60), title="Animals"), encoding="utf-8")
    page = visit(path.as_uri(), color_scheme="dark")
    page.click("#list-after")
    assert page.inner_text("#list-count") == "26 to 50 of 60 rows"
    page.emulate_media(media="print")
    page.wait_for_selector("#list-count:has-text('1 to 60 of 60 rows')")
    assert page.locator("#list tbody tr").count() == 60
    for part in ("#card", "#progress", "#list-filter"):
        assert not page.is_visible(part)
    assert page.evaluate(FAINT_TEXTS) == []
    page.emulate_media(media="screen")
    page.wait_for_selector("#list-count:has-text('26 to 50 of 60 rows')")
    assert page.is_visible("#card")
