import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, recall_score

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.metrics import accuracy, per_class_recall, transductive_accuracy

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1)


@given(pairs)
def test_accuracy_agrees_with_scikit_learn(rows):
    truth, predicted = zip(*rows, strict=True)
    assert accuracy(truth, predicted) == pytest.approx(accuracy_score(truth, predicted))


@given(pairs)
def test_recall_agrees_with_scikit_learn(rows):
    truth, predicted = zip(*rows, strict=True)
    labels = sorted(set(truth))
    expected = recall_score(truth, predicted, labels=labels, average=None)
    assert per_class_recall(truth, predicted) == pytest.approx(
        dict(zip(labels, expected, strict=True))
    )


def test_accuracy_works_on_text():
    assert accuracy(["cat", "dog"], np.array(["cat", "cat"])) == 0.5


def test_transductive_accuracy_looks_inside_the_sets_only():
    candidates = CandidateLabels.from_sets([["a", "b"], ["b", "c"], ["c"]])
    confidence = np.array([[0.2, 0.8, 0.0], [0.9, 0.06, 0.04], [0.9, 0.1, 0.0]])
    assert transductive_accuracy(["a", "b", "c"], candidates, confidence) == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [accuracy, per_class_recall])
def test_metrics_refuse_what_does_not_fit(metric):
    with pytest.raises(ParameterError, match="Got 2 true labels, 1 predictions"):
        metric(["a", "b"], ["a"])
    with pytest.raises(ParameterError, match="Got 0 true labels, 0 predictions"):
        metric([], [])
    with pytest.raises(ParameterError, match="may not be missing. Got None in row 1"):
        metric(["a", None], ["a", "b"])
