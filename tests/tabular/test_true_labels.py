"""True labels of some rows: read, judged by, and learned from where that is asked for."""

import numpy as np
import pytest

from disambig import CandidateLabels, clean_table, fit_table
from disambig._core.errors import ParameterError, TableError
from disambig.tabular.task import prepare_task
from disambig.tabular.true_labels import settle_known
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


def test_true_labels_of_rows_with_one_label_alone_are_chosen():
    single = FRAME["label"] == FRAME["truth"]
    assert 0 < single.sum() < len(FRAME)
    few = FRAME.assign(truth=FRAME["truth"].where(single, ""))
    cleaned = clean_table(few, truth="truth", method=neighbours(), n_folds=2)
    assert (cleaned["chosen_label"] == few["truth"])[single].all()


def test_a_true_label_that_is_nowhere_a_candidate_leaves_its_row_as_it_is():
    frame = FRAME.assign(truth=["cow", *FRAME["truth"][1:]])
    with pytest.warns(
        UserWarning, match="'cow' in 1 row. The first is row 1. .*their rows keep their candidates"
    ):
        task = prepare_task(frame, truth="truth", use_truth=True)
    assert task.training[0] == task.candidates[0]


def test_true_labels_that_are_nowhere_candidates_are_counted_one_by_one():
    truth = ["cow", "owl", "cow", *FRAME["truth"][3:]]
    with pytest.warns(UserWarning, match="'cow' in 2 rows, 'owl' in 1 row. The first is row 1"):
        prepare_task(FRAME.assign(truth=truth), truth="truth")


def test_a_column_that_shares_no_label_with_the_sets_is_refused_with_the_one_that_was_meant():
    frame = FRAME.assign(place=["Ulm", "Bern", "Ulm"] * 20)
    with pytest.raises(TableError, match="'Ulm' in 40 rows, 'Bern' in 20 rows") as refused:
        prepare_task(frame, truth="place")
    assert "Did you mean column 'truth', which does hold such labels?" in str(refused.value)


def test_a_column_of_true_labels_in_capitals_is_refused_with_what_to_do():
    with pytest.raises(TableError, match="looks like the candidate 'cat': spell true labels"):
        prepare_task(FRAME.assign(truth="Cat"), truth="truth")
