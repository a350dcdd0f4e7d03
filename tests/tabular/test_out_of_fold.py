"""What networks say about rows they have not seen, fold by fold, and kept while work is undone."""

import numpy as np
import pytest

from disambig import CandidateLabels, NCPDClassifier, fit_table
from disambig.tabular import new_rows, out_of_fold
from disambig.tabular.clean_details import Cleaning
from disambig.tabular.cleaning import clean_task
from disambig.tabular.fit_queue import FitQueue
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import (
    Folds,
    OutOfFoldPredictions,
    confidences_per_network,
    histories_of,
    with_prior,
)
from disambig.tabular.table_model import TableModel
from disambig.tabular.task import TableTask, prepare_task
from disambig.tabular.work_folder import WorkFolder
from tabular.small_tables import fit_model, neighbours, quick_network, three_clouds

# Sets of one, two and three; votes in the second and third row.
SETS = CandidateLabels.from_sets([{"b": 1}, {"a": 3, "c": 1}, {"a": 1, "b": 1, "c": 2}])
PAIRS = 6
FOLDS = 3


def small_task() -> TableTask:
    frame = three_clouds(36)
    sets = CandidateLabels.from_strings(frame["label"])
    generator = np.random.default_rng(1)
    weights = np.where(sets.to_mask(), generator.integers(1, 5, sets.shape), 0)
    weighted = CandidateLabels(sets.to_mask(), sets.classes, weights=weights)
    return prepare_task(frame, labels=weighted, ignore=["truth", "label"])


@pytest.fixture(scope="module")
def task() -> TableTask:
    return small_task()


@pytest.fixture(scope="module")
def model(task) -> TableModel:
    return fit_model(task.values, task.candidates, task.plan, quick_network())


def shares_by_hand(sets: CandidateLabels, probabilities: np.ndarray) -> list[float]:
    """Return weight times probability over its sum in the row, a candidate at a time."""
    mask, weights = sets.to_mask(), sets.weights.toarray()
    shares = []
    for row in range(len(sets)):
        own = [
            weights[row, column] * probabilities[row, column]
            for column in range(mask.shape[1])
            if mask[row, column]
        ]
        shares += [value / sum(own) for value in own]
    return shares


# One model --------------------------------------------------------------------------------------


def test_every_network_has_confidences_of_the_candidates_of_a_row(task, model):
    found = confidences_per_network(model, task.values, task.candidates)
    features = model.transformer.transform(task.values)
    per_network = model.classifier.predict_proba_per_network(features)
    assert found.shape == (2, task.candidates.to_mask().sum())
    for confidences, probabilities in zip(found, per_network, strict=True):
        expected = shares_by_hand(task.candidates, probabilities)
        np.testing.assert_allclose(confidences, expected, atol=1e-6)
    assert not np.allclose(found[0], found[1], atol=1e-4)


def test_a_network_says_how_its_training_went(model):
    (history,) = histories_of(model)
    assert list(history["T"]) == model.classifier.history_["T"].tolist()
    assert len(history["T"]) == 6


def test_networks_may_be_asked_about_a_few_rows_at_a_time(task, model, monkeypatch):
    together = confidences_per_network(model, task.values, task.candidates)
    monkeypatch.setattr(new_rows, "_PROBABILITIES_AT_A_TIME", 3 * 5)
    by_fives = confidences_per_network(model, task.values, task.candidates)
    np.testing.assert_allclose(by_fives, together, atol=1e-6)


def test_a_method_without_networks_has_nothing_per_network_and_no_epochs(task):
    plain = fit_model(task.values, task.candidates, task.plan, neighbours())
    found = confidences_per_network(plain, task.values, task.candidates)
    assert found.shape == (0, task.candidates.to_mask().sum())
    assert histories_of(plain) == ()
    cleaning = clean_task(task, neighbours(), n_folds=2, listener=FitListener())
    assert len(cleaning.per_network) == 0
    assert cleaning.histories == ()


def test_weights_multiply_with_what_the_features_say():
    probabilities = np.array([[0.2, 0.5, 0.3], [0.1, 0.7, 0.2], [0.5, 0.25, 0.25]])
    confidences = with_prior(SETS, probabilities)
    # 3 x .1 beside 1 x .2; 1 x .5, 1 x .25 and 2 x .25.
    np.testing.assert_allclose(SETS.values_of(confidences), [1, 0.6, 0.4, 0.4, 0.2, 0.4])


# Models of some rows each -----------------------------------------------------------------------


def part(sets: CandidateLabels, first: float, n_networks: int) -> OutOfFoldPredictions:
    """Return predictions whose numbers count up, network by network."""
    n_pairs = int(sets.sizes.sum())
    numbers = first + np.arange(n_networks * n_pairs, dtype=np.float32)
    return OutOfFoldPredictions(
        np.full(sets.shape, first), numbers.reshape(n_networks, n_pairs), ({"T": [first]},)
    )


def joined(*parts: tuple[list[int], int, int]) -> np.ndarray:
    """Join what the networks of models say, each of some rows."""
    return out_of_fold._joined(
        [
            (
                out_of_fold._pairs_of_rows(np.array(rows), SETS),
                part(SETS[rows], first, count).per_network,
            )
            for rows, first, count in parts
        ],
        PAIRS,
    )


def test_what_is_said_of_rows_in_any_order_ends_up_with_them():
    # Row 2 comes first in its part: three pairs, then the one of row 0.
    np.testing.assert_array_equal(
        joined(([2, 0], 10, 2), ([1], 50, 2)), [[13, 50, 51, 10, 11, 12], [17, 52, 53, 14, 15, 16]]
    )


def test_a_network_that_a_model_does_not_have_says_nothing():
    together = joined(([0, 2], 10, 1), ([1], 50, 2))
    assert together.shape == (2, PAIRS)
    np.testing.assert_array_equal(together[1], [np.nan, 52, 53, np.nan, np.nan, np.nan])
    assert not np.isnan(together[0]).any()


def test_every_row_is_predicted_by_the_model_of_the_other_folds(task):
    # The same folds and seeds by hand: one fold is predicted by a model of the rest.
    from disambig._core.parameters import spawn_seeds
    from disambig.bench.trial import shuffled_folds

    method = quick_network(random_state=None)
    queue = FitQueue(FitListener())
    folds = Folds(task, method, n_folds=FOLDS, seed=4, queue=queue)
    together = folds.predictions()
    assert not any(hasattr(fit.classifier, "classes_") for fit in folds._fits)  # no model is kept
    train, test = list(shuffled_folds(len(task.candidates), FOLDS, 4))[1]
    of_fold = quick_network(random_state=spawn_seeds(4, FOLDS)[1])
    model = fit_model(task.values.iloc[train], task.candidates[train], task.plan, of_fold)
    features = model.transformer.transform(task.values.iloc[test])
    np.testing.assert_array_equal(
        together.probabilities[test], model.classifier.predict_proba(features)
    )
    starts, sizes = task.candidates.starts, task.candidates.sizes
    of_rows = np.concatenate(
        [together.per_network[0, starts[row] : starts[row] + sizes[row]] for row in test]
    )
    expected = shares_by_hand(
        task.candidates[test], model.classifier.predict_proba_per_network(features)[0]
    )
    np.testing.assert_allclose(of_rows, expected, atol=1e-6)


# Kept -------------------------------------------------------------------------------------------


def test_predictions_come_back_from_their_arrays(task, model):
    said = OutOfFoldPredictions(
        model.probabilities_of(task.values),
        confidences_per_network(model, task.values, task.candidates),
        histories_of(model),
    )
    again = OutOfFoldPredictions.from_arrays(said.to_arrays(), task.candidates)
    np.testing.assert_array_equal(again.probabilities, said.probabilities)
    np.testing.assert_array_equal(again.per_network, said.per_network)
    assert again.per_network.dtype == said.per_network.dtype
    assert [dict(history) for history in again.histories] == [
        dict(history) for history in said.histories
    ]


def test_predictions_without_networks_come_back_without():
    said = OutOfFoldPredictions(np.zeros(SETS.shape), np.empty((0, PAIRS), np.float32))
    again = OutOfFoldPredictions.from_arrays(said.to_arrays(), SETS)
    assert again.per_network.shape == (0, PAIRS)
    assert again.histories == ()


@pytest.mark.parametrize(
    "sets",
    [
        SETS[:2],
        CandidateLabels.from_strings(["b", "a|c", "a|b"]),
        CandidateLabels.from_strings(["b", "a|c", "a|b|c"], classes=list("abcd")),
    ],
)
def test_predictions_of_other_rows_are_refused(sets):
    arrays = part(SETS, 1, 2).to_arrays()
    assert OutOfFoldPredictions.from_arrays(arrays, sets) is None


@pytest.mark.parametrize("name", ["probabilities", "per_network"])
def test_predictions_with_a_part_missing_are_refused(name):
    arrays = part(SETS, 1, 2).to_arrays()
    del arrays[name]
    assert OutOfFoldPredictions.from_arrays(arrays, SETS) is None


# Interrupted ------------------------------------------------------------------------------------


class Listener(FitListener):
    """Breaks off before a fold, or counts the epochs that were trained."""

    def __init__(self, last: str = "") -> None:
        self.last = last
        self.n_epochs = 0

    def on_fit_start(self, title: str) -> None:
        if title == self.last:
            raise KeyboardInterrupt

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        self.n_epochs += 1


def clean(task: TableTask, listener: Listener, work: WorkFolder | None = None) -> Cleaning:
    return clean_task(task, quick_network(), n_folds=FOLDS, listener=listener, work=work)


def assert_the_same(one: Cleaning, other: Cleaning) -> None:
    assert one.columns.equals(other.columns)
    np.testing.assert_array_equal(one.per_network, other.per_network)
    assert [dict(history) for history in one.histories] == [
        dict(history) for history in other.histories
    ]


def test_folds_that_are_done_are_taken_from_the_work_folder_bit_for_bit(tmp_path, task):
    whole = clean(task, Listener())
    work = WorkFolder(tmp_path / "w", "print")
    with pytest.raises(KeyboardInterrupt):
        clean(task, Listener(f"fold {FOLDS} of {FOLDS}"), work)
    listener = Listener()
    resumed = clean(task, listener, WorkFolder(tmp_path / "w", "print"))
    assert listener.n_epochs == 6  # one fold was left
    assert len(whole.histories) == FOLDS
    assert_the_same(resumed, whole)


def test_a_kept_fold_that_does_not_fit_is_trained_again(tmp_path, task):
    work = WorkFolder(tmp_path / "w", "print")
    work.keep("fold-1", part(SETS, 1, 2).to_arrays())
    work.keep("fold-2", {"probabilities": np.zeros((12, 3))})
    listener = Listener()
    assert_the_same(clean(task, listener, work), clean(task, Listener()))
    assert listener.n_epochs == FOLDS * 6


@pytest.mark.parametrize(
    "damage",
    [
        {"probabilities": np.full((2, 3), np.nan)},
        {"probabilities": np.full((2, 3), 7.0)},
        {"probabilities": np.full((2, 3), "a")},
        {"per_network": np.full((1, 4), -1.0)},
        {"history.loss": np.zeros((2, 2))},
    ],
)
def test_kept_predictions_that_no_model_makes_are_not_taken(damage):
    candidates = CandidateLabels.from_mask([[True, True, False], [False, True, True]])
    arrays = {"probabilities": np.full((2, 3), 0.5), "per_network": np.full((1, 4), 0.5)}
    assert OutOfFoldPredictions.from_arrays(arrays, candidates) is not None
    assert OutOfFoldPredictions.from_arrays({**arrays, **damage}, candidates) is None


def test_networks_are_asked_only_if_somebody_wants_to_know(monkeypatch):
    def ask(*_: object) -> None:
        raise AssertionError("a network was asked")

    monkeypatch.setattr(NCPDClassifier, "predict_proba_per_network", ask)
    model = fit_table(three_clouds(30), ignore=["truth"], method=quick_network(), n_folds=2)
    assert model.estimate is not None
