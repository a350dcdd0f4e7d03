"""Predict every row of a table by a model that was not trained on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from disambig._core.errors import ParameterError, TableError
from disambig._core.parameters import check_integer, spawn_seeds
from disambig._core.typing import AnyArray, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier, confidence_from_scores
from disambig.tabular.listener import FitListener
from disambig.tabular.table_model import TableModel, slices_of_rows, untrained_model
from disambig.tabular.task import TableTask
from disambig.tabular.work_folder import WorkFolder

if TYPE_CHECKING:
    from disambig.engine.training import Training

# Seen by people only, who do not tell a thousandth from another.
_PER_NETWORK = np.float32
_MEASURE = "history."
_SET_FOR_ONE_FIT = ("callbacks", "checkpoint")

History = Mapping[str, Sequence[float]]


@dataclass(frozen=True, eq=False)
class OutOfFoldPredictions:
    """What models predict for rows that they were not trained on.

    ``per_network`` has the confidences of the candidates by each network, in the order of
    ``candidates.pairs()``. A method without networks has none; where models differ in how many
    they have, those that are missing hold NaN.
    """

    probabilities: FloatArray  # of shape (n_samples, n_classes)
    per_network: AnyArray  # of shape (n_networks, n_pairs)
    histories: tuple[History, ...] = ()  # measures by epoch of every model, where it has epochs

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return the predictions of one model as arrays, which a file can hold."""
        history = self.histories[0] if self.histories else {}
        return {
            "probabilities": self.probabilities,
            "per_network": self.per_network,
            **{_MEASURE + name: np.asarray(values) for name, values in history.items()},
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, AnyArray], candidates: CandidateLabels
    ) -> Self | None:
        """Return what ``to_arrays`` gave, or None if a part is missing or about other rows."""
        if not {"probabilities", "per_network"} <= set(arrays):
            return None
        probabilities, per_network = arrays["probabilities"], arrays["per_network"]
        n_pairs = int(candidates.sizes.sum())
        if probabilities.shape != candidates.shape or per_network.shape[1:] != (n_pairs,):
            return None
        history = {
            name.removeprefix(_MEASURE): values.tolist()
            for name, values in arrays.items()
            if name.startswith(_MEASURE)
        }
        return cls(probabilities, per_network, (history,) if history else ())


def check_folds(n_folds: int) -> None:
    """Refuse a number of folds that leaves no rows to train on."""
    check_integer("n_folds", n_folds, minimum=1)
    if n_folds == 1:
        raise ParameterError("One fold leaves no rows to train on. Use two folds or more.")


def predict_out_of_fold(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    n_folds: int,
    seed: int,
    listener: FitListener,
    work: WorkFolder | None = None,
    per_network: bool = True,
) -> OutOfFoldPredictions:
    """Predict every row by a model, a copy of ``method``, of the other folds' rows.

    Folds that are done are taken from ``work`` and kept there. To ask each network
    (``per_network``) takes as long again as to ask all together.
    """
    candidates = task.candidates
    if len(candidates) < n_folds:
        raise TableError(
            f"{n_folds} folds need as many rows with a label. Got {len(candidates):,}. Use fewer "
            "folds (--folds, in Python n_folds)."
        )
    seeds = spawn_seeds(seed, n_folds)
    # Shuffled, because tables are often sorted by label.
    splitter = KFold(n_folds, shuffle=True, random_state=seed)
    probabilities = np.empty(candidates.shape)
    of_networks: list[tuple[IntArray, AnyArray]] = []
    histories: list[History] = []
    for fold, (train, test) in enumerate(splitter.split(np.empty((len(candidates), 0)))):
        name = f"fold-{fold + 1}"
        held_out = candidates[test]
        listener.on_fit_start(f"fold {fold + 1} of {n_folds}")
        kept = None if work is None else work.arrays(name)
        done = None if kept is None else OutOfFoldPredictions.from_arrays(kept, held_out)
        if done is None:
            classifier = _copy_for_one_fit(method, seeds[fold], listener, work, name)
            model, features = untrained_model(task.plan, task.values.iloc[train], classifier)
            classifier.fit(features, candidates[train])
            values = task.values.iloc[test]
            done = OutOfFoldPredictions(
                model.probabilities_of(values),
                confidences_per_network(model, values, held_out)
                if per_network
                else np.empty((0, int(held_out.sizes.sum())), dtype=_PER_NETWORK),
                histories_of(model),
            )
            if work is not None:
                work.keep(name, done.to_arrays())
        listener.on_fit_end()
        # One by one: probabilities of all rows may be large.
        probabilities[test] = done.probabilities
        of_networks.append((_pairs_of_rows(test, candidates), done.per_network))
        histories += done.histories
    return OutOfFoldPredictions(
        probabilities, _joined(of_networks, int(candidates.sizes.sum())), tuple(histories)
    )


def fit_all_rows(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    seed: int,
    listener: FitListener,
    work: WorkFolder | None = None,
) -> TableModel:
    """Return a model of all rows."""
    listener.on_fit_start("all rows")
    classifier = _copy_for_one_fit(method, seed, listener, work, "whole")
    model, features = untrained_model(task.plan, task.values, classifier)
    classifier.fit(features, task.candidates)
    listener.on_fit_end()
    # Whoever followed this fit has nothing to do with the next one.
    given = method.get_params(deep=False).items()
    classifier.set_params(**{name: value for name, value in given if name in _SET_FOR_ONE_FIT})
    return model


def confidences_per_network(
    model: TableModel, values: pd.DataFrame, candidates: CandidateLabels
) -> AnyArray:
    """Return the confidences of candidates by each network: (n_networks, n_pairs)."""
    n_pairs = int(candidates.sizes.sum())
    ask = getattr(model.classifier, "predict_proba_per_network", None)
    if ask is None:
        return np.empty((0, n_pairs), dtype=_PER_NETWORK)
    parts = []
    for rows in slices_of_rows(*candidates.shape):
        of_rows = candidates[rows]
        features = model.transformer.transform(values.iloc[rows])
        confidences = [of_rows.values_of(with_prior(of_rows, each)) for each in ask(features)]
        parts.append(np.array(confidences, dtype=_PER_NETWORK))
    return np.concatenate(parts, axis=1)


def histories_of(model: TableModel) -> tuple[History, ...]:
    """Return how the training of a model went; nothing where it has no epochs."""
    history = getattr(model.classifier, "history_", None)
    return () if history is None else (history.to_dict(),)


def with_prior(candidates: CandidateLabels, probabilities: FloatArray) -> Sparse:
    """Return confidences of candidates from what the features say and what was known before.

    The model has not seen the weights of a row that it was not trained on, such as votes: they
    are a second opinion, and opinions multiply. Without weights all candidates start equal.
    """
    return confidence_from_scores(candidates, candidates.prior().multiply(probabilities).tocsr())


class _EpochReporter:
    """Passes the epochs of a training on to a listener."""

    def __init__(self, listener: FitListener) -> None:
        self._listener = listener

    def on_epoch_end(self, training: "Training") -> None:
        self._listener.on_epoch_end(training.epoch, training.settings.epochs)


def _copy_for_one_fit(
    method: PartialLabelClassifier,
    seed: int,
    listener: FitListener,
    work: WorkFolder | None,
    name: str,
) -> PartialLabelClassifier:
    """Return a copy that reports its epochs, keeps its state and has a seed, where it can."""
    classifier: PartialLabelClassifier = clone(method)
    parameters = classifier.get_params(deep=False)
    wanted: dict[str, object] = {}
    if parameters.get("random_state", seed) is None:
        wanted["random_state"] = seed
    if "callbacks" in parameters:
        wanted["callbacks"] = [*(parameters["callbacks"] or ()), _EpochReporter(listener)]
    if work is not None and parameters.get("checkpoint", "") is None:
        wanted["checkpoint"] = work.checkpoint(name)
    classifier.set_params(**wanted)
    return classifier


def _joined(parts: Sequence[tuple[IntArray, AnyArray]], n_pairs: int) -> AnyArray:
    """Return one array of what the networks of all folds say, each about some pairs."""
    n_networks = max(len(of_fold) for _, of_fold in parts)
    joined = np.full((n_networks, n_pairs), np.nan, dtype=_PER_NETWORK)
    for pairs, of_fold in parts:
        joined[: len(of_fold), pairs] = of_fold
    return joined


def _pairs_of_rows(rows: IntArray, candidates: CandidateLabels) -> IntArray:
    """Return where the pairs of these rows are among all pairs."""
    sizes = candidates.sizes[rows]
    ends = np.cumsum(sizes)
    inside = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    places: IntArray = np.repeat(candidates.starts[rows], sizes) + inside
    return places
