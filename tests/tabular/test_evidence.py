"""How many labels are right in rows with several candidates: guessed, expected and checked."""

from itertools import product

import numpy as np
import pytest

from disambig import CandidateLabels, clean_table
from disambig.metrics import expected_calibration_error
from disambig.tabular.evidence import errors_p_value, gather_evidence, measure_reliability
from disambig.tabular.listener import FitListener
from tabular.small_tables import neighbours, three_clouds

SETS = CandidateLabels.from_strings(["a|b", "a|b|c", "c", "b|c"])
CHOSEN = np.array(["a", "b", "c", "c"])
CONFIDENCE = np.array([0.9, 0.6, 1.0, 0.75])
TRUTH = np.array(["a", "c", "b", None], dtype=object)


def test_rows_with_one_candidate_are_left_out():
    found = gather_evidence(SETS, CHOSEN, CONFIDENCE, TRUTH)
    assert found.rows == 3
    assert found.blind_guess == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    assert found.expected == pytest.approx((0.9 + 0.6 + 0.75) / 3)
    # The third row is wrong, but has one candidate only.
    assert (found.checked.share, found.checked.n_rows) == (0.5, 2)
    assert found.reliability.errors == 1
    assert found.reliability.expected_errors == pytest.approx(0.5)


def test_without_true_labels_nothing_is_checked():
    for truth in (None, np.array([None, None, "c", None], dtype=object)):
        found = gather_evidence(SETS, CHOSEN, CONFIDENCE, truth)
        assert (found.checked, found.reliability, found.warning) == (None, None, "")
        assert "checked" not in str(found)


def test_there_is_no_evidence_without_a_row_of_several_candidates():
    assert gather_evidence(SETS[2:3], CHOSEN[2:3], CONFIDENCE[2:3]) is None


def test_the_blind_guess_goes_by_the_weights_where_there_are_some():
    sets = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1}])
    found = gather_evidence(sets, np.array(["a", "a"]), np.array([0.9, 1.0]))
    assert found.blind_guess == pytest.approx(0.75)
    assert "by the weights alone" in str(found)


def test_the_table_has_what_is_guessed_expected_and_checked():
    assert str(gather_evidence(SETS, CHOSEN, CONFIDENCE, TRUTH)).splitlines() == [
        "Right labels in the 3 rows with several candidates:",
        "  blind guess  0.444  one of the candidates at random",
        "  expected     0.750  going by the confidences",
        "  checked      0.500  0.095 to 0.905 (95 %), from 2 true labels",
    ]


def test_bins_hold_every_checked_row_once_and_their_gaps_are_the_calibration_error():
    generator = np.random.default_rng(0)
    confidence = np.concatenate([generator.uniform(0.3, 1, 200), [1.0, 0.0, 0.7]])
    right = generator.random(len(confidence)) < confidence**2
    found = measure_reliability(confidence, right)
    assert sum(one.checked.n_rows for one in found.bins) == len(confidence)
    assert all(one.low <= one.confidence <= one.high for one in found.bins)
    # The same rows as predictions of two classes, of which the first is predicted.
    probabilities = np.column_stack([confidence, 1 - confidence])[confidence >= 0.5]
    few = measure_reliability(confidence[confidence >= 0.5], right[confidence >= 0.5])
    truth = np.where(right[confidence >= 0.5], 0, 1)
    wanted = expected_calibration_error(truth, probabilities, classes=[0, 1], n_bins=10)
    assert few.calibration_error == pytest.approx(wanted)


@pytest.mark.parametrize("errors", range(6))
def test_the_p_value_is_that_of_all_outcomes_counted_one_by_one(errors):
    doubt = np.array([0.05, 0.2, 0.5, 0.0, 0.31])
    fewer = more = 0.0
    for outcome in product((0, 1), repeat=5):
        chance = np.prod(np.where(outcome, doubt, 1 - doubt))
        fewer += chance * (sum(outcome) <= errors)
        more += chance * (sum(outcome) >= errors)
    assert errors_p_value(doubt, errors) == pytest.approx(min(1, 2 * min(fewer, more)), abs=1e-12)


def test_a_small_p_value_is_as_rare_as_it_says_where_confidences_are_right():
    generator = np.random.default_rng(1)
    doubt = generator.uniform(0, 0.5, 60)
    wrong = generator.random((300, 60)) < doubt
    p_values = [errors_p_value(doubt, int(errors)) for errors in wrong.sum(axis=1)]
    # Less than a tenth, because the number of errors is whole.
    assert 0.03 < np.mean(np.array(p_values) < 0.1) < 0.12


def test_a_small_p_value_is_rare_where_rows_of_groups_are_wrong_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 8)
    small = {"rows": 0, "groups": 0}
    for _ in range(200):
        # Wrong in 30 % of the rows, as is said, but in whole groups.
        right = (rng.random(50) < 0.7)[groups]
        for name, known in (("rows", None), ("groups", groups)):
            small[name] += measure_reliability(np.full(400, 0.7), right, known).p_value < 0.05
    assert small["rows"] > 60
    assert small["groups"] < 25


@pytest.mark.parametrize(("n_wrong", "direction"), [(60, "high"), (0, "low")])
def test_a_warning_says_what_was_expected_what_came_and_what_to_do(n_wrong, direction):
    sets = CandidateLabels.from_strings(["a|b"] * 100)
    truth = np.array(["b"] * n_wrong + ["a"] * (100 - n_wrong), dtype=object)
    found = gather_evidence(sets, np.array(["a"] * 100), np.full(100, 0.7), truth)
    assert f"about 30 choices were expected to be wrong, and {n_wrong} are" in found.warning
    assert f"confidences are too {direction}" in found.warning
    assert "--use-truth" in found.warning
    near = np.array(["b"] * 33 + ["a"] * 67, dtype=object)
    assert gather_evidence(sets, np.array(["a"] * 100), np.full(100, 0.7), near).warning == ""


def test_cleaning_warns_where_checked_rows_disagree_with_the_confidences():
    frame = three_clouds(120)
    # Turned around in every row: whatever the method is sure of is wrong.
    turned = {"cat": "dog", "dog": "fox", "fox": "cat"}
    with pytest.warns(UserWarning, match="more than chance explains"):
        clean_table(
            frame.assign(truth=frame["truth"].map(turned)), truth="truth", method=neighbours()
        )


class _Summary(FitListener):
    def on_cleaned(self, summary):
        self.summary = summary


def clean(frame, **options):
    heard = _Summary()
    cleaned = clean_table(frame, truth="truth", method=neighbours(), listener=heard, **options)
    return cleaned, heard.summary


def test_a_known_label_is_chosen_and_sure():
    frame = three_clouds()
    frame["truth"] = frame["truth"].where(frame.index % 3 == 0, "")
    frame.loc[0, ["label", "truth"]] = ["dog|fox", "cat"]  # outside its set
    frame.loc[3, ["label", "truth"]] = ["dog|fox", "cow"]  # nowhere a candidate
    frame.loc[6, ["label", "truth"]] = ["dog", "cat"]
    with pytest.warns(UserWarning, match="not a candidate of any row"):
        cleaned, summary = clean(frame)
    known = frame["truth"] != ""
    assert (cleaned.loc[known, "chosen_label"] == frame.loc[known, "truth"]).all()
    assert (cleaned.loc[known, ["confidence", "margin"]] == 1).all(axis=None)
    assert not cleaned.loc[known, "second_look"].any()
    assert cleaned.loc[[0, 3, 6], "candidate_confidences"].tolist() == [
        "cat:1|dog:0|fox:0", "dog:0|fox:0|cow:1", "cat:1|dog:0"
    ]  # fmt: skip
    assert summary.rows_with_true_label == 20
    assert summary.expected_errors == pytest.approx((1 - cleaned["confidence"][~known]).sum())
    # Of the model: it had chosen another label in the three rows changed above, if no other.
    assert summary.true_labels_not_chosen >= 3
    assert summary.accuracy.share == pytest.approx(1 - summary.true_labels_not_chosen / 20)
    assert f"the model had chosen another in {summary.true_labels_not_chosen}" in str(summary)


def test_one_known_label_is_spoken_of_as_one():
    frame = three_clouds()
    several = frame["label"].str.contains("|", regex=False)
    frame["truth"] = frame["truth"].where(frame.index == several.idxmax(), "")
    _, summary = clean(frame)
    said = str(summary)
    assert "In 1 row the true label is known, and chosen; the model had chosen the same." in said
    assert "(95 %), from 1 true label\n" in said
    assert "Right in 1.000 of the 1 row whose true label is known" in said
    turned = {"cat": "dog", "dog": "fox", "fox": "cat", "": ""}
    with pytest.warns(
        UserWarning, match=r"expected to be wrong, and 1 is\. The difference is more"
    ):
        _, summary = clean(frame.assign(truth=frame["truth"].map(turned)))
    assert str(summary).count("; the model had chosen another.") == 1


def test_other_rows_are_judged_as_if_nothing_were_known():
    frame = three_clouds()
    plain = clean_table(frame.drop(columns="truth"), method=neighbours())
    frame["truth"] = frame["truth"].where(frame.index % 3 == 0, "")
    cleaned, _ = clean(frame)
    others = frame["truth"] == ""
    for column in ("chosen_label", "confidence", "candidate_confidences"):
        assert (cleaned.loc[others, column] == plain.loc[others, column]).all()


def test_a_model_that_has_learned_true_labels_in_sample_is_not_judged_by_them():
    frame = three_clouds()
    frame["truth"] = frame["truth"].where(frame.index % 3 == 0, "")
    frame.loc[0, ["label", "truth"]] = ["dog|fox", "cat"]
    cleaned, summary = clean(frame, use_truth=True, in_sample=True)
    assert cleaned.loc[0, "candidate_confidences"] == "cat:1|dog:0|fox:0"
    assert (summary.accuracy, summary.true_labels_not_chosen) == (None, None)
    assert summary.evidence.checked is None
    assert (
        summary.evidence.rows
        == (frame["label"].str.contains("|", regex=False) & (frame["truth"] == "")).sum()
    )
    assert "cannot be judged by them" in str(summary)
    _, held_out = clean(frame, use_truth=True)
    assert held_out.accuracy.n_rows == 20
