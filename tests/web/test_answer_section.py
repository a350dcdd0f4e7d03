"""The sentences that open a report, in all cases, beside numbers counted by hand."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig.tabular.accuracy import Accuracy
from disambig.tabular.doubt import find_doubt
from disambig.tabular.evidence import gather_evidence
from disambig.tabular.provenance import Provenance
from disambig.web.answer_section import answer_section, minutes, next_step, right_labels
from disambig.web.table_report import table_answer, table_page
from web.hand_made_rows import five_rows, made_rows
from web.page_parts import HOSTILE, Elements, as_tree, assert_safe

CALIBRATED = Provenance(calibrated_on="candidate sets of held-out rows")


def evidence_of(rows, truth=None):
    labels = rows.candidates.classes[rows.chosen]
    return gather_evidence(rows.candidates, labels, rows.confidence, truth)


def paragraphs(rows, evidence="of the rows"):
    """Return what the section says, paragraph by paragraph."""
    if evidence == "of the rows":
        evidence = evidence_of(rows)
    section = answer_section(rows, find_doubt(rows), evidence)
    return Elements(f"<div>{section.body}</div>").texts("p")


def doubtful(confidence, n_rows, labels=("cat", "dog")):
    return [{labels[0]: confidence, labels[1]: 1 - confidence}] * n_rows


SURE = [{"cat": 1.0}]


def test_everything_is_said_of_a_table_with_doubt():
    rows = made_rows(
        [*doubtful(0.75, 80), *doubtful(0.9, 100, ("dog", "fox")), *SURE * 20],
        provenance=replace(CALIBRATED, n_true_labels=40, n_settled=15),
    )
    # Of the 80 rows, 20 are wrong, of the 100 rows 10.
    truth = np.array(["cat"] * 30 + ["dog"] * 10 + [None] * 160, dtype=object)
    said = paragraphs(rows, evidence_of(rows, truth))
    assert said == [
        "About 85 % of the 200 labels are right. About 30 are expected to be wrong. That is an "
        "estimate from confidences calibrated on candidate sets of held-out rows.",
        # (80 * .75 + 100 * .9) / 180 = .83; Wilson's interval of 30 in 40 is .60 to .86.
        "In the 180 rows with several candidates, the model expects 83 % of its choices to be "
        "right; a blind guess would be right in 50 %. The true label of 40 of them is known: "
        "there the choices are right in 75 % (95 % interval: 60 to 86 %). In these rows the "
        "confidences expected about 10 errors, and there are 10.",
        "Of all 200 rows, 20 have a single candidate, in 40 the true label is known and 15 were "
        "settled by hand: they are counted too.",
        "Most of the doubt is cat or dog: about 20 of the 30 expected errors, in 80 rows.",
        # 180 * 5 seconds; the first 50 rows are of confidence .75.
        "Next: look at 180 rows (about 15 minutes at 5 seconds each). If your decisions are "
        "right, no errors are left then. The first 50 rows remove about 13 errors.",
        "Start with the least sure of 180 rows",
    ]


def test_the_answer_leads_to_the_rows_and_stands_out():
    section = answer_section(five_rows(), find_doubt(five_rows()), None)
    tree = as_tree(f"<div>{section.body}</div>")
    (link,) = tree.iter("a")
    assert link.get("href") == "#settle"
    assert [one.text for one in tree.iter("strong")] == [
        "About 75 % of the 5 labels are right.",
        "Most often in doubt is dog or fox",
        "Next: look at 3 rows",
    ]


def test_numbers_are_those_of_a_loop_over_rows():
    generator = np.random.default_rng(4)
    confidence = generator.uniform(0.5, 1, 400)
    shares = [{"cat": c, "dog": 1 - c} for c in confidence]
    marked = confidence < 0.9
    rows = made_rows(shares, marked=marked)
    doubt = sorted((1 - c for c in confidence), reverse=True)
    n_marked = sum(c < 0.9 for c in confidence)
    right, then = (str(one) for one in table_answer(rows))
    wrong = round(sum(doubt))
    assert f"About {100 * (1 - sum(doubt) / 400):.0f} % of the 400 labels are right." in right
    assert f"About {wrong} are expected to be wrong." in right
    assert f"look at {n_marked} rows (about {round(n_marked * 5 / 60)} minutes" in then
    assert f"about {round(sum(doubt[n_marked:]))} errors are left" in then
    assert f"The first 50 rows remove about {round(sum(doubt[:50]))} errors." in then


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        (CALIBRATED, "calibrated on candidate sets of held-out rows"),
        (Provenance(), "the model's own estimate, from confidences that are not known to be"),
        (Provenance(calibrated_on=""), "own estimate, from confidences that were not calibrated."),
        (
            replace(CALIBRATED, has_seen_rows=True),
            "was trained on these rows, so it is overconfident: expect more errors",
        ),
    ],
)
def test_whose_estimate_it_is_is_said(provenance, said):
    rows = five_rows(provenance=provenance)
    assert said in str(right_labels(rows, find_doubt(rows)))


def test_without_rows_to_choose_in_nothing_is_claimed():
    assert paragraphs(made_rows(SURE * 3)) == [
        "All 3 labels were there before. No row has several candidates, so there was nothing to "
        "choose.",
        "Next: nothing. No row is marked for a second look.",
    ]
    assert paragraphs(made_rows(SURE))[0].startswith("The label was there before.")


def test_without_doubt_all_labels_should_be_right():
    rows = made_rows([*doubtful(0.999, 40), *SURE * 2], marked=[False] * 42)
    said = paragraphs(rows)
    assert said[0].startswith(
        "All 42 labels should be right. Fewer than 1 is expected to be wrong."
    )
    assert said[-1] == "Next: nothing. No row is marked for a second look."
    assert not any("doubt is" in one for one in said)
    certain = made_rows(doubtful(1.0, 3))
    assert "None is expected to be wrong." in str(right_labels(certain, find_doubt(certain)))


def test_doubt_without_marked_rows_says_how_to_mark_some():
    rows = made_rows(doubtful(0.6, 10), marked=[False] * 10)
    assert str(next_step(rows, find_doubt(rows))).endswith("again with --errors-to-find 0.9.")
    # Those that are left were answered before: marking them again would not help.
    answered = replace(rows, provenance=replace(CALIBRATED, n_answered=10))
    assert str(next_step(answered, find_doubt(answered))).endswith("for a second look.")
    assert "10 were answered without a label" in " ".join(paragraphs(answered))


def test_one_row_is_spoken_of_as_one():
    rows = made_rows(doubtful(0.7, 1), provenance=replace(CALIBRATED, n_settled=1))
    said = paragraphs(rows, evidence_of(rows, np.array(["dog"], dtype=object)))
    assert said[0].startswith("The label is right with a probability of 70 %.")
    assert said[1] == (
        "One row has several candidates: the model's choice is right with a probability of 70 %, "
        "a blind guess with one of 50 %. Its true label is known: the choice is wrong."
    )
    assert said[-2].startswith("Next: look at 1 row (less than a minute). If")
    assert said[-1] == "Settle it"
    assert len(said) == 4
    assert "Its true label is not known" in paragraphs(rows)[1]


def test_one_error_is_spoken_of_as_one():
    rows = made_rows([*doubtful(0.8, 5), *SURE * 15])
    said = " ".join(paragraphs(rows))
    assert "About 95 % of the 20 labels are right. About 1 is expected to be wrong." in said
    assert "The doubt is cat or dog, in 5 rows." in said
    left = made_rows([*doubtful(0.6, 10), *doubtful(0.9, 10)], marked=[True] * 10 + [False] * 10)
    assert "about 1 error is left then." in str(next_step(left, find_doubt(left)))


def test_the_sentence_on_checked_rows_is_right_for_few_and_for_all():
    rows = made_rows(doubtful(0.9, 10))
    known = np.array(["cat"] * 10, dtype=object)
    said = paragraphs(rows, evidence_of(rows, known))[1]
    assert "The true label of all of them is known: there the choices are right in 100 % (" in said
    assert said.endswith("the confidences expected about 1 error, and there are 0.")
    one = np.array(["cat", *[None] * 9], dtype=object)
    said = paragraphs(rows, evidence_of(rows, one))[1]
    assert said.endswith("The true label of one of them is known: the choice is right.")
    assert "No true label of them is known, so this has not been checked" in paragraphs(rows)[1]


def test_a_model_is_judged_by_rows_that_were_held_out():
    held_out = Accuracy(share=0.81, low=0.7, high=0.88, n_rows=120)
    rows = made_rows(
        doubtful(0.9, 10), provenance=Provenance(has_seen_rows=True, held_out=held_out)
    )
    assert paragraphs(rows)[1].endswith(
        "Models that had not seen the row were right for 81 % (95 % interval: 70 to 88 %) of 120 "
        "rows whose true label is known."
    )


def test_labels_that_confidences_were_calibrated_on_prove_nothing_of_them():
    rows = made_rows(doubtful(0.9, 10), provenance=Provenance(calibrated_on="known true labels"))
    evidence = evidence_of(rows, np.array(["cat"] * 5 + [None] * 5, dtype=object))
    proof = "and there are 0: no proof, because they were calibrated on these labels."
    assert paragraphs(rows, evidence)[1].endswith(proof)
    remark = "calibrated on these labels, so it proves nothing that they agree."
    assert remark in table_page(replace(rows, evidence=evidence), title="x")
    elsewhere = replace(rows, evidence=evidence, provenance=CALIBRATED)
    assert "proves nothing" not in table_page(elsewhere, title="x")


def test_single_labels_that_may_be_wrong_are_counted():
    rows = made_rows(
        [{"cat": 0.6}] * 10, miss_probability=np.full(10, 0.4), label_if_missed=np.full(10, -1)
    )
    said = paragraphs(rows)
    assert said[0].startswith("About 60 % of the 10 labels are right. About 4 are expected")
    assert said[1].endswith("That is 4 of the 4 expected errors.")
    assert said[2].startswith("Next: look at 10 rows (less than a minute at 5 seconds each).")
    assert table_page(rows, title="x").count("<figure") == 3  # the curve, sizes, occurring together


def test_a_guess_by_weights_is_called_so():
    rows = made_rows(doubtful(0.9, 10))
    weighted = CandidateLabels.from_sets([{"cat": 0.7, "dog": 0.3}] * 10)
    evidence = gather_evidence(weighted, np.array(["cat"] * 10), rows.confidence)
    said = paragraphs(rows, evidence)[1]
    assert "the weights alone would be right in 70 %" in said


def test_a_warning_is_part_of_the_answer():
    rows = made_rows(doubtful(0.9, 60))
    truth = np.array(["dog"] * 50 + ["cat"] * 10, dtype=object)
    evidence = evidence_of(rows, truth)
    section = answer_section(rows, find_doubt(rows), evidence)
    (warning,) = Elements(f"<div>{section.body}</div>").texts("p", class_="warn")
    assert warning == evidence.warning
    assert "about 6 choices were expected to be wrong, and 50 are" in warning


def test_several_pairs_are_named_with_their_errors():
    shares = [
        *doubtful(0.6, 40),
        *doubtful(0.6, 30, ("dog", "fox")),
        *doubtful(0.6, 20, ("cat", "fox")),
        *doubtful(0.6, 2, ("fox", "hen")),
    ]
    assert (
        "Most often in doubt is cat or dog: about 16 of the 37 expected errors, in 40 rows. Then "
        "dog or fox (12, in 30 rows) and cat or fox (8, in 20 rows)."
    ) in paragraphs(made_rows(shares))


def test_doubt_that_is_spread_thin_is_not_given_a_name_of_its_own():
    names = [f"l{i:02}" for i in range(12)]
    shares = [{one: 0.6, other: 0.4} for i, one in enumerate(names) for other in names[i + 1 :]]
    assert (
        "The doubt is spread over 66 pairs of labels. The largest is l00 or l01: fewer than 1 of "
        "the 26 expected errors, in 1 row."
    ) in paragraphs(made_rows(shares))


def test_sets_that_may_miss_the_right_label_are_counted():
    shares = [{"cat": 0.3, "dog": 0.1}] * 10 + SURE * 10
    rows = made_rows(
        shares,
        miss_probability=np.array([0.6] * 10 + [0.0] * 10),
        label_if_missed=np.full(20, -1),
    )
    said = paragraphs(rows)
    missing = (
        "About 6 sets are expected to miss the right label: none of the candidates is right there. "
        "That is 6 of the 7 expected errors."
    )
    # 10 * .7 errors, of which one is dog for cat.
    assert said.index(missing) < said.index("The doubt is cat or dog, in 10 rows.")
    few = replace(rows, miss_probability=np.full(20, 0.02))
    assert not any("miss" in one for one in paragraphs(few))


def test_a_page_without_values_says_where_to_look():
    rows = made_rows(doubtful(0.6, 10), values=pd.DataFrame(index=range(10)))
    assert "look at them in your table" in str(next_step(rows, find_doubt(rows)))


@pytest.mark.parametrize(
    ("n_rows", "said"),
    [
        (1, "less than a minute"),
        (11, "less than a minute at 5 seconds each"),
        (12, "about 1 minute at 5 seconds each"),
        (133, "about 11 minutes at 5 seconds each"),
        (1_079, "about 90 minutes at 5 seconds each"),
        (1_080, "about 2 hours at 5 seconds each"),
        (6_942, "about 10 hours at 5 seconds each"),
    ],
)
def test_times_are_those_that_people_say(n_rows, said):
    assert minutes(n_rows) == said


def test_numbers_of_a_large_table_have_separators_and_no_false_precision():
    rows = made_rows([*doubtful(0.6, 11_511), *SURE * 2_000])
    said = " ".join(paragraphs(rows))
    assert "of the 13,511 labels are right. About 4,600 are expected" in said
    assert "In the 11,511 rows with" in said
    assert "Next: look at 11,511 rows (about 16 hours" in said
    assert not re.search(r"\d\.\d", said)


def test_labels_are_text_whatever_they_are():
    rows = made_rows([{HOSTILE: 0.6, "a\x1b[31m": 0.4}] * 20)
    section = answer_section(rows, find_doubt(rows), evidence_of(rows))
    assert_safe(f"<div>{section.body}</div>")
    said = " ".join(paragraphs(rows))
    assert HOSTILE in said
    assert "\x1b" not in said
