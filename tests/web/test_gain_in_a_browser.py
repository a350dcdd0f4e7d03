"""What a page says that decisions change: honest numbers, and a warning of blind trust."""

import re

import numpy as np
import pytest

from disambig._core.messages import about_number
from disambig.tabular.evidence import errors_p_value
from disambig.tabular.questions import Question
from disambig.web.table_report import table_page
from web.served_reviews import LABELS, animals
from web.test_keys_in_a_browser import KEYS

pytestmark = pytest.mark.browser


@pytest.fixture
def reported(visit, tmp_path):
    """Return what opens the report on rows, with the row that is settled in sight."""

    def show(rows):
        path = tmp_path / "animals.html"
        path.write_text(table_page(rows, title="Animals"), encoding="utf-8")
        page = visit(path.as_uri())
        page.locator("#choices").scroll_into_view_if_needed()
        return page

    return show


def settle(page, rows, n_rows: int, changed: tuple[int, ...] = ()) -> None:
    """Answer the first rows: as the model does, but for those that are changed."""
    for row in range(n_rows):
        label = LABELS[(row + (row in changed)) % 3]
        page.keyboard.press(KEYS[label])
    page.wait_for_selector(f"#progress:has-text('{n_rows} of {int(rows.second_look.sum())}')")


def about(count: float) -> str:
    return "fewer than 1" if count < 0.5 else f"about {np.floor(count + 0.5):.0f}"


def test_the_chance_of_so_few_changes_is_that_of_a_poisson_binomial(reported):
    page = reported(animals())
    generator = np.random.default_rng(0)
    for n_rows, few in ((1, 0), (12, 2), (60, 9), (300, 55)):
        doubt = generator.uniform(0, 0.5, n_rows)
        found = page.evaluate(
            "([most, chances]) => chanceOfAtMost(most, chances)", [few, doubt.tolist()]
        )
        assert errors_p_value(doubt, few) == pytest.approx(min(1, 2 * found), rel=1e-6)
        # By counting simulated reviews.
        simulated = (generator.random((20_000, n_rows)) < doubt).sum(axis=1) <= few
        assert found == pytest.approx(simulated.mean(), abs=0.02)


def test_numbers_suppose_that_decisions_are_right_and_say_so(reported):
    rows = animals()
    page = reported(rows)
    doubt = 1 - rows.confidence
    assert page.inner_text("#progress").startswith(f"0 of 30 · {about(doubt.sum())} errors left ·")
    settle(page, rows, 6, changed=(1, 4))
    now = about(doubt[6:].sum())
    progress = page.inner_text("#progress")
    assert progress.startswith(f"6 of 30 · {now} errors left if your decisions are right")
    gain = page.locator("#gain li").all_inner_texts()
    assert gain == [
        f"{now.capitalize()} of 30 labels are expected to be wrong if your decisions are right, "
        f"{about(doubt.sum())} before. Once all rows here are settled correctly: fewer than 1.",
        f"You changed 2 of 6 labels; {about(doubt[:6].sum())} were expected to change.",
        f"The 24 rows left: {about(doubt[6:].sum())} expected errors.",
    ]


def test_who_takes_over_the_choice_of_the_model_every_time_is_warned(reported):
    rows = animals()
    page = reported(rows)
    doubt = 1 - rows.confidence
    warned_at = next(n for n in range(10, 30) if np.prod(1 - doubt[:n]) < 0.01)
    settle(page, rows, 9)
    assert np.prod(1 - doubt[:9]) < 0.01  # but nine rows are too few to say so
    assert page.locator("#gain .warn").count() == 0
    settle_one = LABELS[9 % 3]
    page.keyboard.press(KEYS[settle_one])
    page.wait_for_selector("#progress:has-text('10 of 30')")
    assert warned_at == 10
    assert page.inner_text("#gain li >> nth=1").startswith("You changed 0 of 10 labels; about ")
    warning = page.inner_text("#gain .warn")
    assert "the errors may well be where they were" in warning
    assert re.search(r"chance of (less than 1 in 1,000|about 1 in \d+)", warning)


def test_who_changes_about_as_many_as_expected_is_not_warned(reported):
    rows = animals()
    page = reported(rows)
    doubt = 1 - rows.confidence
    changed = (0, 2, 3, 7, 8)
    settle(page, rows, 12, changed=changed)
    assert doubt[:12].sum() == pytest.approx(5.1, abs=0.2)
    assert page.locator("#gain .warn").count() == 0


def test_no_to_the_choice_of_the_model_is_a_change_and_no_to_another_label_tells_nothing(
    visit, serve
):
    rows = animals()
    favourites = [Question(row, (LABELS[row % 3],), 0.4) for row in range(8)]
    others = [Question(row, (LABELS[(row + 1) % 3],), 0.4) for row in range(8, 20)]
    page = visit(serve(rows, questions=[*favourites, *others]).address)
    page.keyboard.type("xxxxyyyy" + "x" * 11)
    page.wait_for_selector("#progress:has-text('19 of 20')")
    doubt = 1 - rows.confidence
    changes = page.inner_text("#gain li >> nth=1")
    assert changes.startswith(f"You changed 4 of 8 labels; {about(doubt[:8].sum())} were")
    assert page.locator("#gain .warn").count() == 0


def test_large_estimates_are_told_as_in_the_sentences_of_a_report(reported):
    page = reported(animals(1))
    counts = [0, 0.49, 0.5, 999.4, 1296.2, 45_678]
    assert page.evaluate("(counts) => counts.map(about)", counts) == [
        "fewer than 1",
        "fewer than 1",
        *map(about_number, counts[2:]),
    ]
    assert page.evaluate("[50, 89 * 60, 60_000].map(durationText)") == [
        "less than a minute",
        "about 89 min",
        "about 17 hours",
    ]


def test_answers_that_name_no_label_remove_no_error(reported):
    rows = animals()
    page = reported(rows)
    before = page.inner_text("#progress").split(" · ")[1]
    page.keyboard.type("cbn")
    page.wait_for_selector("#progress:has-text('3 of 30')")
    assert page.inner_text("#progress").split(" · ")[1].startswith(before)
    # Only "none of these" says something about the choice of the model.
    assert page.inner_text("#gain li >> nth=1").startswith("You changed 1 of 1 label;")


def test_after_enough_answers_the_rest_is_scaled_by_what_they_changed(reported):
    rows = animals(60)
    page = reported(rows)
    doubt = 1 - rows.confidence
    changed = tuple(range(0, 20, 5))
    settle(page, rows, 20, changed=changed)
    scaled = len(changed) / doubt[:20].sum() * doubt[20:].sum()
    last = page.locator("#gain li").last.inner_text()
    assert last == (
        f"The 40 rows left: {about(doubt[20:].sum())} expected errors; going by your answers so "
        f"far, they change {about(scaled)} labels."
    )


def test_the_next_hundred_rows_are_told_where_there_are_more(reported):
    rows = animals(250)
    page = reported(rows)
    expected = (1 - rows.confidence)[:100].sum()
    last = page.locator("#gain li").last.inner_text()
    assert last == f"The next 100 rows: {about(expected)} expected errors."
    assert "about 21 min to go" in page.inner_text("#progress")  # five seconds each


def test_the_time_left_goes_by_the_pace_of_the_reviewer_without_breaks(reported):
    page = reported(animals(1))
    usual, own = page.evaluate(
        """() => {
          let now = 0;
          performance.now = () => now;
          const pace = new Pace(5);
          const usual = pace.secondsEach;
          for (const seconds of [2, 3, 500, 4, 10, 3]) {
            pace.show();
            now += 1000 * seconds;
            pace.answer();
          }
          return [usual, pace.secondsEach];
        }"""
    )
    assert (usual, own) == (5, 3)


def test_rows_of_groups_are_not_judged_as_if_they_were_alone(reported):
    rows = animals()
    pairs = [row // 2 for row in range(30)]
    page = reported(animals(candidates=rows.candidates.with_groups(pairs), group="runs"))
    for _ in range(14):
        page.keyboard.press(page.locator("#choices kbd").first.inner_text())
    page.wait_for_selector("#progress:has-text('14 of 30')")
    assert page.inner_text("#gain").count("You changed 0 of 14 labels") == 1
    assert page.locator("#gain .warn").count() == 0
