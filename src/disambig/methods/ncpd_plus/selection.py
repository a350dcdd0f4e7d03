"""How the configurations of a mix compare on rows held out, by their candidate sets alone."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from disambig._core.typing import FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_sums
from disambig.methods.ncpd_plus.mixture import SMALLEST_MASS, mixture_weights
from disambig.metrics import approximated_accuracy, covering_rate

__all__ = ["ConfigurationScore", "Selection", "compare"]

# As if each configuration had explained so many held-out rows alone.
_PSEUDO_ROWS = 2.0
# What weighs less is not worth another training.
_SMALLEST_WEIGHT = 0.1


@dataclass(frozen=True)
class ConfigurationScore:
    """What one configuration is worth on the rows held out.

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
    """Scores by the name of the configuration, the heaviest first; ``print`` shows a table.

    Parameters
    ----------
    scores : mapping of str to ConfigurationScore
        Of every configuration that was tried.

    Attributes
    ----------
    choice : str
        The configuration with the largest weight.
    runner_up : str
        The one after it.
    """

    def __init__(self, scores: Mapping[str, ConfigurationScore]) -> None:
        ranked = sorted(scores.items(), key=lambda item: (-item[1].weight, -item[1].log_mass))
        self._scores = dict(ranked)
        self.choice, self.runner_up, *_ = self._scores

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

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return plain numbers by name."""
        return {name: asdict(score) for name, score in self.items()}

    def __str__(self) -> str:
        width = max(len(name) for name in self)
        lines = [f"{'':{width}}  weight  log mass  covered  approx. acc."]
        lines += [
            f"{name:{width}}  {score.weight:6.2f}  {score.log_mass:8.3f}  "
            f"{score.covering_rate:7.3f}  {score.approximated_accuracy:12.3f}"
            for name, score in self.items()
        ]
        return "\n".join(lines)


def compare(candidates: CandidateLabels, probabilities: Mapping[str, FloatArray]) -> Selection:
    """Weigh configurations by what they say of the same held-out rows.

    Parameters
    ----------
    candidates : CandidateLabels
        Sets of these rows.
    probabilities : mapping of str to ndarray of shape (rows, classes)
        For every configuration, in the column order of ``candidates``.
    """
    masses = np.stack([_masses(candidates, own) for own in probabilities.values()])
    weights = _without_small(mixture_weights(masses, _PSEUDO_ROWS))
    log_masses = np.log(np.maximum(masses, SMALLEST_MASS)).mean(axis=1)
    return Selection(
        {
            name: ConfigurationScore(
                weight=float(weight),
                log_mass=float(log_mass),
                covering_rate=covering_rate(candidates, candidates.classes[own.argmax(axis=1)]),
                approximated_accuracy=approximated_accuracy(candidates, own),
            )
            for (name, own), weight, log_mass in zip(
                probabilities.items(), weights, log_masses, strict=True
            )
        }
    )


def _masses(candidates: CandidateLabels, probabilities: FloatArray) -> FloatArray:
    return group_sums(candidates.values_of(probabilities), candidates.starts)


def _without_small(weights: FloatArray) -> FloatArray:
    kept: FloatArray = np.where(weights < _SMALLEST_WEIGHT, 0.0, weights)
    kept /= kept.sum()
    return kept
