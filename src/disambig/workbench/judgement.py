"""What a trained model says about rows: together, network by network, and how it came to that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd

from disambig._core.typing import AnyArray, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.confidence import confidence_from_scores
from disambig.workbench.model.table_model import TableModel

__all__ = [
    "History",
    "Judgement",
    "histories_of",
    "judge",
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
