import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.strategies import candidate_labels
from disambig import CandidateLabels
from disambig._core.errors import TableError
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.reviewers import read_decisions
from disambig.tabular.labels.settled_sets import settle

TABLE = pd.DataFrame({"key": ["a", "b", "7", None, "b"], "x": range(5)})


def decided(rows, labels, name="row"):
    return pd.DataFrame({name: rows, "label": labels})


@pytest.mark.parametrize("rows", [["2", "1"], [2, 1], [2.0, 1.0], ["2.0", " 1"]])
def test_rows_are_counted_from_one(rows):
    assert read_decisions(decided(rows, ["cat", "dog"]), TABLE) == {1: "cat", 0: "dog"}


def test_later_decisions_replace_earlier_ones_and_an_empty_label_undoes_them():
    frame = decided([1, 2, 1, 2, 3, 4], ["cat", "cat", "dog", "", "cow", None])
    assert read_decisions(frame, TABLE) == {0: "dog", 2: "cow"}


def test_a_decision_that_was_undone_can_be_made_again():
    assert read_decisions(decided([1, 1, 1], ["cat", None, "dog"]), TABLE) == {0: "dog"}


def test_rows_are_found_by_an_identifier_as_text():
    frame = decided(["a", 7.0], ["cat", 3.0], "key")
    assert read_decisions(frame, TABLE, id="key") == {0: "cat", 2: "3"}


def test_a_blank_line_says_nothing():
    assert read_decisions(decided(["", "2"], [None, "cat"]), TABLE) == {1: "cat"}


@pytest.mark.parametrize(
    ("frame", "name", "message"),
    [
        (decided([1], ["x"]).drop(columns="label"), None, "decisions has no column 'label'"),
        (
            decided([1], ["x"], "rows"),
            None,
            "The table of decisions has no column 'row'.*Did you mean 'rows'.* --id",
        ),
        (decided([1, 6], ["x", "y"]), None, "rows 1 to 5 .* Got 6 in row 2 of the decisions"),
        (decided([0], [None]), None, "Got 0 in row 1"),
        (decided(["-1"], ["x"]), None, "Got -1 in row 1"),
        (
            decided(["1.5"], ["x"]),
            None,
            "must hold row numbers, counted from 1. Got '1.5' in its row 1",
        ),
        (decided(["9" * 5000], ["x"]), None, r"Got '9{57}\.\.\.' in its row 1"),
        (decided([None], ["x"]), None, "needs a row in column 'row'. There is none in row 1"),
        (
            decided(["z"], ["x"], "key"),
            "key",
            "Row 1 .* is about 'z', which column 'key' .* not hold",
        ),
        (decided(["b"], ["x"], "key"), "key", "'b' in 2 rows, among them row 2 and row 5"),
        (decided(["a"], ["x"], "kee"), "kee", "The table has no column 'kee'.*Did you mean 'key'"),
    ],
)
def test_wrong_decisions_are_refused(frame, name, message):
    with pytest.raises(TableError, match=message):
        read_decisions(frame, TABLE, id=name)


def test_settled_rows_have_their_label_and_no_other():
    candidates = CandidateLabels.from_strings(["cat|dog", "dog|cow", "cow"])
    settled = settle(candidates, {2: "cat", 0: "dog"})
    assert settled.to_strings() == ["dog", "cow|dog", "cat"]
    assert settled.classes.tolist() == candidates.classes.tolist()
    assert settle(candidates, {}) is candidates


def test_a_class_that_is_no_text_is_settled_by_its_text():
    settled = settle(CandidateLabels.from_sets([[1, 2], [2, 3]]), {1: "3"})
    assert settled.to_sets() == [{1, 2}, {3}]


@pytest.mark.parametrize("label", [3, 3.0, np.int64(3), " 3"])
def test_a_label_may_be_decided_on_as_a_number(label):
    settled = settle(CandidateLabels.from_strings(["1|2", "2|3"]), {1: label})
    assert settled.to_strings() == ["1|2", "3"]


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ({1: "dgo"}, "for row 2 cannot be used. 'dgo' is not one of the 2 .* Did you mean 'dog'"),
        ({2: "dog"}, "one of the 2 rows. Got row 3"),
    ],
)
def test_a_label_or_row_that_is_not_there_cannot_be_settled(decisions, message):
    with pytest.raises(TableError, match=message):
        settle(CandidateLabels.from_strings(["cat", "dog"]), decisions)


@given(candidate_labels(), st.data())
def test_settling_equals_writing_into_the_mask(candidates, data):
    n_rows, n_classes = candidates.shape
    columns = data.draw(st.dictionaries(st.integers(0, n_rows - 1), st.integers(0, n_classes - 1)))
    settled = settle(candidates, {row: candidates.classes[at] for row, at in columns.items()})
    mask = candidates.to_mask()
    weights = None if candidates.weights is None else candidates.weights.toarray()
    for matrix in (mask, weights):
        for row, column in columns.items() if matrix is not None else ():
            matrix[row] = np.arange(n_classes) == column
    assert settled == CandidateLabels.from_mask(mask, candidates.classes, weights=weights)


# Names ------------------------------------------------------------------------------------------


def names_of(cells, column="key"):
    return DecidedRows(pd.DataFrame({column: cells}), column).names()


def test_rows_without_names_are_counted_from_one():
    assert DecidedRows(TABLE).names() == ["1", "2", "3", "4", "5"]


def test_names_are_texts():
    assert names_of([7.0, 3, " a ", "b", 1.5, "NA"]) == ["7", "3", "a", "b", "1.5", "NA"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", "b", "", "d"], "'key' should name the rows. It is empty in row 3. .*--id"),
        (["a", None, "", "d"], "is empty in row 2"),
        (["a", "b", "c", " b"], "It holds 'b' in row 2 and in row 4. Make it unique.*--id"),
        (["a", 7, "c", "7"], "It holds '7' in row 2 and in row 4"),
    ],
)
def test_names_that_do_not_tell_rows_apart_are_refused(cells, message):
    with pytest.raises(TableError, match=message):
        names_of(cells)


def test_rows_cannot_be_named_by_what_is_decided():
    with pytest.raises(TableError, match="Got the same for both. .*--id"):
        names_of(["a", "b"], column="label")
