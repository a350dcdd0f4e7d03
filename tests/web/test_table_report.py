"""The report on a cleaned table says what can be counted by hand."""

import re

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
from web.hand_made_rows import five_rows
from web.page_checks import ReadPage, check_self_contained
from web.page_parts import Elements


def section(html: str, name: str) -> str:
    """Return the HTML of a section; nothing where the page has none of that name."""
    found = re.search(rf'<section id="{name}".*?</section>', html, re.DOTALL)
    return found[0] if found else ""


def facts(html: str, name: str = "overview") -> dict[str, str]:
    listed = re.findall(r"<li><strong>(.*?)</strong><span>(.*?)</span>", section(html, name))
    return {what: figure for figure, what in listed}


def test_the_overview_counts_rows_and_what_is_expected():
    assert facts(table_page(five_rows(), title="Five")) == {
        "rows": "5",
        "labels": "3",
        "rows with several candidates": "3",
        "candidates per row, on average": "1.80",  # 2 + 1 + 3 + 1 + 2 of 5
        "chosen labels expected to be wrong": "1.2",  # .3 + .5 + .45
        "rows worth a second look": "3",
    }


def test_the_page_opens_with_the_evidence_of_rows_with_several_candidates():
    html = table_page(five_rows(), title="Five")
    assert re.search(r"<section id=\"(.*?)\"", html)[1] == "evidence"
    assert facts(html, "evidence") == {
        "blind guess: one of the candidates at random": "0.444",  # 1/2 + 1/3 + 1/2 of 3
        "expected: the mean confidence of the model&#39;s choices": "0.583",  # .7 + .5 + .55 of 3
        "checked: no true label is known (--truth names their column)": "-",
    }
    assert "Stated confidence" not in html


def test_checked_rows_are_on_the_page_with_a_warning_where_they_disagree():
    sets = CandidateLabels.from_strings(["a|b"] * 60)
    truth = np.array(["b"] * 50 + ["a"] * 10, dtype=object)
    evidence = gather_evidence(sets, np.array(["a"] * 60), np.full(60, 0.9), truth)
    html = table_page(five_rows(evidence=evidence), title="Five")
    assert "0.167" in facts(html, "evidence").values()
    assert "6.0 choices were expected to be wrong, and 50 are" in section(html, "evidence")
    assert "Expected calibration error 0.733" in section(html, "confidence")


def test_there_is_no_evidence_where_every_row_has_one_candidate():
    html = table_page(five_rows([{"cat": 1.0}, *[{"dog": 1.0}] * 4]), title="Five")
    assert section(html, "evidence") == ""


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
        ["dog", "4", "1", "1", "1.000", "0.0", "0"],
        ["fox", "2", "0", "2", "0.525", "0.9", "2"],
    ]


def test_a_label_that_is_never_chosen_has_no_mean():
    rows = five_rows([{"cat": 0.9, "dog": 0.1}, *[{"cat": 1.0}] * 4])
    elements = Elements(section(table_page(rows, title="Five"), "classes"))
    cells = ["".join(cell.itertext()) for cell in list(elements.tree.iter("tr"))[2]]
    assert [cell.strip() for cell in cells if cell.strip()][:4] == ["dog", "1", "0", "0"]
    assert "nan" not in " ".join(cells).lower()


def tips(html: str, name: str) -> list[str]:
    return [tip or "" for tip in Elements(section(html, name)).tips()]


def test_set_sizes_are_drawn_as_they_are():
    said = tips(table_page(five_rows(), title="Five"), "sets")
    assert len(said) == 3 + 9  # three sizes; three labels with each other
    # Two rows with one candidate, two with two, one with three.
    bars = [sorted(map(int, re.findall(r"\d+", tip))) for tip in said[:3]]
    assert bars == [[1, 2], [2, 2], [1, 3]]


def test_confidences_of_rows_with_several_candidates_are_drawn():
    html = table_page(five_rows(), title="Five")
    bars = dict(
        re.match(r"([\d,]+) rows?\nconfidence ([\d.]+)", tip).group(2, 1)
        for tip in tips(html, "confidence")
    )
    assert {low: count for low, count in bars.items() if count != "0"} == {
        "0.50": "1",
        "0.55": "1",
        "0.70": "1",
    }
    assert "3 rows with several candidates." in ReadPage(html).text


def test_epochs_are_drawn_only_where_there_are_any():
    without = table_page(five_rows(), title="Five")
    assert section(without, "training") == ""
    assert "#training" not in without
    histories = [{"T": [0.1, 0.3], "loss": [9, 8]}, {"T": [0.3, 0.5, 0.7], "simple": [None, 1]}]
    drawn = table_page(five_rows(histories=histories), title="Five")
    assert 'href="#training"' in drawn
    html = section(drawn, "training")
    assert "the mean over 2 trainings" in html
    assert "share of simple rows" in html
    assert "agreement of the networks" not in html
    assert "loss" not in re.sub("small losses", "", html)
    said = " ".join(tips(drawn, "training"))
    # (.1 + .3) / 2, (.3 + .5) / 2 and, of one training, .7
    assert all(re.search(rf"\b{value}", said) for value in ("0.2", "0.4", "0.7"))


def test_one_training_is_no_mean():
    html = table_page(five_rows(histories=[{"T": [0.1, 0.3]}]), title="Five")
    assert "one training" in section(html, "training")


def test_only_the_most_frequent_labels_are_drawn_together():
    names = [f"label {number:02}" for number in range(30)]
    shares = [dict.fromkeys(names, 1 / 30), *[{name: 1.0} for name in names[:4]]]
    html = table_page(five_rows(shares), title="Many")
    assert "The 25 most frequent labels; 5 others are left out." in ReadPage(html).text
    assert "&gt; 12" in section(html, "sets")


def test_how_it_was_made_is_told_where_it_is_known():
    html = table_page(
        five_rows(provenance=Provenance(accuracy="Right.", about={"method": "ncpd", "seed": "3"})),
        title="x",
    )
    assert "<dt>method</dt><dd>ncpd</dd><dt>seed</dt><dd>3</dd>" in section(html, "details")
    assert "<p>Right.</p>" in section(html, "overview")
    assert section(table_page(five_rows(), title="x"), "details") == ""


def test_the_page_is_one_file_with_the_rows_to_settle():
    read = check_self_contained(table_page(five_rows(), title="Five", most_rows=2))
    assert [row[0] for row in read.data("doubtful")["rows"]] == [3, 5]
    assert read.data("doubtful")["savedIn"] is None


def test_a_table_of_sure_rows_has_a_page():
    rows = five_rows([{"cat": 1.0}, {"dog": 1.0}] * 2 + [{"cat": 1.0}])
    sure = five_rows(
        [{"cat": 1.0}, {"dog": 1.0}] * 2 + [{"cat": 1.0}], second_look=np.zeros(5, bool)
    )
    assert facts(table_page(sure, title="Sure"))["chosen labels expected to be wrong"] == "0.0"
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
    assert facts(html)["rows"] == "30"
    assert bool(section(html, "training")) == hasattr(model.classifier, "history_")
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
    listed = re.findall(r"<li><strong>(.*?)</strong><span>(.*?)</span>", html)
    assert {what: figure for figure, what in listed} == {
        "sets expected to miss the right label": "2.2",
        "of all sets": "44.0 %",
        "sets that miss it more likely than not": "2",
    }
    assert "Missing most often, in expected rows: cat 1.0, fox 0.5." in html
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
