"""Models of a table: one without each fold, which predicts that fold, and one of all rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from disambig._core.errors import ParameterError, TableError
from disambig._core.parameters import check_integer, spawn_seeds
from disambig._core.typing import AnyArray, Features, FloatArray, IntArray, Sparse
from disambig.candidates.groups import deal_groups
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier, confidence_from_scores
from disambig.tabular.columns.values import ColumnPlan
from disambig.tabular.columns.values_on_disk import Values, ValuesOnDisk, values_in_memory
from disambig.tabular.feature_cache import kept_features, remove_features
from disambig.tabular.fit_queue import FitQueue
from disambig.tabular.labels.row_groups import groups_of
from disambig.tabular.listener import FitListener
from disambig.tabular.new_rows import slices_of_rows
from disambig.tabular.table_model import TableModel, untrained_model
from disambig.tabular.task import TableTask
from disambig.tabular.work_folder import WorkFolder

if TYPE_CHECKING:
    from disambig.engine.training import Training

# Seen by people only, who do not tell a thousandth from another.
_PER_NETWORK = np.float32
_MEASURE = "history."
_SET_FOR_ONE_FIT = ("callbacks", "checkpoint", "checkpoint_every")
_ROWS_BETWEEN_CHECKPOINTS = 20_000
_ROUNDING = 1e-3

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
        """Return what ``to_arrays`` gave, or None if it is something else or about other rows."""
        if not {"probabilities", "per_network"} <= set(arrays):
            return None
        probabilities, per_network = arrays["probabilities"], arrays["per_network"]
        measures = {name: values for name, values in arrays.items() if name.startswith(_MEASURE)}
        n_pairs = int(candidates.sizes.sum())
        fits = (
            probabilities.shape == candidates.shape
            and per_network.shape[1:] == (n_pairs,)
            and all(values.ndim == 1 for values in measures.values())
            and all(values.dtype.kind in "fiu" for values in arrays.values())
            and _are_shares(probabilities)
            and _are_shares(per_network)
        )
        if not fits:
            return None
        history = {
            name.removeprefix(_MEASURE): values.tolist() for name, values in measures.items()
        }
        return cls(probabilities, per_network, (history,) if history else ())


def _are_shares(values: AnyArray) -> bool:
    # Comparisons are false for what is not a number, too.
    return bool(((values >= 0) & (values <= 1 + _ROUNDING)).all())


def confidences_per_network(
    model: TableModel, values: Values, candidates: CandidateLabels
) -> AnyArray:
    """Return the confidences of candidates by each network: (n_networks, n_pairs)."""
    n_pairs = int(candidates.sizes.sum())
    ask = getattr(model.classifier, "predict_proba_per_network", None)
    if ask is None:
        return np.empty((0, n_pairs), dtype=_PER_NETWORK)
    parts = []
    for rows, features in _feature_blocks(model, values, candidates.shape[1]):
        of_rows = candidates[rows]
        confidences = [of_rows.values_of(with_prior(of_rows, each)) for each in ask(features)]
        parts.append(np.array(confidences, dtype=_PER_NETWORK))
    return np.concatenate(parts, axis=1)


def _feature_blocks(
    model: TableModel, values: Values, n_classes: int
) -> Iterator[tuple[slice, Features]]:
    """Yield features of some rows at a time; those on disk from their file, if there is one."""
    if isinstance(values, pd.DataFrame):
        for rows in slices_of_rows(len(values), n_classes):
            yield rows, model.transformer.transform(values.iloc[rows])
        return
    kept = kept_features(model.transformer, values)
    if kept is not None:
        for rows in slices_of_rows(len(values), n_classes):
            yield rows, np.array(kept[rows])
        return
    for start, block in values.blocks():
        features = model.transformer.transform(block)
        for rows in slices_of_rows(len(block), n_classes):
            stop = min(rows.stop, len(block))
            yield slice(start + rows.start, start + stop), features[rows]


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


def check_folds(n_folds: int) -> None:
    """Refuse a number of folds that leaves no rows to train on."""
    check_integer("n_folds", n_folds, minimum=1)
    if n_folds == 1:
        raise ParameterError("One fold leaves no rows to train on. Use two folds or more.")


@dataclass(frozen=True, eq=False)
class FoldFit:
    """One model, of the rows of all folds but one, and what it predicts for that one."""

    title: str
    name: str  # in the work folder
    plan: ColumnPlan
    values: Values
    candidates: CandidateLabels
    training: CandidateLabels
    classifier: PartialLabelClassifier
    train: IntArray
    test: IntArray
    per_network: bool

    def __call__(self, listener: FitListener) -> OutOfFoldPredictions:
        """Train, and predict the rows that were held out."""
        classifier = copy(self.classifier)  # or all fitted ones would stay in memory
        _report_epochs(classifier, listener, self.title)
        values = self.values.take(self.train)
        model, features = untrained_model(self.plan, values, classifier, listener)
        classifier.fit(features, self.training[self.train])
        if isinstance(values, ValuesOnDisk):
            remove_features(model.transformer, values)
        values, held_out = self.values.take(self.test), self.candidates[self.test]
        if self.per_network:
            per_network = confidences_per_network(model, values, held_out)
        else:
            per_network = np.empty((0, int(held_out.sizes.sum())), dtype=_PER_NETWORK)
        return OutOfFoldPredictions(
            model.probabilities_of(values), per_network, histories_of(model)
        )


class Folds:
    """The fits of all folds: workers begin with them at once.

    Parameters
    ----------
    task : TableTask
        The table.
    method : PartialLabelClassifier
        Copied for every fold.
    n_folds, seed : int
        How many, and the seed of the folds and of the fits.
    queue : FitQueue
        Does the fits.
    work : WorkFolder, optional
        Folds that are done are taken from here and kept here.
    per_network : bool, default=True
        Whether each network is asked too, which takes as long again as to ask all together.
    round_number : int, optional
        Of the search for sets that miss the truth, which trains the folds several times.
    """

    def __init__(
        self,
        task: TableTask,
        method: PartialLabelClassifier,
        *,
        n_folds: int,
        seed: int,
        queue: FitQueue,
        work: WorkFolder | None = None,
        per_network: bool = True,
        round_number: int | None = None,
    ) -> None:
        self._candidates, self._queue, self._work = task.candidates, queue, work
        title = "" if round_number is None else f"round {round_number}, "
        name = "" if round_number is None else f"round-{round_number}-"
        self._fits = [
            FoldFit(
                title=f"{title}fold {number} of {n_folds}",
                name=f"{name}fold-{number}",
                plan=task.plan,
                values=task.values,
                candidates=task.candidates,
                training=task.training,
                classifier=_copy_for_one_fit(
                    method, len(train), fold_seed, work, f"{name}fold-{number}"
                ),
                train=train[task.learned[train]],
                test=test,
                per_network=per_network,
            )
            for number, ((train, test), fold_seed) in enumerate(
                zip(_deal(task, n_folds, seed), spawn_seeds(seed, n_folds), strict=True), start=1
            )
        ]
        kept = {fit.title: self._kept(fit) for fit in self._fits}
        self._done = {title: done for title, done in kept.items() if done is not None}
        queue.start([fit for fit in self._fits if fit.title not in self._done], self._take)

    def _kept(self, fit: FoldFit) -> OutOfFoldPredictions | None:
        arrays = None if self._work is None else self._work.arrays(fit.name)
        if arrays is None:
            return None
        kept = OutOfFoldPredictions.from_arrays(arrays, self._candidates[fit.test])
        if kept is not None:
            self._queue.on_fit_start(fit.title)
            self._queue.on_fit_end(fit.title)
        return kept

    def _take(self, title: str, result: OutOfFoldPredictions) -> None:
        if self._work is not None:
            names = {fit.title: fit.name for fit in self._fits}
            self._work.keep(names[title], result.to_arrays())
        self._done[title] = result

    def predictions(self) -> OutOfFoldPredictions:
        """Do what is left, and return what is predicted for every row."""
        self._queue.finish()
        parts = ((fit.test, self._done[fit.title]) for fit in self._fits)
        return join_predictions(self._candidates, parts)


def _deal(task: TableTask, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the rows to train on and those to predict, for every fold; groups stay together."""
    from sklearn.model_selection import KFold  # slow to import, and not needed by a worker

    groups, n_rows = task.candidates.groups, len(task.candidates)
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < n_folds:
            raise TableError(
                f"{n_folds} folds of whole groups need as many groups. Got {n_groups:,}, by "
                f"{groups_of(task.group)}. Use fewer folds (--folds, in Python n_folds), or leave "
                "the groups out."
            )
        fold = deal_groups(groups, n_folds, seed)
        return [
            (np.flatnonzero(fold != number), np.flatnonzero(fold == number))
            for number in range(n_folds)
        ]
    if n_rows < n_folds:
        raise TableError(
            f"{n_folds} folds need as many rows with a label. Got {n_rows:,}. Use fewer folds "
            "(--folds, in Python n_folds)."
        )
    # Shuffled, because tables are often sorted by label.
    splitter = KFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.empty((n_rows, 0))))


def fit_all_rows(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    seed: int,
    listener: FitListener,
    work: WorkFolder | None = None,
) -> TableModel:
    """Return a model of all rows but those that a person calls bad."""
    title = "all rows"
    listener.on_fit_start(title)
    classifier = _copy_for_one_fit(method, len(task.candidates), seed, work, "whole")
    _report_epochs(classifier, listener, title)
    rows = np.flatnonzero(task.learned)
    values, training = task.values, task.training
    if len(rows) < len(task.candidates):
        values, training = values.take(rows), training[rows]
    model, features = untrained_model(task.plan, values, classifier, listener)
    classifier.fit(features, training)
    listener.on_fit_end(title)
    # Whoever followed this fit has nothing to do with the next one.
    given = method.get_params(deep=False).items()
    classifier.set_params(**{name: value for name, value in given if name in _SET_FOR_ONE_FIT})
    return replace(model, bad_rows=len(task.learned) - len(rows))


def confidences_of_all_rows(model: TableModel, task: TableTask) -> Sparse:
    """Return what a model of all rows learned of them, and predicts for those it was not shown."""
    learned = task.learned
    confidences: Sparse = model.classifier.candidate_confidence_
    if learned.all():
        return confidences
    others = np.flatnonzero(~learned)
    said = model.probabilities_of(values_in_memory(task.values.take(others)))
    predicted = with_prior(task.candidates[others], said)
    both = sparse.vstack([confidences, predicted], format="csr")
    in_order: Sparse = both[np.argsort(np.append(np.flatnonzero(learned), others))]
    return in_order


class _EpochReporter:
    """Passes the epochs of a training on to a listener."""

    def __init__(self, listener: FitListener, title: str) -> None:
        self._listener = listener
        self._title = title

    def on_epoch_end(self, training: "Training") -> None:
        self._listener.on_epoch_end(self._title, training.epoch, training.settings.epochs)


def _report_epochs(classifier: PartialLabelClassifier, listener: FitListener, title: str) -> None:
    parameters = classifier.get_params(deep=False)
    if "callbacks" in parameters:
        given = parameters["callbacks"] or ()
        classifier.set_params(callbacks=[*given, _EpochReporter(listener, title)])


def _copy_for_one_fit(
    method: PartialLabelClassifier, n_rows: int, seed: int, work: WorkFolder | None, name: str
) -> PartialLabelClassifier:
    """Return a copy for so many rows that keeps its state and has a seed, where it can."""
    classifier: PartialLabelClassifier = clone(method)
    parameters = classifier.get_params(deep=False)
    wanted: dict[str, object] = {}
    if parameters.get("random_state", seed) is None:
        wanted["random_state"] = seed
    if work is not None and parameters.get("checkpoint", "") is None:
        wanted["checkpoint"] = work.checkpoint(name)
        # Of few rows an epoch is over sooner than its state is written.
        wanted["checkpoint_every"] = max(
            parameters["checkpoint_every"], _ROWS_BETWEEN_CHECKPOINTS // n_rows
        )
    classifier.set_params(**wanted)
    return classifier


def join_predictions(
    candidates: CandidateLabels, parts: Iterable[tuple[IntArray, OutOfFoldPredictions]]
) -> OutOfFoldPredictions:
    """Return one table of predictions from those of some rows each, in the order of the parts."""
    probabilities = np.empty(candidates.shape)
    of_networks: list[tuple[IntArray, AnyArray]] = []
    histories: list[History] = []
    for rows, part in parts:
        probabilities[rows] = part.probabilities
        of_networks.append((_pairs_of_rows(rows, candidates), part.per_network))
        histories += part.histories
    return OutOfFoldPredictions(
        probabilities, _joined(of_networks, int(candidates.sizes.sum())), tuple(histories)
    )


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
