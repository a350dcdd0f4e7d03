"""The label to believe in every row, and the rows worth a second look."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from disambig import CandidateLabels
from disambig._core.errors import ParameterError, TableError
from disambig.tabular.cleaning import clean_table, clean_task
from disambig.tabular.fit_queue import FitQueue
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import Folds
from disambig.tabular.second_look import second_look
from disambig.tabular.table_cells import CLEAN_COLUMNS, MISS_COLUMNS
from disambig.tabular.task import prepare_task
from tabular.small_tables import fit_model, neighbours, quick_network, three_clouds

FRAME = three_clouds()


@pytest.fixture(scope="module")
def cleaned() -> pd.DataFrame:
    return clean_table(FRAME, ignore=["truth"], method=neighbours())


def test_every_row_and_column_comes_back_as_it_was(cleaned):
    pd.testing.assert_frame_equal(cleaned[list(FRAME.columns)], FRAME)
    assert list(cleaned.columns) == [*FRAME.columns, *CLEAN_COLUMNS, *MISS_COLUMNS]


def test_the_table_itself_is_left_alone():
    before = FRAME.copy()
    clean_table(FRAME, ignore=["truth"], method=neighbours())
    pd.testing.assert_frame_equal(FRAME, before)


def test_the_chosen_label_is_a_candidate_and_mostly_right(cleaned):
    assert all(
        label in cell.split("|")
        for label, cell in zip(cleaned["chosen_label"], cleaned["label"], strict=True)
    )
    assert (cleaned["chosen_label"] == cleaned["truth"]).mean() > 0.95


def test_a_single_candidate_that_the_features_agree_with_is_all_but_certain(cleaned):
    single = ~cleaned["label"].str.contains("|", regex=False)
    assert (cleaned.loc[single, "confidence"] > 0.999).all()
    assert (cleaned.loc[single, "margin"] > 0.999).all()
    assert not cleaned.loc[single, "second_look"].any()


def test_confidence_and_margin_are_those_of_the_listed_confidences(cleaned):
    for row in cleaned.itertuples():
        shares = sorted(
            (float(piece.rpartition(":")[2]) for piece in row.candidate_confidences.split("|")),
            reverse=True,
        )
        assert row.confidence == shares[0]
        assert row.margin == pytest.approx(shares[0] - sum(shares[1:2]), abs=2e-6)
        assert sum(shares) == pytest.approx(1 - row.miss_probability, abs=1e-5)


def test_the_listed_confidences_can_be_read_again_as_weighted_labels(cleaned):
    again = LabelColumns(columns=("candidate_confidences",)).read(cleaned)
    original = LabelColumns().read(FRAME)
    assert again.to_strings() == original.to_strings()
    assert again.weights is not None


def test_labels_with_signs_of_their_own_are_listed_as_json():
    frame = three_clouds(30)
    sets = CandidateLabels.from_strings(frame["label"])
    odd = sets.from_mask(sets.to_mask(), ["a|b", "c:1", "!d"])
    cleaned = clean_table(
        frame, labels=odd, ignore=["truth", "label"], method=neighbours(), n_folds=2
    )
    assert set(json.loads(cleaned["candidate_confidences"][0])) <= {"a|b", "c:1", "!d"}


def test_confidences_come_from_models_that_did_not_see_the_row():
    # Remembering its own training row, one neighbour is always sure; another row's is not.
    own = clean_table(FRAME, ignore=["truth"], method=neighbours(), in_sample=True)
    held_out = clean_table(FRAME, ignore=["truth"], method=neighbours(), calibrate="none")
    assert not own["confidence"].equals(held_out["confidence"])
    task = prepare_task(FRAME, ignore=["truth"])
    folds = Folds(task, neighbours(), n_folds=5, seed=0, queue=FitQueue(FitListener()))
    predicted = folds.predictions()
    mask = task.candidates.to_mask()
    inside = np.where(mask, predicted.probabilities, 0)
    total = inside.sum(axis=1)
    expected = np.where(total > 0, inside.max(axis=1) / total, 1 / mask.sum(axis=1))
    expected *= 1 - held_out["miss_probability"]
    np.testing.assert_allclose(held_out["confidence"], expected, atol=2e-6)


def test_in_sample_takes_the_confidences_of_one_fit():
    method = quick_network()
    task = prepare_task(FRAME, ignore=["truth"])
    cleaned = clean_task(task, method, n_folds=None, listener=FitListener()).columns
    model = fit_model(task.values, task.candidates, task.plan, method)
    expected = model.classifier.candidate_confidence_.max(axis=1).toarray().ravel()
    np.testing.assert_allclose(cleaned["confidence"], expected, atol=1e-6)


def test_weights_count_beside_what_the_features_say():
    # Features that tell nothing: the votes decide.
    frame = pd.DataFrame({"x": ["1", "2"] * 20, "label": ["a:3|b:1", "a:1|b:3"] * 20})
    frame["x"] = np.random.default_rng(0).permutation(frame["x"].to_numpy())
    with pytest.warns(UserWarning, match="read with weights"):
        cleaned = clean_table(frame, method="average", n_folds=4)
    assert cleaned["chosen_label"].tolist() == ["a", "b"] * 20


def test_a_settled_row_has_the_label_of_the_person():
    task = prepare_task(FRAME, ignore=["truth"], decisions={4: "fox"})
    cleaned = clean_task(task, neighbours(), listener=FitListener()).columns
    row = cleaned.iloc[4]
    assert (row["chosen_label"], row["confidence"], row["second_look"]) == ("fox", 1, False)


@pytest.mark.parametrize("column", CLEAN_COLUMNS + MISS_COLUMNS)
def test_columns_of_the_new_names_are_never_replaced(column):
    frame = FRAME.assign(**{column: "mine"})
    with pytest.raises(TableError, match=f"already has columns.*{column}.*--prefix"):
        clean_table(frame, ignore=["truth", column], method=neighbours())


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("clean.foo", "says its format: .csv, .* clean.foo ends in '.foo'. Choose another"),
        ("clean.mat", "Tables are written as csv, .* Got 'mat'"),
        (".", "has no suffix"),
        ("folder.csv", "folder.csv is a folder. Name a file in it"),
        ("x" * 197 + ".csv", "cannot be written: .*name too long"),
        ("x" * 300 + ".csv", "cannot be written: .*name too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_trained(
    tmp_path, monkeypatch, out, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    unused = FitListener()
    unused.on_fits_start = None  # fails if it is called
    with pytest.raises(TableError, match=message):
        clean_table(FRAME, ignore=["truth"], method=neighbours(), out=out, listener=unused)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize("folds", [1, 0, -1, 2.5])
def test_folds_that_hold_nothing_out_are_refused(folds):
    with pytest.raises(ParameterError, match=r"folds|One fold"):
        clean_table(FRAME, ignore=["truth"], method=neighbours(), n_folds=folds)


def test_more_folds_than_rows_are_refused():
    with pytest.raises(TableError, match="7 folds need as many rows with a label. Got 6"):
        clean_table(three_clouds(6), ignore=["truth"], method=neighbours(), n_folds=7)


def test_the_same_seed_gives_the_same_table():
    first, second = (
        clean_table(FRAME, ignore=["truth"], method=quick_network(random_state=None))
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)


# Second look -----------------------------------------------------------------------------------


def test_the_least_sure_rows_hold_the_wanted_share_of_the_expected_errors():
    confidence = np.array([1.0, 0.5, 0.9, 0.6, 1.0])  # doubts .5, .4, .1 of 1 in all
    assert second_look(confidence, 0.5).tolist() == [False, True, False, False, False]
    assert second_look(confidence, 0.9).tolist() == [False, True, False, True, False]
    assert second_look(confidence, 1.0).tolist() == [False, True, True, True, False]
    assert not second_look(confidence, 0).any()


def test_rows_that_are_equally_sure_are_marked_alike():
    assert second_look(np.full(4, 0.5), 0.1).all()


def test_where_all_is_certain_nothing_is_marked():
    assert not second_look(np.ones(3), 0.9).any()


def test_a_doubt_too_small_to_mention_is_not_marked():
    assert not second_look(np.full(3, 0.9999), 0.9).any()


@given(arrays.arrays(float, st.integers(1, 30), elements=st.floats(0, 1)), st.floats(0, 1))
def test_marked_rows_are_no_surer_than_others_and_hold_enough(confidence, share):
    marked = second_look(confidence, share)
    if marked.any() and not marked.all():
        assert confidence[marked].max() < confidence[~marked].min()
    doubt = 1 - confidence
    worth_it = np.where(doubt >= 1e-3, doubt, 0)
    assert doubt[marked].sum() >= min(share * doubt.sum(), worth_it.sum()) - 1e-9
