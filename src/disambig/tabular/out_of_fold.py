"""Predict rows by models that did not train on them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from disambig.tabular.model.table_model import TableModel, fit_model
from disambig.tabular.task import TableTask

if TYPE_CHECKING:
    from disambig.engine.training import Training
    from disambig.tabular.work_folder import WorkFolder

__all__ = [
    "FitListener",
    "History",
    "Judgement",
    "check_folds",
    "fit_whole",
    "histories_of",
    "judge",
    "judge_held_out",
    "judged_together",
    "network_opinions",
    "with_prior",
]


# Seen by people only, who do not tell a thousandth from another.
_OPINION = np.float32
_MEASURE = "history."
# A million rows of many classes would take gigabytes.
_PROBABILITIES_AT_A_TIME = 4_000_000

History = Mapping[str, Sequence[float]]


@dataclass(frozen=True, eq=False)
class Judgement:
    """What models say about rows.

    Attributes
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Of all classes.
    opinions : ndarray of shape (n_networks, n_pairs)
        How each network shares its belief among the candidates of a row, in the order of
        ``candidates.pairs()``. A method without networks has none; where models differ in how
        many they have, those that are missing hold NaN.
    histories : tuple of mappings
        Measures by epoch of every model, where it has epochs.
    """

    probabilities: FloatArray
    opinions: AnyArray
    histories: tuple[History, ...] = field(default=())

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return the judgement of one model as arrays, which a file can hold."""
        history = self.histories[0] if self.histories else {}
        return {
            "probabilities": self.probabilities,
            "opinions": self.opinions,
            **{_MEASURE + name: np.asarray(values) for name, values in history.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray], candidates: CandidateLabels) -> Self:
        """Return what ``to_arrays`` gave; raise ``ValueError`` if it is about other rows."""
        try:
            probabilities, opinions = arrays["probabilities"], arrays["opinions"]
        except KeyError as error:
            raise ValueError("a part is missing") from error
        n_pairs = int(candidates.sizes.sum())
        if probabilities.shape != candidates.shape or opinions.shape[1:] != (n_pairs,):
            raise ValueError("it is about other rows")
        history = {
            name.removeprefix(_MEASURE): values.tolist()
            for name, values in arrays.items()
            if name.startswith(_MEASURE)
        }
        return cls(probabilities, opinions, (history,) if history else ())


def judge(
    model: TableModel,
    values: pd.DataFrame,
    candidates: CandidateLabels,
    *,
    with_opinions: bool = True,
) -> Judgement:
    """Ask a model about rows, given as ``column_values`` made them, and perhaps its networks."""
    nothing = np.empty((0, int(candidates.sizes.sum())), dtype=_OPINION)
    return Judgement(
        probabilities=model.probabilities_of(values),
        opinions=network_opinions(model, values, candidates) if with_opinions else nothing,
        histories=histories_of(model),
    )


def network_opinions(
    model: TableModel, values: pd.DataFrame, candidates: CandidateLabels
) -> AnyArray:
    """Return how each network shares its belief among candidates: (n_networks, n_pairs)."""
    parts = []
    at_a_time = max(1, _PROBABILITIES_AT_A_TIME // candidates.shape[1])
    for start in range(0, len(values), at_a_time):
        rows = slice(start, start + at_a_time)
        own = candidates[rows]
        parts.append(
            [
                own.values_of(with_prior(own, of_network)).astype(_OPINION)
                for of_network in model.probabilities_per_network(values.iloc[rows])
            ]
        )
    by_network = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
    return np.array(by_network, dtype=_OPINION).reshape(-1, int(candidates.sizes.sum()))


def histories_of(model: TableModel) -> tuple[History, ...]:
    """Return how the training of a model went; nothing where it has no epochs."""
    history = getattr(model.method, "history_", None)
    return () if history is None else (history.to_dict(),)


def judged_together(
    parts: Iterable[tuple[IntArray, Judgement]], candidates: CandidateLabels
) -> Judgement:
    """Return one judgement of all rows from judgements of some rows each.

    Parameters
    ----------
    parts : iterable of (rows, judgement)
        Every row is in one of them. One is held at a time: probabilities of all rows may be large.
    candidates : CandidateLabels
        Of all rows.
    """
    probabilities = np.empty(candidates.shape)
    said: list[tuple[IntArray, AnyArray]] = []
    histories: list[History] = []
    for rows, part in parts:
        probabilities[rows] = part.probabilities
        said.append((_pairs_of_rows(rows, candidates), part.opinions))
        histories += part.histories
    n_networks = max(len(own) for _, own in said)
    opinions = np.full((n_networks, int(candidates.sizes.sum())), np.nan, dtype=_OPINION)
    for pairs, own in said:
        opinions[: len(own), pairs] = own
    return Judgement(probabilities, opinions, tuple(histories))


def with_prior(candidates: CandidateLabels, probabilities: FloatArray) -> Sparse:
    """Return confidences of candidates from what the features say and what was known before.

    The model has not seen the weights of a row that it was not trained on, such as votes: they
    are a second opinion, and opinions multiply. Without weights all candidates start equal.
    """
    return confidence_from_scores(candidates, candidates.prior().multiply(probabilities).tocsr())


def _pairs_of_rows(rows: IntArray, candidates: CandidateLabels) -> IntArray:
    """Return where the pairs of these rows are among all pairs."""
    sizes = candidates.sizes[rows]
    ends = np.cumsum(sizes)
    inside = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    places: IntArray = np.repeat(candidates.starts[rows], sizes) + inside
    return places


_SET_FOR_ONE_FIT = ("callbacks", "checkpoint")


class FitListener:
    """Told how far a series of fits is; every method does nothing, write those you need."""

    def on_fits_start(self, n_fits: int) -> None:
        """So many models are about to be trained."""

    def on_fit_start(self, title: str) -> None:
        """One of them begins."""

    def on_epoch_end(self, epoch: int, n_epochs: int) -> None:
        """One of its epochs is done; only networks have any."""

    def on_fit_end(self) -> None:
        """One of them is trained."""


class _EpochTeller:
    """Hands the epochs of a training on to a listener."""

    def __init__(self, listener: FitListener) -> None:
        self._listener = listener

    def on_epoch_end(self, training: "Training") -> None:
        self._listener.on_epoch_end(training.epoch, training.settings.epochs)


def check_folds(n_folds: int) -> None:
    """Refuse a number of folds that leaves no rows to train on."""
    check_integer("n_folds", n_folds, minimum=1)
    if n_folds == 1:
        raise ParameterError("One fold leaves no rows to train on. Use two folds or more.")


def judge_held_out(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    n_folds: int,
    seed: int,
    listener: FitListener,
    work: "WorkFolder | None" = None,
    with_opinions: bool = True,
) -> Judgement:
    """Return what is said about every row by a model of the other folds' rows.

    Parameters
    ----------
    task : TableTask
        What to learn from.
    method : PartialLabelClassifier
        Copied for every fold.
    n_folds, seed : int
        How many folds, and what shuffles the rows.
    listener : FitListener
        Told how far it is.
    work : WorkFolder, optional
        Folds that are done are taken from there and kept there.
    with_opinions : bool, default=True
        Whether each network is asked, which takes as long again as asking all together.
    """
    n_rows = len(task.candidates)
    if n_rows < n_folds:
        raise TableError(
            f"{n_folds} folds need as many rows with a label. Got {n_rows:,}. Use fewer "
            "folds (--folds, in Python n_folds)."
        )
    seeds = spawn_seeds(seed, n_folds)
    # Shuffled, because tables are often sorted by label.
    splitter = KFold(n_folds, shuffle=True, random_state=seed)
    folds = splitter.split(np.empty((n_rows, 0)))

    def judged_folds() -> Iterator[tuple[IntArray, Judgement]]:
        for fold, (train, test) in enumerate(folds):
            name = f"fold-{fold + 1}"
            held_out = task.candidates[test]
            done = _kept(work, name, held_out)
            with _told(listener, f"fold {fold + 1} of {n_folds}"):
                if done is None:
                    own = _prepared(method, seeds[fold], listener, work, name)
                    known = task.candidates[train]
                    model = fit_model(task.values.iloc[train], known, task.plan, own)
                    values = task.values.iloc[test]
                    done = judge(model, values, held_out, with_opinions=with_opinions)
                    if work is not None:
                        work.keep(name, done.to_arrays())
            yield test, done

    return judged_together(judged_folds(), task.candidates)


def fit_whole(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    seed: int,
    listener: FitListener,
    work: "WorkFolder | None" = None,
) -> TableModel:
    """Return a model of all rows."""
    with _told(listener, "all rows"):
        own = _prepared(method, seed, listener, work, "whole")
        model = fit_model(task.values, task.candidates, task.plan, own)
    # Whoever followed this fit has nothing to do with the next one.
    followed = method.get_params(deep=False).items()
    model.method.set_params(**{name: value for name, value in followed if name in _SET_FOR_ONE_FIT})
    return model


def _kept(work: "WorkFolder | None", name: str, candidates: CandidateLabels) -> Judgement | None:
    arrays = None if work is None else work.arrays(name)
    if arrays is None:
        return None
    try:
        return Judgement.from_arrays(arrays, candidates)
    except ValueError:  # then it is made again
        return None


def _prepared(
    method: PartialLabelClassifier,
    seed: int,
    listener: FitListener,
    work: "WorkFolder | None",
    name: str,
) -> PartialLabelClassifier:
    """Return a copy that tells its epochs, keeps its state and has a seed, where it can."""
    own: PartialLabelClassifier = clone(method)
    parameters = own.get_params(deep=False)
    wanted: dict[str, object] = {}
    if parameters.get("random_state", seed) is None:
        wanted["random_state"] = seed
    if "callbacks" in parameters:
        wanted["callbacks"] = [*(parameters["callbacks"] or ()), _EpochTeller(listener)]
    if work is not None and parameters.get("checkpoint", "") is None:
        wanted["checkpoint"] = work.checkpoint(name)
    own.set_params(**wanted)
    return own


@contextmanager
def _told(listener: FitListener, title: str) -> Iterator[None]:
    listener.on_fit_start(title)
    yield
    listener.on_fit_end()
