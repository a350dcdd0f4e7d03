"""The configurations of a mix, and their weights by candidate sets held out."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from disambig._core.typing import FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_sums
from disambig.methods.row_weights import relative_row_weights


@dataclass(frozen=True)
class Configuration:
    """What one member of the mix is trained with.

    Attributes
    ----------
    swap_noise : float
        Share of inputs taken from other rows.
    ramp_share : float
        Share of the epochs before configurations are compared after which every loss counts as
        small. Short where there is noise: see ``collapse.py``.
    second_view : str or None
        A second view of the features, beside that of the method's ``scaling``.
    prior_correction : float
        How strongly class shares are held in place.
    """

    swap_noise: float
    ramp_share: float
    second_view: str | None = None
    prior_correction: float = 0.5

    def parameters(self, epochs: int) -> dict[str, Any]:
        """Return the parameters of its classifier; configurations are compared after ``epochs``."""
        return {
            "second_view": self.second_view,
            "swap_noise": self.swap_noise,
            "prior_correction": self.prior_correction,
            "ramp_epochs": max(1, round(self.ramp_share * epochs)),
        }


CONFIGURATIONS = {
    # Features whose exact combination matters, such as measurements of a shape.
    "plain": Configuration(swap_noise=0.0, ramp_share=0.3),
    # Many features that say the same thing in part, such as histograms or principal components.
    "noisy": Configuration(swap_noise=0.2, ramp_share=0.1),
    # The same with ranks beside the values, for features with heavy tails.
    "noisy_views": Configuration(swap_noise=0.2, ramp_share=0.1, second_view="quantile"),
}
# What is trained where all of them have collapsed.
FALLBACK = "ncpd"


_STEPS = 300
# Below this a probability is as good as none; its logarithm must not decide alone.
SMALLEST_MASS = 1e-6


def mixture_weights(
    masses: FloatArray, pseudo_rows: float, row_weights: FloatArray | None = None
) -> FloatArray:
    """Return the weights under which a mix of models gives the candidate sets the most probability.

    The sum over the rows of ``log(sum_k weight_k mass_ik)`` is concave in the weights; expectation
    and maximisation climb it.

    Parameters
    ----------
    masses : ndarray of shape (models, rows)
        The probability that each model gives to each held-out candidate set as a whole.
    pseudo_rows : float
        Extra rows counted for every model, so that few rows do not give extreme weights.
    row_weights : ndarray of shape (rows,), optional
        How much every row counts, one on average.
    """
    n_models, n_rows = masses.shape
    masses = np.maximum(masses, SMALLEST_MASS)
    weights: FloatArray = np.full(n_models, 1 / n_models)
    for _ in range(_STEPS):
        share = weights[:, np.newaxis] * masses
        share /= share.sum(axis=0)
        if row_weights is not None:
            share *= row_weights
        weights = (share.sum(axis=1) + pseudo_rows) / (n_rows + n_models * pseudo_rows)
    return weights


# As if each configuration had explained so many held-out rows alone.
_PSEUDO_ROWS = 2.0
# What weighs less gains nothing, and costs accuracy where its configuration is the wrong one.
_SMALLEST_WEIGHT = 0.2


@dataclass(frozen=True)
class ConfigurationScore:
    """How well one configuration does on the held-out rows.

    Attributes
    ----------
    weight : float
        Its weight in the mix; 0 where it is left out.
    log_mass : float
        Mean logarithm of the probability given to the candidate set as a whole.
    covering_rate : float
        Share of predictions inside their sets.
    approximated_accuracy : float
        How much of the candidates' probability the prediction holds.
    """

    weight: float
    log_mass: float
    covering_rate: float
    approximated_accuracy: float


class Selection(Mapping[str, ConfigurationScore]):
    """Scores by configuration, the largest weight first; ``print`` shows a table.

    Parameters
    ----------
    scores : mapping of str to ConfigurationScore
        Scores of every configuration that was tried.

    Attributes
    ----------
    choice : str
        The configuration with the largest weight.
    runner_up : str or None
        The one after it, where there is one.
    """

    def __init__(self, scores: Mapping[str, ConfigurationScore]) -> None:
        ranked = sorted(scores.items(), key=lambda item: (-item[1].weight, -item[1].log_mass))
        self._scores = dict(ranked)
        self.choice, self.runner_up, *_ = (*self._scores, None)

    def __getitem__(self, name: str) -> ConfigurationScore:
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    @property
    def weights(self) -> dict[str, float]:
        """Weights of the configurations in the mix; they sum to one."""
        return {name: score.weight for name, score in self.items() if score.weight > 0}

    def without(self, names: Collection[str]) -> Self:
        """Return a selection in which these weigh nothing, and the others as much as is left."""
        left = {name: weight for name, weight in self.weights.items() if name not in names}
        total = sum(left.values())
        return type(self)(
            {
                name: replace(score, weight=left[name] / total if name in left else 0.0)
                for name, score in self.items()
            }
        )

    def replaced_by(self, name: str) -> Self:
        """Return a selection of something that was not compared, in the place of all others."""
        unknown = ConfigurationScore(1.0, math.nan, math.nan, math.nan)
        return type(self)({**self.without(list(self)), name: unknown})

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return plain numbers by name; None is a score that is not known, as JSON has it."""
        return {
            name: {measure: None if math.isnan(v) else v for measure, v in asdict(score).items()}
            for name, score in self.items()
        }

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float | None]]) -> Self:
        """Return what ``to_dict`` gave as a selection again."""
        return cls(
            {
                name: ConfigurationScore(
                    **{measure: math.nan if v is None else float(v) for measure, v in score.items()}
                )
                for name, score in scores.items()
            }
        )

    def __str__(self) -> str:
        width = max(len(name) for name in self)
        lines = [f"{'':{width}}  weight  log mass  covered  approx. acc."]
        lines += [
            f"{name:{width}}  {score.weight:6.2f}  {score.log_mass:8.3f}  "
            f"{score.covering_rate:7.3f}  {score.approximated_accuracy:12.3f}"
            for name, score in self.items()
        ]
        return "\n".join(lines)


def compare(
    candidates: CandidateLabels,
    probabilities: Mapping[str, FloatArray | Iterable[FloatArray]],
    left_out: Collection[str] = (),
    smallest_weight: float = _SMALLEST_WEIGHT,
) -> Selection:
    """Weigh configurations by what they say of the same held-out rows.

    Parameters
    ----------
    candidates : CandidateLabels
        Sets of these rows.
    probabilities : mapping of str to ndarray of shape (rows, classes), or to blocks of it
        For every configuration, in the column order of ``candidates``.
    left_out : collection of str
        Configurations that are to weigh nothing.
    smallest_weight : float
        What would weigh less is left out.
    """
    heard = {
        name: _Heard.of(candidates, [said] if isinstance(said, np.ndarray) else said)
        for name, said in probabilities.items()
    }
    masses = np.stack([said.masses for said in heard.values()])
    of_rows = relative_row_weights(candidates)
    weights = np.zeros(len(masses))
    weighed = np.array([name not in left_out for name in heard])
    if weighed.any():
        weights[weighed] = _without_small(
            mixture_weights(masses[weighed], _PSEUDO_ROWS, of_rows), smallest_weight
        )
    log_masses = np.average(np.log(np.maximum(masses, SMALLEST_MASS)), axis=1, weights=of_rows)
    return Selection(
        {
            name: ConfigurationScore(
                weight=float(weight),
                log_mass=float(log_mass),
                covering_rate=float(np.average(said.shares > 0, weights=of_rows)),
                approximated_accuracy=float(said.shares.mean()),
            )
            for (name, said), weight, log_mass in zip(
                heard.items(), weights, log_masses, strict=True
            )
        }
    )


class _Heard(NamedTuple):
    """What is kept of what a configuration says, for every row."""

    masses: FloatArray  # the probability of its candidates together
    shares: FloatArray  # what of that the prediction has; 0 where it is no candidate

    @classmethod
    def of(cls, candidates: CandidateLabels, blocks: Iterable[FloatArray]) -> Self:
        """Return what is kept of probabilities that come in blocks of rows."""
        parts = []
        start = 0
        for block in blocks:
            sets = candidates[start : start + len(block)]
            inside = sets.values_of(block)
            masses = group_sums(inside, sets.starts)
            rows, columns = sets.pairs()
            # Of equally probable classes the first is predicted.
            is_predicted = columns == block.argmax(axis=1)[rows]
            covered = np.logical_or.reduceat(is_predicted, sets.starts)
            shares = np.zeros(len(block))
            np.divide(block.max(axis=1), masses, out=shares, where=covered)
            parts.append((masses, shares))
            start += len(block)
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _without_small(weights: FloatArray, smallest: float) -> FloatArray:
    kept: FloatArray = np.where(weights < smallest, 0.0, weights)
    kept /= kept.sum()
    return kept
