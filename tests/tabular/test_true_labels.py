"""True labels of some rows: read, judged by, and learned from where that is asked for."""

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, clean_table, fit_table
from disambig._core.errors import ParameterError, TableError
from disambig.tabular.task import prepare_task
from disambig.tabular.true_labels import read_truth, settle_known
from disambig.tabular.work_folder import work_fingerprint
from tabular.small_tables import neighbours, three_clouds

FRAME = three_clouds()
SETS = CandidateLabels.from_strings(["cat|dog", "dog|fox", "fox", "cat|fox"])


def test_known_rows_are_sets_of_one_and_others_stay():
    truth = np.array(["dog", None, None, "fox"], dtype=object)
    assert settle_known(SETS, truth).to_strings() == ["dog", "dog|fox", "fox", "fox"]


def test_a_true_label_outside_its_set_counts_and_one_that_is_not_a_class_does_not():
    truth = np.array(["fox", "cow", "cat", None], dtype=object)
    assert settle_known(SETS, truth).to_strings() == ["fox", "dog|fox", "cat", "cat|fox"]


def test_models_are_trained_on_true_labels_only_if_asked():
    plain = prepare_task(FRAME, truth="truth")
    asked = prepare_task(FRAME, truth="truth", use_truth=True)
    assert plain.training is plain.candidates
    assert asked.training.to_strings() == FRAME["truth"].tolist()
    assert asked.candidates.to_strings() == FRAME["label"].tolist()


def test_the_key_of_unfinished_work_depends_on_it():
    tasks = [prepare_task(FRAME, truth="truth", use_truth=use) for use in (False, True)]
    plain, asked = (work_fingerprint(task, neighbours()) for task in tasks)
    assert plain != asked


def test_a_true_label_is_learned_by_other_folds_and_not_by_its_own():
    # All candidates are equally likely everywhere: only true labels tell anything.
    frame = FRAME.assign(label="cat|dog|fox")
    few = frame.assign(truth=frame["truth"].where(np.arange(60) % 2 == 0, ""))
    before = _accuracy(few)
    assert before > 0.9
    # A wrong true label does not make the model of its own fold predict it.
    wrong = few.assign(truth=["dog", *few["truth"][1:]])
    assert frame["truth"][0] == "cat"
    assert _accuracy(wrong) < before


def _accuracy(frame):
    model = fit_table(frame, truth="truth", use_truth=True, method=neighbours(), n_folds=3)
    return model.estimate.accuracy.share


def test_a_decision_that_is_not_the_truth_is_pointed_out():
    assert FRAME["truth"][4] == "dog"
    with pytest.warns(UserWarning, match="decided on is not the true one in row 5: 'fox' was"):
        prepare_task(FRAME, truth="truth", decisions={3: FRAME["truth"][3], 4: "fox"})


def test_to_use_the_truth_takes_a_column_with_some():
    with pytest.raises(ParameterError, match="--use-truth .* needs a column of true labels"):
        fit_table(FRAME, ignore=["truth"], use_truth=True, method=neighbours())
    with pytest.raises(TableError, match="Column 'truth' has none"):
        clean_table(FRAME.assign(truth=""), truth="truth", use_truth=True, method=neighbours())


def test_a_true_label_that_is_nowhere_a_candidate_leaves_its_row_as_it_is():
    frame = FRAME.assign(truth=["cow", *FRAME["truth"][1:]])
    with pytest.warns(UserWarning, match="'cow' in row 1.*their rows keep their candidates"):
        task = prepare_task(frame, truth="truth", use_truth=True)
    assert task.training[0] == task.candidates[0]


def test_unknown_true_labels_are_counted_for_the_label_that_is_named():
    column = pd.Series(["Boeing Field", "SeaTac", "cat", "Boeing Field", "", "Sand"], name="t")
    _, (notice,) = read_truth(column, np.array(["cat", "dog"], dtype=object), literal=False)
    assert "'Boeing Field' in 2 rows, the first is row 1 (and 2 other labels in 2 rows)." in notice
