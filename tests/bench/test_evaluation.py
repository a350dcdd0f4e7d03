import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from disambig import PLKNN
from disambig.bench.evaluate import FoldScore, Predictions, compute_metrics
from disambig.bench.trial import Split, make_trial
from disambig.datasets import make_partial_label_dataset
from disambig.metrics import METRICS


@pytest.fixture(scope="module")
def judged():
    data = make_partial_label_dataset(90, 3, 4, average_candidates=2.2, overlap=0.9, random_state=1)
    trial = make_trial(data, Split(seed=0, n_folds=3))
    fitted = PLKNN(n_neighbors=5).fit(trial.train.X, trial.train.candidates)
    probabilities = fitted.predict_proba(trial.test.X)
    predictions = Predictions.from_classifier(fitted, trial, probabilities)
    return trial, fitted, probabilities, FoldScore(**compute_metrics(trial, predictions))


def test_every_metric_has_a_name(judged):
    assert list(vars(judged[-1])) == list(METRICS)


def test_accuracy_is_that_of_the_held_out_rows(judged):
    trial, fitted, _, score = judged
    assert score.accuracy == accuracy_score(trial.test.true_labels, fitted.predict(trial.test.X))


def test_transductive_accuracy_is_that_of_the_training_rows(judged):
    trial, fitted, _, score = judged
    assert score.transductive_accuracy == accuracy_score(
        trial.train.true_labels, fitted.disambiguate()
    )


def test_covering_rate_is_that_of_the_sets_of_the_held_out_rows(judged):
    trial, fitted, _, score = judged
    predicted, sets = fitted.predict(trial.test.X).tolist(), trial.test.candidates.to_sets()
    covered = [label in one for label, one in zip(predicted, sets, strict=True)]
    assert score.covering_rate == np.mean(covered)
    assert score.covering_rate != score.accuracy


def test_approximated_accuracy_is_that_of_the_sets_of_the_held_out_rows(judged):
    trial, _, probabilities, score = judged
    shares = [
        row.max() / row[list(one)].sum() if row.argmax() in one else 0
        for row, one in zip(probabilities, trial.test.candidates.to_sets(), strict=True)
    ]
    assert score.approximated_accuracy == pytest.approx(np.mean(shares), rel=1e-6)


def test_brier_score_is_the_squared_distance_to_the_truth(judged):
    trial, _, probabilities, score = judged
    distances = ((probabilities - np.eye(4)[trial.test.true_labels]) ** 2).sum(axis=1)
    assert score.brier_score == pytest.approx(distances.mean(), rel=1e-6)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy(judged):
    trial, _, probabilities, score = judged
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == trial.test.true_labels
    gap = 0
    for low in np.arange(15) / 15:
        inside = (confidence > low) & (confidence <= low + 1 / 15)
        gap += abs(correct[inside].sum() - confidence[inside].sum()) / len(confidence)
    assert score.expected_calibration_error == pytest.approx(gap, rel=1e-6)
