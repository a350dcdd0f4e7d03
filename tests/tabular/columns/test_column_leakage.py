"""Columns that hold labels are not learned from unless somebody insists."""

import numpy as np
import pandas as pd
import pytest

from disambig.tabular.cleaning import clean_table
from disambig.tabular.fitting import fit_table
from disambig.tabular.task import prepare_task
from tabular.small_tables import neighbours, three_clouds

FRAME = three_clouds()


def test_a_column_of_true_labels_is_left_out_with_a_notice():
    with pytest.warns(UserWarning, match="'truth', which holds labels .* named by --truth"):
        task = prepare_task(FRAME)
    assert task.plan.names == ["length", "width", "colour"]


def test_so_is_a_column_of_sets_of_labels():
    frame = FRAME.rename(columns={"label": "old"}).assign(label=FRAME["truth"])
    with pytest.warns(UserWarning, match="'old', which holds labels"):
        task = prepare_task(frame, truth="truth")
    assert "old" not in task.plan.names


@pytest.mark.parametrize("gap", ["", "NA", "null"])
def test_gaps_in_such_a_column_do_not_hide_it(gap):
    few = FRAME.assign(truth=["cat", gap, "fox", "dog", "cat", *[gap] * 55])
    with pytest.warns(UserWarning, match="'truth', which holds labels"):
        assert "truth" not in prepare_task(few).plan.names


def test_chosen_by_hand_it_is_a_feature():
    task = prepare_task(FRAME, features=["length", "truth"])
    assert task.plan.names == ["length", "truth"]


@pytest.mark.parametrize("words", [("yes", "no"), ("0", "1")])
def test_answers_that_are_called_like_labels_are_features_all_the_same(words):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "length": generator.normal(size=40).astype(str),
            "smokes": generator.choice(words, 40),
            "label": generator.choice([*words, "|".join(words)], 40),
        }
    )
    assert prepare_task(frame).plan.names == ["length", "smokes"]


def test_what_a_cleaning_added_is_left_out_of_the_next_one():
    cleaned = clean_table(FRAME, truth="truth", method=neighbours())
    cleaned = cleaned.assign(miss_probability=0.1, label_if_missed="cat")
    with pytest.warns(UserWarning, match="what an earlier cleaning has added"):
        task = prepare_task(cleaned, truth="truth")
    assert task.plan.names == ["length", "width", "colour"]


def test_codes_are_categories_where_somebody_says_so():
    frame = FRAME.assign(shop=[str(7 * (row % 4)) for row in range(60)])
    kinds = {column.name: column.kind for column in prepare_task(frame, truth="truth").plan.columns}
    assert kinds["shop"] == "number"
    task = prepare_task(frame, truth="truth", categories="shop")
    kinds = {column.name: column.kind for column in task.plan.columns}
    assert kinds["shop"] == "category"
    model = fit_table(frame, truth="truth", categories=["shop"], method=neighbours(), n_folds=0)
    assert np.isfinite(model.predict_proba(frame)).all()


def test_all_columns_that_hold_labels_are_named_together():
    frame = FRAME.assign(old=FRAME["label"])
    message = "Left out 'truth', 'old', which hold labels .* to keep them"
    with pytest.warns(UserWarning, match=message):
        assert prepare_task(frame).plan.names == ["length", "width", "colour"]
