"""The report of a cleaned table, opened in a real browser as a file."""

import numpy as np
import pytest

from cli.command_runs import accepted
from disambig import read_table
from disambig.tabular import read_decisions
from disambig.web.table_report import table_page
from web.conftest import HOSTILE, IS_READY, NARROW, WIDE
from web.hand_made_rows import five_rows, made_rows

pytestmark = pytest.mark.browser

# The contrast of every text with what is behind it, as WCAG computes it; those below 4.5.
FAINT_TEXTS = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !parent.checkVisibility()) continue;
    // Cells of a heat map are judged by their own test, which knows how dark they are.
    if (parent.closest("script, style, option, :disabled, .on-full, .on-faint")) continue;
    const style = getComputedStyle(parent);
    const color = parent instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(numbers(color)), light(ground(parent))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faint.push(`${walker.currentNode.data.trim()}: ${contrast.toFixed(2)}`);
  }
  return faint;
}"""


def press_label(page, place):
    """Press the key of a choice, which belongs to its label."""
    page.keyboard.press(page.locator("#choices button").nth(place - 1).locator("kbd").inner_text())


def cells(page, table, column):
    return page.locator(f"{table} tbody tr > :nth-child({column})").all_inner_texts()


def test_it_opens_without_a_complaint_and_asks_for_nothing(visit, report):
    page = visit(report.as_uri())
    assert page.title() == "birds-clean.csv"
    assert page.locator("svg").count() >= 4
    titles = page.locator("h2").all_inner_texts()
    assert titles == [
        "How many labels are right",
        "Where errors are expected",
        "Label by label",
        "Settle doubtful rows",
        "Sets that may miss the right label",
        "How it was made",
    ]


def test_a_hostile_label_is_text_wherever_it_is_shown(visit, report):
    page = visit(report.as_uri())  # a dialog, or an error, would be a complaint
    for place in ("#answer", "#doubt", "#classes", "#details", "#choices, #list", "#class-filter"):
        assert HOSTILE in page.locator(place).evaluate_all(
            "elements => elements.map((element) => element.textContent).join(' ')"
        )
    page.select_option("#class-filter", HOSTILE)
    assert HOSTILE in page.inner_text("#choices")
    page.locator("#choices").scroll_into_view_if_needed()
    press_label(page, 1)
    page.wait_for_selector("#status:has-text('Saved')")
    assert page.evaluate("document.scripts.length") == page.evaluate(
        "document.querySelectorAll('body > script').length"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window_and_every_text_can_be_read(visit, report, scheme):
    page = visit(report.as_uri(), color_scheme=scheme)
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        assert page.evaluate(FAINT_TEXTS) == []


def test_in_print_it_is_dark_on_white_without_controls(visit, report):
    page = visit(report.as_uri(), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate(FAINT_TEXTS) == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert not page.is_visible("#list-filter")


def test_the_answer_is_on_the_first_screen_and_leads_to_the_rows(visit, report):
    page = visit(report.as_uri())
    link = page.locator("#answer a.button")
    box = link.bounding_box()
    assert box["y"] + box["height"] < WIDE["height"]
    assert "of the 60 labels are right" in page.inner_text("#answer")
    link.click()
    page.wait_for_function("document.querySelector('#settle').getBoundingClientRect().top < 100")


def test_the_numbers_of_the_answer_are_those_of_the_table(visit, report, cleaned):
    table = read_table(cleaned)
    confidence = table["confidence"].astype(float)
    marked = table["second_look"] == "True"
    said = visit(report.as_uri()).inner_text("#answer")
    assert f"About {100 * confidence.mean():.0f} % of the 60 labels" in said
    assert f"About {(1 - confidence).sum():.0f} are expected to be wrong" in said
    assert f"look at {marked.sum()} rows" in said
    several = table["label"].str.contains("|", regex=False)
    expected = f"the model expects {100 * confidence[several].mean():.0f} % of its choices"
    assert f"In the {several.sum()} rows with several candidates, {expected}" in said


def test_what_is_closed_is_open_on_paper_and_closed_again_afterwards(visit, report):
    page = visit(report.as_uri())
    page.evaluate(
        """() => {
          window.opened = [];
          const count = () => document.querySelectorAll("details[open]").length;
          addEventListener("beforeprint", () => opened.push(count()));
          addEventListener("afterprint", () => opened.push(count()));
        }"""
    )
    assert page.pdf().startswith(b"%PDF")
    opened = page.evaluate("opened")
    assert opened == [page.locator("details").count(), 0]


@pytest.fixture
def without_scripts(chromium, report):
    """Return the report as a browser shows it that runs no scripts."""
    context = chromium.new_context(viewport=WIDE, java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    yield page
    context.close()


def test_style_alone_opens_what_is_closed_on_paper(without_scripts):
    settings = without_scripts.locator("#details .more dl")
    assert not settings.is_visible()
    without_scripts.emulate_media(media="print")
    assert settings.is_visible()
    assert settings.bounding_box()["height"] > 0


def test_nothing_is_wider_than_the_paper(visit, report):
    page = visit(report.as_uri())
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with margins of a centimetre
    page.evaluate("document.querySelector('#settle').remove()")
    cut = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
          .filter((one) => one.checkVisibility() && !one.closest("svg"))
          .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
          .map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert cut == []


def test_a_command_is_copied_whole(visit, report):
    page = visit(report.as_uri(), permissions=["clipboard-read", "clipboard-write"])
    line = page.inner_text("#page-again")
    page.click("[data-copy=page-again]")
    page.wait_for_selector("[data-copy=page-again]:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == line
    assert line.startswith("disambig report ")


def test_a_command_is_selected_where_the_clipboard_is_closed(visit, report):
    page = visit(report.as_uri())
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('closed')); }"
    )
    page.click("[data-copy=clean-again]")
    page.wait_for_selector("[data-copy=clean-again]:has-text('copy it now')")
    assert page.evaluate("String(getSelection())") == page.inner_text("#clean-again")


def test_without_scripts_there_is_no_button_that_does_nothing(without_scripts):
    assert without_scripts.is_visible("#clean-again")
    assert not without_scripts.is_visible("[data-copy=clean-again]")


def test_words_are_not_broken_where_there_is_room_for_them(visit, tmp_path):
    label = "maximum_length_aspect_ratio"
    rows = five_rows([{label: 0.6, "other correspondence": 0.4}] * 5)
    (tmp_path / "page.html").write_text(table_page(rows, title="five"), encoding="utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        whole, broken = page.evaluate(
            """(words) => {
              let whole = 0;
              const found = [];
              const walker = document.createTreeWalker(
                document.querySelector("main"), NodeFilter.SHOW_TEXT);
              while (walker.nextNode()) {
                const { data } = walker.currentNode;
                for (const word of words) {
                  const start = data.indexOf(word);
                  const parent = walker.currentNode.parentElement;
                  // Text in charts never wraps, and the list of rows has pages of its own.
                  if (start < 0 || !parent.checkVisibility()) continue;
                  if (parent.closest("svg, #settle, script, option")) continue;
                  const range = document.createRange();
                  range.setStart(walker.currentNode, start);
                  range.setEnd(walker.currentNode, start + word.length);
                  if (range.getClientRects().length > 1) found.push(data);
                  else whole += 1;
                }
              }
              return [whole, found];
            }""",
            [label, "correspondence"],
        )
        assert broken == []
        assert whole >= 4  # in the answer and in the table of labels


def test_a_table_that_scrolls_shows_it(visit, tmp_path):
    names = [f"a label with a rather long name, number {place}" for place in range(12)]
    shares = [{name: 0.6, "other": 0.4} for name in names]
    (tmp_path / "page.html").write_text(table_page(made_rows(shares), title="x"), encoding="utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    frame = page.locator("#labels .scroll")
    wide = "frame => frame.scrollWidth > frame.clientWidth"
    assert not frame.evaluate(wide)  # all columns are to be seen
    page.set_viewport_size(NARROW)
    assert frame.evaluate(wide)
    # The shadow stays at the edge, and what covers it moves with the table.
    layers = frame.evaluate("frame => getComputedStyle(frame).backgroundAttachment").split(", ")
    assert layers == ["local", "local", "scroll", "scroll"]


def test_the_table_of_classes_sorts_by_number_and_by_word(visit, report):
    page = visit(report.as_uri())
    page.click("#classes th:has-text('chosen for') button")
    counts = [int(text) for text in cells(page, "#classes", 4)]
    assert counts == sorted(counts, reverse=True)
    page.click("#classes th:has-text('chosen for') button")
    counts = [int(text) for text in cells(page, "#classes", 4)]
    assert counts == sorted(counts)
    page.click("#classes th:has-text('label') button")
    names = cells(page, "#classes", 1)
    assert sorted(names, key=str.casefold) in (names, names[::-1])


def test_the_list_of_rows_sorts_filters_and_turns_pages(visit, report):
    page = visit(report.as_uri())
    shares = [float(text.split()[0]) for text in cells(page, "#list", 4)]
    assert shares == sorted(shares)
    page.click("#list th:has-text('Confidence') button")
    assert page.get_attribute("#list th:has-text('Confidence')", "aria-sort") == "descending"
    turned = [float(text.split()[0]) for text in cells(page, "#list", 4)]
    assert turned == sorted(turned, reverse=True)
    assert turned[0] > shares[0]
    before = page.inner_text("#list-count")
    page.click("#list-after")
    assert page.inner_text("#list-count") != before
    page.fill("#list-filter", "b0 HERON")
    names = cells(page, "#list", 2)
    assert names
    assert all(name.startswith("B0") for name in names)
    assert all("heron" in text for text in cells(page, "#list", 5))
    page.fill("#list-filter", "no such thing")
    assert page.inner_text("#list-count") == "No row matches."


def test_a_chart_tells_its_numbers_to_the_mouse_and_to_the_keyboard(visit, report, cleaned):
    page = visit(report.as_uri())
    page.click("#details .more > summary")
    bars = page.locator("#details svg").first
    bars.locator(".mark").first.hover()
    alone = sum("|" not in label for label in read_table(cleaned)["label"])
    assert page.inner_text("#tip") == f"1: {alone}"
    page.mouse.move(0, 0)
    assert page.is_hidden("#tip")
    bars.focus()
    page.keyboard.press("ArrowRight")
    first = page.inner_text("#tip")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#tip") != first
    page.keyboard.press("Escape")
    assert page.is_hidden("#tip")


def test_everything_can_be_reached_by_the_tab_key(visit, report):
    page = visit(report.as_uri())
    page.evaluate(
        """() => {
          window.reached = [];
          const name = (one) => one.id || `${one.tagName}:${one.textContent}`;
          document.addEventListener("focusin", (event) => reached.push(name(event.target)));
        }"""
    )
    for _ in range(120):
        page.keyboard.press("Tab")
    reached = set(page.evaluate("reached"))
    assert {"class-filter", "other", "skip", "list-filter", "list-after"} <= reached
    assert "A:Skip to the content" in reached
    assert "BUTTON:chosen for" in reached


def test_decisions_survive_a_reload_and_leave_as_a_file_that_clean_takes(visit, report, cleaned):
    page = visit(report.as_uri())
    first = page.inner_text("#card-title")
    page.keyboard.press("1")  # on top of the page, where no row is seen
    page.keyboard.press("s")
    assert page.inner_text("#card-title") == first
    assert page.is_disabled("#export")
    page.locator("#choices").scroll_into_view_if_needed()
    press_label(page, 1)
    page.wait_for_selector("#status:has-text('Saved in this browser')")
    page.keyboard.press("s")
    page.wait_for_selector("#status:has-text('Skipped')")
    press_label(page, 2)
    page.wait_for_selector("#status:has-text('Saved in this browser')")
    page.reload()
    page.wait_for_selector(IS_READY)
    page.wait_for_selector("#progress:has-text('2 of ')")
    assert page.inner_text("#card-title") != first
    with page.expect_download() as download:
        page.click("#export")
    path = cleaned.with_name("exported.csv")
    download.value.save_as(path)
    exported = read_table(path)
    assert list(exported.columns) == ["bird", "label", "answer"]
    decided = read_decisions(exported, read_table(cleaned), id="bird")
    assert len(decided) == 2
    original, again = cleaned.with_name("birds.csv"), cleaned.with_name("again.csv")
    accepted(
        *("clean", original, "--id", "bird", "--ignore", "remark", "--method", "plknn"),
        *("--decisions", path, "--out", again),
    )
    settled = read_table(again)
    for row, label in decided.items():
        assert settled["chosen_label"][row] == label
        assert settled["second_look"][row] == "False"


def test_no_figure_is_below_zero_because_confidences_are_rounded(visit, tmp_path):
    shares = [{"cat": 0.50004, "dog": 0.49996}] * 5
    rows = five_rows(shares, second_look=np.ones(5, dtype=bool))
    (tmp_path / "page.html").write_text(table_page(rows, title="five"), encoding="utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    assert page.inner_text("#gain li >> nth=0").endswith("settled correctly: fewer than 1.")
