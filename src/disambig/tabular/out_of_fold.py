"""What models predict for rows of a table that they were not trained on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from disambig._core.typing import AnyArray, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import confidence_from_scores
from disambig.tabular.table_model import TableModel, slices_of_rows

# Seen by people only, who do not tell a thousandth from another.
PER_NETWORK = np.float32
_MEASURE = "history."

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


def confidences_per_network(
    model: TableModel, values: pd.DataFrame, candidates: CandidateLabels
) -> AnyArray:
    """Return the confidences of candidates by each network: (n_networks, n_pairs)."""
    n_pairs = int(candidates.sizes.sum())
    ask = getattr(model.classifier, "predict_proba_per_network", None)
    if ask is None:
        return np.empty((0, n_pairs), dtype=PER_NETWORK)
    parts = []
    for rows in slices_of_rows(*candidates.shape):
        of_rows = candidates[rows]
        features = model.transformer.transform(values.iloc[rows])
        confidences = [of_rows.values_of(with_prior(of_rows, each)) for each in ask(features)]
        parts.append(np.array(confidences, dtype=PER_NETWORK))
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
    joined = np.full((n_networks, n_pairs), np.nan, dtype=PER_NETWORK)
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
