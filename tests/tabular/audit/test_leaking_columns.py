"""Columns that give the label away, planted among honest ones."""

import re

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, audit_candidates, audit_table
from disambig.candidates import corrupt_controlled
from disambig.tabular.audit.findings import LabelledRows
from disambig.tabular.audit.leaking_columns import column_error, leaking_columns, promising_columns

GENERATOR = np.random.default_rng(0)
CODES = GENERATOR.integers(0, 4, 400)
TRUTH = np.array(["ash", "elm", "fir", "oak"])[CODES]
SETS = corrupt_controlled(TRUTH, p=0.7, r=1, random_state=0)
# Honest features: they tell the class, and not without errors.
HONEST = pd.DataFrame(GENERATOR.normal(size=(400, 3)) + 1.5 * np.eye(4, 3)[CODES]).add_prefix("f")
PLANTS = {
    "a code": np.array([3.0, 1.0, 0.0, 2.0])[CODES],
    "a word": np.array(["A", "B", "C", "D"], dtype=object)[CODES],
    "a date": np.argsort(np.argsort(CODES, kind="stable")) * 1.0,  # the file was sorted
    "half filled": np.where(GENERATOR.random(400) < 0.5, CODES, np.nan),
    "half unknown": np.where(
        GENERATOR.random(400) < 0.5, np.array(["A", "B", "C", "D"], dtype=object)[CODES], "unknown"
    ),
    "with a slip": np.where(np.arange(400) == 7, 0.0, CODES),
}


def found_in(features, sets=SETS):
    labelled = LabelledRows(sets, audit_candidates(sets), np.arange(len(sets)), features)
    return list(leaking_columns(labelled))


def test_honest_columns_are_not_reported():
    assert found_in(HONEST) == []


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_column_is_named(plant):
    (finding,) = found_in(HONEST.assign(planted=PLANTS[plant]))
    assert finding.message.startswith("1 column may give the label away: 'planted'.")
    assert "--ignore" in finding.advice


def test_two_copies_do_not_hide_each_other():
    (finding,) = found_in(HONEST.assign(one=PLANTS["a code"], two=PLANTS["a word"]))
    assert "'one', 'two'" in finding.message


def test_the_message_says_how_many_rows_a_column_tells():
    (finding,) = found_in(HONEST.assign(planted=PLANTS["half filled"]))
    (share,) = re.findall(r"predicts labels of (\d+) % of the held-out rows", finding.message)
    assert 40 < int(share) < 60


def test_a_date_is_named_as_the_column_that_can_be_left_out():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(PLANTS["a date"], unit="D")
    frame = HONEST.assign(label=SETS.to_strings(), when=days.astype(str))
    (finding,) = [one for one in audit_table(frame).findings if one.kind == "leaking_columns"]
    assert finding.message.startswith("1 column may give the label away: 'when'.")
    left = audit_table(frame, ignore="when").findings
    assert "leaking_columns" not in [one.kind for one in left]


def test_embeddings_are_not_named_as_no_option_leaves_out_one_of_them():
    frame = HONEST.assign(label=SETS.to_strings())
    embeddings = np.column_stack([PLANTS["a code"], GENERATOR.normal(size=400)])
    assert audit_table(frame, embeddings=embeddings).findings == ()


def test_on_an_easy_table_a_column_may_be_as_good():
    easy = HONEST + 20 * np.eye(4, 3)[CODES]
    assert found_in(easy.assign(planted=PLANTS["a code"])) == []


def test_a_copy_beside_texts_is_named_though_texts_are_not_compared():
    texts = np.array([f"row {number}" for number in range(400)], dtype=object)
    (finding,) = found_in(pd.DataFrame({"text": texts, "planted": PLANTS["a code"]}))
    assert finding.message.endswith("predicts labels of held-out rows 100 % right.")


def test_the_only_features_of_an_easy_table_are_no_copies():
    assert found_in(pd.DataFrame({"one": PLANTS["a code"]})) == []
    assert found_in(pd.DataFrame({"one": PLANTS["a code"], "two": PLANTS["a date"]})) == []


def test_a_column_of_half_as_many_codes_is_no_copy():
    assert found_in(HONEST.assign(planted=CODES // 2)) == []


def test_a_feature_that_is_sure_of_some_classes_only_is_no_copy():
    # Two of its values are for one class each; two others say little, so neither is a filler.
    mixed = np.where(np.arange(400) % 3 == 0, "C", "D")
    kinds = np.where(CODES < 2, np.array(["A", "B", "", ""])[CODES], mixed).astype(object)
    assert found_in(HONEST.assign(planted=kinds)) == []


def test_texts_and_few_rows_say_nothing():
    texts = np.array([f"row {number}" for number in range(400)], dtype=object)
    assert found_in(HONEST.assign(text=texts)) == []
    assert found_in(HONEST.assign(planted=PLANTS["a code"])[:60], SETS[:60]) == []


def test_the_error_is_over_that_of_labels_that_are_always_wrong():
    held_out = np.arange(400) % 2 == 0
    mask = SETS.to_sparse().astype(np.int32)
    wrong = pd.Series((CODES + 1) % 4)  # learned from the seen rows as what it stands for
    error, told = column_error(wrong, mask, held_out)
    assert error == 0
    assert np.array_equal(told, held_out)
    shuffled = np.random.default_rng(1).permutation(CODES) + np.linspace(0, 0.5, 400)
    assert column_error(pd.Series(shuffled), mask, held_out)[0] > 0.6


def test_rows_whose_value_says_little_are_not_told():
    held_out = np.arange(400) % 2 == 0
    half = pd.Series(PLANTS["half unknown"])
    error, told = column_error(half, SETS.to_sparse().astype(np.int32), held_out)
    assert error == 0
    assert np.array_equal(told, held_out & (half != "unknown").to_numpy())


def test_of_very_many_columns_the_one_that_matters_is_looked_at():
    many = pd.DataFrame(np.random.default_rng(2).normal(size=(400, 500))).add_prefix("n")
    many.insert(250, "planted", PLANTS["a code"])
    places = promising_columns(many, SETS.to_sparse().astype(np.int32))
    assert len(places) == 200
    assert 250 in places
    assert "'planted'" in found_in(many)[0].message


def test_whole_groups_are_held_out():
    # A column that names the group says nothing of other groups.
    group = np.repeat(np.arange(80), 5)
    truth = TRUTH[group]
    sets = CandidateLabels.from_labels(truth).with_groups(group)
    features = HONEST.assign(planted=group * 1.0)
    assert found_in(features, sets) == []


def test_an_audit_names_it_first():
    frame = HONEST.assign(label=SETS.to_strings(), planted=PLANTS["a code"])
    assert audit_table(frame).findings[0].kind == "leaking_columns"
