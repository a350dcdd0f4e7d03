import numpy as np
import pandas as pd
import pytest

from disambig import DisambigError
from disambig.bench.run_table import RunTable


def record(method, fold, accuracy, **more):
    record = {"dataset": "glass", "p": np.nan, "r": np.nan, "data": "glass", "method": method}
    record |= {"role": "method", "seed": 0, "fold": fold, "accuracy": accuracy, "selection": None}
    return record | more


def test_data_and_methods_keep_the_order_of_their_first_appearance():
    scores = pd.DataFrame(
        [
            record("sure", 0, 0.5, data="zoo", dataset="zoo"),
            record("low", 0, 0.1, role="candidate_baseline"),
            record("aggd", 0, 0.5),
            record("top", 0, 0.9, role="true_label_baseline"),
            record("sure", 0, 0.5),
        ]
    )
    runs = RunTable.from_scores(scores, "accuracy")
    assert runs.data == ("zoo", "glass")
    assert runs.methods == ("sure", "aggd")
    assert runs.bounds == ("low", "top")


def test_roles_in_the_words_of_version_0_1_are_read():
    scores = pd.DataFrame(
        [
            record("a", 0, 0.5),
            record("low", 0, 0.1, role="floor"),
            record("top", 0, 0.9, role="ceiling"),
        ]
    )
    assert RunTable.from_scores(scores, "accuracy").roles == {
        "a": "method",
        "low": "candidate_baseline",
        "top": "true_label_baseline",
    }


def test_methods_are_paired_by_seed_and_fold_whatever_the_order_of_the_records():
    scores = pd.DataFrame(
        [
            *(record("a", fold, fold / 10) for fold in (3, 0, 2)),
            *(record("b", fold, fold / 100) for fold in (0, 1, 2, 3)),
            record("b", 2, 0.9, seed=1),
        ]
    )
    shared = RunTable.from_scores(scores, "accuracy").shared_runs("glass", ("a", "b"))
    np.testing.assert_allclose(shared, [[0, 0], [0.2, 0.02], [0.3, 0.03]])


def test_a_record_without_a_value_counts_as_missing():
    scores = pd.DataFrame([record("a", 0, np.nan), record("a", 1, 0.5), record("b", 0, None)])
    runs = RunTable.from_scores(scores, "accuracy")
    assert runs.values("glass", "a").tolist() == [0.5]
    assert len(runs.values("glass", "b")) == 0


def test_a_name_says_that_parameters_were_chosen_by_true_labels():
    scores = pd.DataFrame(
        [
            record("a", 0, 0.5, selection="oracle"),
            record("b", 0, 0.5, selection="covering_rate"),
            record("c", 0, 0.5, role="candidate_baseline"),
        ]
    )
    runs = RunTable.from_scores(scores, "accuracy")
    assert [runs.display_name(name) for name in "abc"] == [
        "a (chosen by true labels)",
        "b",
        "c",
    ]


def test_rivals_are_the_other_methods():
    scores = pd.DataFrame(
        [record("a", 0, 0.5), record("b", 0, 0.5), record("c", 0, 0.5, role="candidate_baseline")]
    )
    assert RunTable.from_scores(scores, "accuracy").rivals("b") == ("a",)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([record("a", 0, 0.5), record("a", 0, 0.6)], "'a' on 'glass' has seed 0, fold 0 twice"),
        (
            [record("a", 0, 0.5), record("a", 1, 0.6, role="candidate_baseline")],
            "'candidate_baseline' and 'method'",
        ),
        ([record("a", 0, 0.5, role="star")], "has 'star'"),
        ([{"method": "a"}], "need the columns dataset, p, r, data, role"),
    ],
)
def test_records_that_cannot_be_sorted_are_refused(records, message):
    with pytest.raises(DisambigError, match=message):
        RunTable.from_scores(pd.DataFrame(records), "accuracy")


def test_no_records_are_refused():
    scores = pd.DataFrame([record("a", 0, 0.5)]).iloc[:0]
    with pytest.raises(DisambigError, match="no job has finished"):
        RunTable.from_scores(scores, "accuracy")
