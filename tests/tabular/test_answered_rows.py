"""What answers other than a label mean for cleaning and fitting."""

import numpy as np
import pandas as pd
import pytest

from disambig import clean_table, fit_table
from disambig._core.errors import TableError
from disambig.tabular import Answer, NotThese, read_cleaned, write_table
from disambig.tabular.clean_details import details_path, read_details
from disambig.tabular.cleaned_table import rows_of_model
from disambig.tabular.table_model import load_model
from tabular.small_tables import neighbours, three_clouds

FRAME = three_clouds()
LABELS = sorted({label for cell in FRAME["label"] for label in cell.split("|")})


def cleaned_with(decisions, **options):
    return clean_table(FRAME, ignore=["truth"], method=neighbours(), decisions=decisions, **options)


def ambiguous_rows(cleaned):
    return np.flatnonzero(FRAME["label"].str.contains("|", regex=False) & cleaned["second_look"])


@pytest.fixture(scope="module")
def plain():
    return clean_table(FRAME, ignore=["truth"], method=neighbours(), errors_to_find=1.0)


def shares_of(cell):
    return {name: float(share) for name, share in (part.rsplit(":", 1) for part in cell.split("|"))}


def test_a_row_that_nobody_can_tell_keeps_its_candidates_and_is_not_marked_again(plain):
    row = int(ambiguous_rows(plain)[0])
    again = cleaned_with({row: Answer.CANNOT_TELL}, errors_to_find=1.0)
    assert not again["second_look"][row]
    assert shares_of(again["candidate_confidences"][row]) == shares_of(
        plain["candidate_confidences"][row]
    )
    assert again["decision"][row] == "cannot tell"
    assert set(again["decision"].drop(row)) == {""}
    # It does not use up the marks of others.
    others = plain["second_look"].drop(row)
    assert (again["second_look"].drop(row) == others).all()


def test_none_of_these_leaves_all_other_labels(plain):
    row = int(ambiguous_rows(plain)[0])
    again = cleaned_with({row: Answer.NONE_OF_THESE})
    (other,) = set(LABELS) - set(FRAME["label"][row].split("|"))
    assert again["chosen_label"][row] == other
    assert again["confidence"][row] == 1
    assert again["miss_probability"][row] == 0


def test_a_label_that_is_ruled_out_is_no_longer_chosen(plain):
    row = int(ambiguous_rows(plain)[0])
    first, *others = FRAME["label"][row].split("|")
    again = cleaned_with({row: NotThese(frozenset({first}))})
    shares = shares_of(again["candidate_confidences"][row])
    assert list(shares) == others
    assert sum(shares.values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("in_sample", [False, True])
def test_a_bad_row_is_not_learned_from_and_gets_a_label_all_the_same(in_sample):
    row = int(np.flatnonzero(FRAME["label"].str.contains("|", regex=False))[0])
    wrong = (set(LABELS) - set(FRAME["label"][row].split("|"))).pop()
    copies = FRAME.iloc[[row] * 40].assign(label=wrong)
    frame = pd.concat([FRAME, copies], ignore_index=True)
    bad = dict.fromkeys(range(len(FRAME), len(frame)), Answer.BAD_ROW)
    options = {"ignore": ["truth"], "method": neighbours(), "in_sample": in_sample}
    misled = clean_table(frame, **options)
    left_out = clean_table(frame, decisions=bad, **options)
    assert misled["candidate_confidences"][row] != left_out["candidate_confidences"][row]
    assert set(left_out["chosen_label"][len(FRAME) :]) == {wrong}
    assert not left_out["second_look"][len(FRAME) :].any()
    if in_sample:  # as if they were not there
        alone = clean_table(FRAME, **options)["candidate_confidences"]
        assert left_out["candidate_confidences"][: len(FRAME)].equals(alone)


def test_models_are_those_of_the_rows_that_are_not_bad():
    bad = dict.fromkeys(range(0, len(FRAME), 3), Answer.BAD_ROW)
    options = {"ignore": ["truth"], "method": neighbours(), "n_folds": 0}
    left_out = fit_table(FRAME, decisions=bad, **options)
    without = fit_table(FRAME.drop(index=list(bad)).reset_index(drop=True), **options)
    assert left_out.predict(FRAME).equals(without.predict(FRAME))


def test_rows_of_a_model_are_not_told_of_by_other_numbers_than_their_own(tmp_path):
    options = {"ignore": ["truth"], "method": neighbours(), "n_folds": 0}
    fit_table(FRAME, decisions={0: Answer.BAD_ROW}, out=tmp_path / "model", **options)
    with pytest.raises(TableError, match="1 row had been called bad"):
        rows_of_model(load_model(tmp_path / "model"))
    assert len(rows_of_model(fit_table(FRAME, **options)).candidates) == len(FRAME)


def test_all_rows_cannot_be_bad():
    with pytest.raises(TableError, match="nothing to learn from"):
        cleaned_with(dict.fromkeys(range(len(FRAME)), Answer.BAD_ROW))


def test_answers_are_kept_and_read_again(tmp_path):
    out = tmp_path / "clean.csv"
    decisions = {0: Answer.CANNOT_TELL, 3: Answer.BAD_ROW, 5: LABELS[0], 6: Answer.BAD_ROW}
    cleaned = cleaned_with(decisions, out=out)
    details = read_details(details_path(out))
    assert details.answers == {"cannot tell": 1, "bad row": 2, "label": 1}
    assert details.decisions == 1
    rows = read_cleaned(cleaned, details)
    assert [rows.decision[row] for row in (0, 1, 3, 5)] == ["cannot tell", "", "bad row", "label"]
    assert "decision" not in rows.values
    assert rows.provenance.about["other answers"] == "cannot tell: 1, bad row: 2"


def test_a_column_of_ones_own_may_be_called_decision(tmp_path):
    frame = FRAME.assign(decision="mine")
    cleaned = clean_table(frame, ignore=["truth", "decision"], method=neighbours())
    rows = read_cleaned(cleaned)
    assert rows.decision is None
    assert set(rows.values["decision"]) == {"mine"}
    write_table(cleaned, tmp_path / "clean.csv")
    with pytest.raises(TableError, match="decision"):
        clean_table(frame, ignore=["truth", "decision"], decisions={0: LABELS[0]})
