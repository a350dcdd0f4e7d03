"""The report on a cleaned table says what can be counted by hand."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig.tabular.cleaned_table import rows_of_model
from disambig.tabular.evidence import gather_evidence
from disambig.tabular.provenance import Provenance
from disambig.tabular.task import prepare_task
from disambig.web.table_report import table_page
from tabular.small_tables import fit_model, neighbours, quick_network, three_clouds
from web.hand_made_rows import five_rows, made_rows
from web.page_checks import ReadPage, check_self_contained
from web.page_parts import Elements


def section(html: str, name: str) -> str:
    """Return the HTML of a section; nothing where the page has none of that name."""
    found = re.search(rf'<section id="{name}".*?</section>', html, re.DOTALL)
    return found[0] if found else ""


def titles(html: str) -> list[str]:
    return Elements(html).texts("h2")


def test_a_page_answers_first_and_ends_with_how_it_was_made():
    assert titles(table_page(five_rows(), title="Five")) == [
        "How many labels are right",
        "Where errors are expected",
        "Label by label",
        "Settle doubtful rows",
        "How it was made",
    ]
    assert "5 rows and 3 labels." in ReadPage(table_page(five_rows(), title="Five")).text


def test_what_is_known_beyond_the_table_has_its_place():
    sets = CandidateLabels.from_strings(["a|b"] * 60)
    truth = np.array(["b"] * 50 + ["a"] * 10, dtype=object)
    evidence = gather_evidence(sets, np.array(["a"] * 60), np.full(60, 0.9), truth)
    rows = five_rows(
        evidence=evidence,
        miss_probability=np.zeros(5),
        label_if_missed=np.full(5, -1),
        candidates=five_rows().candidates.with_groups(["a", "a", "b", "b", "b"]),
        group="photo",
    )
    html = table_page(rows, title="Five")
    assert titles(html)[3:] == [
        "Settle doubtful rows",
        "Are the confidences right?",
        "Sets that may miss the right label",
        "Rows that come together",
        "How it was made",
    ]
    assert "about 6 choices were expected to be wrong, and 50 are" in section(html, "answer")
    assert "Expected calibration error 0.733" in section(html, "reliability")


def test_a_table_without_doubt_has_no_charts_of_it():
    html = table_page(five_rows([{"cat": 1.0}, *[{"dog": 1.0}] * 4]), title="Five")
    assert section(html, "doubt") == ""
    assert "nothing to choose" in section(html, "answer")


def test_every_label_has_its_numbers():
    html = section(table_page(five_rows(), title="Five"), "classes")
    elements = Elements(html)
    rows = [
        ["".join(cell.itertext()) for cell in row if cell.tag in ("th", "td")]
        for row in elements.tree.iter("tr")
    ]
    # Candidate in, alone in, chosen for, mean confidence, expected wrong, second look.
    assert rows[1:] == [
        ["cat", "3", "1", "2", "0.850", "0.3", "1"],
        ["dog", "4", "1", "1", "1.000", "0", "0"],
        ["fox", "2", "0", "2", "0.525", "1", "2"],
    ]


def test_a_label_that_is_never_chosen_has_no_mean():
    rows = five_rows([{"cat": 0.9, "dog": 0.1}, *[{"cat": 1.0}] * 4])
    elements = Elements(section(table_page(rows, title="Five"), "classes"))
    cells = ["".join(cell.itertext()) for cell in list(elements.tree.iter("tr"))[2]]
    assert [cell.strip() for cell in cells if cell.strip()][:4] == ["dog", "1", "0", "0"]
    assert "nan" not in " ".join(cells).lower()


def tips(html: str, name: str) -> list[str]:
    return [tip or "" for tip in Elements(section(html, name)).tips()]


def test_errors_left_are_drawn_with_the_end_of_the_second_look():
    said = tips(table_page(five_rows(), title="Five"), "doubt")
    # The least sure row is reviewed first: 1.25 less .5, less .45, less .3.
    assert said[:6] == [
        "after 0 rows\nabout 1 error left",
        "after 1 row\nabout 1 error left",
        "after 2 rows\nfewer than 1 error left",
        "after 3 rows\nno errors left",
        "after 4 rows\nno errors left",
        "dog or fox\n0.8, in 2 rows",
    ]
    html = section(table_page(five_rows(), title="Five"), "doubt")
    assert "second look, 3 rows: none left" in html


def test_doubt_is_drawn_by_pair_of_labels():
    html = section(table_page(five_rows(), title="Five"), "doubt")
    tables = Elements(html).tree.findall(".//details//tbody")
    rows = [[[cell.text or "" for cell in row] for row in table] for table in tables]
    # Of row 1, 3 and 5.
    assert rows[1] == [
        ["dog or fox", "0.8", "in 2 rows"],
        ["cat or dog", "0.3", "in 1 row"],
        ["cat or fox", "0.2", "in 1 row"],
    ]
    assert rows[2] == [["fox", "dog", "0.8"], ["cat", "dog", "0.3"], ["fox", "cat", "0.2"]]


def test_many_pairs_and_what_is_outside_the_sets_are_summed_up():
    names = [f"l{i}" for i in range(6)]
    shares = [
        {one: 0.5, other: 0.3}
        for i, one in enumerate(names)
        for other in names[i + 1 :]
        for _ in range(2)
    ]
    html = section(table_page(made_rows(shares), title="Many"), "doubt")
    bars = Elements(html).tree.findall(".//details//tbody")[1]
    rows = [[cell.text or "" for cell in row] for row in bars]
    assert rows[-2:] == [["9 other pairs", "5", "together"], ["none of the candidates", "6", ""]]
    assert len(rows) == 6 + 2


def test_only_the_most_doubtful_labels_are_drawn():
    names = [f"label {number:02}" for number in range(30)]
    shares = [{name: 0.6, "other": 0.4} for name in names]
    html = table_page(made_rows(shares), title="Many")
    assert "The 25 most doubtful labels; 6 others are left out." in section(html, "doubt")


def test_set_sizes_are_drawn_as_they_are():
    said = tips(table_page(five_rows(), title="Five"), "details")
    # Two rows with one candidate, two with two, one with three; three labels with each other.
    assert said[:3] == ["1: 2", "2: 2", "3: 1"]
    assert len([tip for tip in said if " with " in tip]) == 9


def test_confidences_are_drawn_from_the_least_possible_to_one():
    html = section(table_page(five_rows(), title="Five"), "details")
    bars = [tip.split("\nconfidence ") for tip in Elements(html).tips() if "\nconfidence" in tip]
    assert {place: count for count, place in bars if count != "0 rows"} == {
        "0.5 to 0.55": "1 row",
        "0.55 to 0.6": "1 row",
        "0.7 to 0.75": "1 row",
    }
    # Of three candidates one has a third.
    assert (bars[0][1], bars[-1][1]) == ("0.3 to 0.35", "0.95 to 1")
    assert "3 rows with several candidates and no known true label." in html
    assert "second look: up to 0.70" in html
    two = table_page(five_rows([{"cat": 0.7, "dog": 0.3}] * 5), title="Two")
    first = next(tip for tip in tips(two, "details") if "\nconfidence" in tip)
    assert first == "0 rows\nconfidence 0.5 to 0.525"


def test_known_true_labels_are_no_confidences_of_a_model():
    rows = five_rows(unaided_confidences={0: {"cat": 0.6, "dog": 0.4}})
    assert "2 rows with several candidates and no known" in table_page(rows, title="Five")


def test_epochs_are_drawn_only_where_there_are_any_each_in_a_chart_of_its_own():
    assert "How training went" not in table_page(five_rows(), title="Five")
    histories = [{"T": [0.1, 0.3], "loss": [9, 8]}, {"T": [0.3, 0.5, 0.7], "simple": [None, 1]}]
    html = section(table_page(five_rows(histories=histories), title="Five"), "details")
    assert "the mean over 2 trainings" in html
    charts = Elements(html).texts("h3")
    assert charts[charts.index("How training went") + 1 :] == [
        "Share of small losses used, T",
        "Simple rows",
    ]
    said = [tip for tip in Elements(html).tips() if tip.startswith("epoch")]
    # (.1 + .3) / 2, (.3 + .5) / 2 and, of one training, .7
    assert said[:3] == [
        f"epoch: {epoch}\nShare of small losses used, T: {value:.3f}"
        for epoch, value in ((1, 0.2), (2, 0.4), (3, 0.7))
    ]


def test_one_training_is_no_mean():
    html = table_page(five_rows(histories=[{"T": [0.1, 0.3]}]), title="Five")
    assert "one training" in section(html, "details")


def test_only_the_most_frequent_labels_are_drawn_together():
    names = [f"label {number:02}" for number in range(30)]
    shares = [dict.fromkeys(names, 1 / 30), *[{name: 1.0} for name in names[:4]]]
    html = table_page(five_rows(shares), title="Many")
    assert "The 25 most frequent labels; 5 others are left out." in ReadPage(html).text
    assert "&gt; 12" in section(html, "details")


def test_how_it_was_made_is_told_where_it_is_known():
    made = Provenance(
        judged_by="5 models",
        made_at="2026-11-19T20:14:03+00:00",
        command=("clean", "my birds.csv", "--set", "a=<b>"),
        about={"method": "ncpd", "seed": "3"},
    )
    html = table_page(
        five_rows(provenance=made),
        title="x",
        source="my birds.csv",
        command=["report", "clean.csv", "--out", "it's.html"],
    )
    shown = section(html, "details")
    elements = Elements(shown)
    assert elements.texts("dd")[:2] == ["2026-11-19 20:14 UTC", "my birds.csv"]
    assert [shlex.split(line) for line in elements.texts("code")] == [
        ["disambig", *made.command],
        ["disambig", "report", "clean.csv", "--out", "it's.html"],
    ]
    # Each button copies the line beside it, and stays hidden without its script.
    buttons = elements.named("button", class_="copy")
    codes = elements.named("code")
    assert [one.get("data-copy") for one in buttons] == [one.get("id") for one in codes]
    assert all("hidden" in one.attrib for one in buttons)
    assert "<dt>method</dt><dd>ncpd</dd><dt>seed</dt><dd>3</dd>" in shown
    assert "Labels were chosen by 5 models." in ReadPage(html).text


def test_settings_and_charts_of_the_training_are_closed_at_first():
    html = table_page(five_rows(provenance=Provenance(about={"seed": "3"})), title="x")
    (closed,) = Elements(html).named("details", class_="more")
    assert "open" not in closed.attrib
    inside = "".join(closed.itertext())
    assert all(words in inside for words in ("seed", "Set sizes", "Confidence of the chosen"))
    assert not Elements(section(html, "details")).texts("code")


def test_the_page_is_one_file_with_the_rows_to_settle():
    read = check_self_contained(table_page(five_rows(), title="Five", most_rows=2))
    assert [row[0] for row in read.data("doubtful")["rows"]] == [3, 5]
    assert read.data("doubtful")["savedIn"] is None


def test_a_table_of_sure_rows_has_a_page():
    rows = five_rows([{"cat": 1.0}, {"dog": 1.0}] * 2 + [{"cat": 1.0}])
    sure = five_rows(
        [{"cat": 1.0}, {"dog": 1.0}] * 2 + [{"cat": 1.0}], second_look=np.zeros(5, bool)
    )
    assert "All 5 labels were there before." in table_page(sure, title="Sure")
    assert check_self_contained(table_page(rows, title="Sure"))


# Rows of a model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [neighbours(), quick_network()])
def test_the_rows_of_a_model_are_those_it_was_trained_on(method):
    task = prepare_task(three_clouds(30), ignore=["truth"])
    model = fit_model(task.values, task.candidates, task.plan, method)
    rows = rows_of_model(model, errors_to_find=1)
    confidences = model.classifier.candidate_confidence_.toarray()
    np.testing.assert_array_equal(rows.candidates.to_mask(), task.candidates.to_mask())
    np.testing.assert_allclose(rows.confidence, confidences.max(axis=1))
    np.testing.assert_array_equal(rows.chosen, confidences.argmax(axis=1))
    doubt = 1 - confidences.max(axis=1)
    np.testing.assert_array_equal(rows.second_look, doubt >= 1e-3)
    assert rows.provenance.about["features (number)"] == "length, width"
    assert rows.provenance.about["features (category)"] == "colour"
    assert "overconfident" in rows.provenance.judged_by
    assert rows.values.shape == (30, 0)
    html = table_page(rows, title="Model")
    assert "30 rows and 3 labels." in html
    assert "overconfident: expect more errors" in section(html, "answer")
    assert ("How training went" in html) == hasattr(model.classifier, "history_")
    assert check_self_contained(html).data("doubtful")["columns"] == []


def test_classes_that_are_numbers_are_texts_on_a_page():
    frame = pd.DataFrame({"x": range(12), "label": ["1|2", "2", "1"] * 4})
    task = prepare_task(frame, features=["x"])
    rows = rows_of_model(fit_model(task.values, task.candidates, task.plan, neighbours()))
    assert rows.candidates.classes.tolist() == ["1", "2"]


def test_sets_that_may_miss_the_right_label_have_a_section():
    rows = five_rows(
        miss_probability=np.array([0.5, 0.9, 0.1, 0.0, 0.7]),
        label_if_missed=np.array([2, 0, 0, -1, -1]),
        id="photo",
    )
    html = section(table_page(rows, title="Five"), "misses")
    assert (
        "About 2 sets (44 % of all) are expected to miss the right label, 2 of them more likely "
        "than not."
    ) in html
    assert "Missing most often, in expected rows: cat 1, fox 0.5." in html
    cells = [
        ["".join(cell.itertext()) for cell in row if cell.tag in ("th", "td")]
        for row in Elements(html).tree.iter("tr")
    ]
    assert cells[1:] == [
        ["5", "p5", "dog 0.45, fox 0.55", "fox", "0.70", "-"],
        ["1", "p1", "cat 0.70, dog 0.30", "cat", "0.50", "fox"],
    ]


def test_a_report_says_so_where_no_set_is_doubted_and_nothing_where_none_was_judged():
    rows = five_rows(miss_probability=np.zeros(5), label_if_missed=np.full(5, -1))
    html = section(table_page(rows, title="Five"), "misses")
    assert "No row is marked for a second look because of this." in html
    assert "Missing most often" not in html
    assert section(table_page(five_rows(), title="Five"), "misses") == ""


# Rows that come together --------------------------------------------------------------------------


def grouped(shares, groups, promise=None, **changes):
    rows = made_rows(shares, **changes)
    sets = rows.candidates.with_groups(groups, promise=promise)
    return replace(rows, candidates=sets, group="photo")


PHOTO_SHARES = [
    {"cat": 0.9, "dog": 0.1},
    {"cat": 0.6, "dog": 0.4},
    {"cat": 1.0},
    {"cat": 0.2, "dog": 0.8},
    {"dog": 1.0},
]


def test_groups_are_counted_with_what_is_doubtful_in_them():
    html = section(table_page(grouped(PHOTO_SHARES, list("aabbc")), title="x"), "groups")
    assert (
        "4 rows come together in 2 groups (groups of &#39;photo&#39;) of 2 rows each; 1 row is "
        "alone. 2 groups have rows marked for a second look"
    ) in html


@pytest.mark.parametrize(
    ("promise", "meaning", "kept"),
    [
        ("exclusive", "no two rows of a group have the same label", 1),
        ("cover", "every label in the sets of a group belongs to one of its rows", 1),
    ],
)
def test_what_groups_promise_is_compared_with_the_labels(promise, meaning, kept):
    # Two cats in one photo, though dog is a candidate; a cat and a dog in the other.
    html = section(table_page(grouped(PHOTO_SHARES, list("aabbc"), promise), title="x"), "groups")
    assert f"It was believed of 90 % of the groups that {meaning}." in html
    assert f"The chosen labels keep to it in {kept} of 2." in html


def test_groups_in_which_errors_gather_are_noticed():
    shares = [{"cat": 0.5, "dog": 0.5}] * 4 + [{"cat": 1.0}] * 36
    html = section(
        table_page(grouped(shares, [row // 2 for row in range(40)]), title="x"), "groups"
    )
    assert "2 groups have rows marked" in html
    assert "A tenth of the groups has 100 % of their 2 expected errors." in html


def test_rows_that_all_stand_alone_have_no_section_of_groups():
    assert section(table_page(grouped(PHOTO_SHARES, list("abcde")), title="x"), "groups") == ""
