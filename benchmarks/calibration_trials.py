"""Out-of-fold confidences of a method beside the truth, as given and calibrated by sets."""

import numpy as np
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import load_dataset
from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates import CandidateLabels, corrupt_controlled
from disambig.candidates.checks import columns_of
from disambig.methods import fit_many
from disambig.methods.base import confidence_from_pairs, confidence_from_scores
from disambig.methods.registry import get_method
from disambig.metrics import expected_calibration_error
from disambig.solvers.calibration import calibrate_choices, calibrate_predictions
from disambig.tabular.second_look import second_look
from fold_trials import CORRUPTION, REAL

# The quickest first: a time limit then cuts off as little as possible.
SETS = ("glass", "ecoli", "vehicle", "lost", "msrcv2", "abalone", "birdsong")
N_FOLDS = 5
N_BINS = 10
ERRORS_TO_FIND = 0.9
# Classes, share of ambiguous rows, false labels in each.
HONEST = ("3:0.7:1", "5:0.7:1", "5:0.7:2", "5:1:2", "10:0.7:2", "10:1:2", "20:0.7:2")
HONEST_ROWS = 3000
CHECKED = (10, 20, 50, 100, 200)
SAMPLES = 20  # of checked rows, in every draw

Data = tuple[FloatArray, CandidateLabels, AnyArray]
Task = tuple[str, str, str, int]  # kind of sets, method, dataset, draw


def random_sets(name: str, draw: int) -> Data:
    """Return a real set as it is, or a UCI set with random false labels."""
    data = load_dataset(name)
    if name in REAL:
        return data.X, data.candidates, data.true_labels
    y = corrupt_controlled(
        data.true_labels, **CORRUPTION, classes=data.candidates.classes, random_state=draw
    )
    return data.X, y, data.true_labels


def confused_sets(name: str, draw: int) -> Data:
    """Return a UCI set, in each row the wrong class that another classifier finds likeliest.

    It is a logistic regression that knows the true labels of the other folds.
    """
    data = load_dataset(name)
    classes, X = data.candidates.classes, data.X
    columns = columns_of(data.true_labels, classes)
    said = np.zeros(data.candidates.shape)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=draw).split(X):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(X[train], columns[train])
        said[np.ix_(test, model.classes_)] = model.predict_proba(X[test])
    rows = np.arange(len(X))
    said[rows, columns] = -1
    mask = np.zeros(said.shape, dtype=bool)
    mask[rows, columns] = mask[rows, said.argmax(axis=1)] = True
    return X, CandidateLabels.from_mask(mask, classes), data.true_labels


def honest_model(setting: str, draw: int) -> tuple[FloatArray, CandidateLabels, AnyArray]:
    """Return probabilities, and sets of true labels that were drawn by just these probabilities.

    The setting is the number of classes, the share of ambiguous rows and their false labels.
    """
    n_classes, share, count = setting.split(":")
    rng = np.random.default_rng(draw)
    said = softmax(2 * rng.normal(size=(HONEST_ROWS, int(n_classes))), axis=1)
    truth = (rng.random(HONEST_ROWS)[:, np.newaxis] > said[:, :-1].cumsum(axis=1)).sum(axis=1)
    y = corrupt_controlled(
        truth, p=float(share), r=int(count), classes=range(int(n_classes)), random_state=draw
    )
    return said, y, truth


def out_of_fold(method: str, X: FloatArray, y: CandidateLabels, draw: int) -> FloatArray:
    """Return the probabilities of all rows by models without their fold."""
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=draw).split(X))
    tasks = [(X[train], y[train], N_FOLDS * draw + k) for k, (train, _) in enumerate(folds)]
    said = np.empty(y.shape)
    fitted = fit_many(get_method(method)(), tasks)
    for (_, test), model in zip(folds, fitted, strict=True):
        said[test] = model.predict_proba(X[test])
    return said


def as_given(said: FloatArray, y: CandidateLabels) -> FloatArray:
    """Return the confidences of candidates without calibration."""
    scores = y.prior().multiply(said).tocsr()
    return np.asarray(confidence_from_scores(y, scores).toarray())


def calibrated(said: FloatArray, y: CandidateLabels) -> FloatArray:
    """Return the confidences of candidates, calibrated by the sets."""
    return np.asarray(confidence_from_pairs(y, calibrate_choices(said, y)).toarray())


def judge(shares: FloatArray, y: CandidateLabels, truth: AnyArray) -> dict[str, float]:
    """Compare what is said of the largest share in every row with the truth."""
    confidence = shares.max(axis=1)
    wrong = shares.argmax(axis=1) != columns_of(truth, y.classes)
    marked = second_look(confidence, ERRORS_TO_FIND)
    return {
        "stated": float((1 - confidence).sum()),
        "wrong": int(wrong.sum()),
        "ece": expected_calibration_error(truth, shares, y.classes, n_bins=N_BINS),
        "marked": int(marked.sum()),
        "found": int((marked & wrong).sum()),
    }


def checked_rows(
    said: FloatArray, y: CandidateLabels, truth: AnyArray, draw: int
) -> dict[str, list[list[float]]]:
    """Return stated and actual errors of the other rows, by how many were checked."""
    random = np.random.default_rng(draw)
    columns = columns_of(truth, y.classes)
    found: dict[str, list[list[float]]] = {}
    for count in CHECKED:
        found[str(count)] = []
        for _ in range(SAMPLES):
            checked = random.choice(len(y), count, replace=False)
            known = np.full(len(y), -1)
            known[checked] = columns[checked]
            shares = confidence_from_pairs(y, calibrate_choices(said, y, truth=known)).toarray()
            others = np.flatnonzero(known < 0)
            result = judge(shares[others], y[others], truth[others])
            found[str(count)].append([round(result["stated"], 2), result["wrong"]])
    return found


def measure(task: Task) -> dict[str, object]:
    """Return what a task found."""
    torch.set_num_threads(1)
    kind, method, name, draw = task
    if kind == "honest":
        said, y, truth = honest_model(name, draw)
    else:
        X, y, truth = (confused_sets if kind == "confused" else random_sets)(name, draw)
        said = out_of_fold(method, X, y, draw)
    found: dict[str, object] = {
        "rows": len(y),
        "given": judge(as_given(said, y), y, truth),
        "calibrated": judge(calibrated(said, y), y, truth),
    }
    if kind == "confused":
        return found | {"checked": checked_rows(said, y, truth, draw)}
    honest = calibrate_predictions(said, y).apply(said)
    predicted = {"given": judge(said, y, truth), "calibrated": judge(honest, y, truth)}
    return found | {"predictions": predicted}
