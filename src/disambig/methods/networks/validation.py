"""Watch rows that are not trained on, by their candidate sets: never by true labels."""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from disambig._core.errors import CandidateError, ParameterError, describe_rows
from disambig._core.parameters import check_real, make_generator
from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.groups import hold_out_groups
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.target import as_candidates
from disambig.engine.training import Training
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.networks.scaled_rows import ScaledRows
from disambig.methods.row_weights import relative_row_weights
from disambig.metrics.without_truth import covering_rate

_MEASURE = "validation_covering_rate"


class ValidationMonitor:
    """Measure the covering rate of held-out rows after every epoch, and stop when it has settled.

    Parameters
    ----------
    features : ndarray of shape (rows, features), or ScaledRows
        Scaled like those that are trained on.
    candidates : CandidateLabels
        Their candidate sets.
    classes : ndarray of shape (classes,)
        What the networks' outputs stand for.
    patience : int, optional
        Training stops when the best epoch is this many epochs ago, and the networks are put back
        to what they were then. Without it, training goes on to the end and nothing is put back.
    """

    def __init__(
        self,
        features: FloatArray | ScaledRows,
        candidates: CandidateLabels,
        classes: AnyArray,
        patience: int | None,
    ) -> None:
        self.features = features
        self.candidates = candidates
        self.classes = classes
        self._patience = patience
        self._best: dict[str, Tensor] = {}
        self._rows: Tensor | None = None

    def on_epoch_end(self, training: Training) -> None:
        """Measure, remember the networks if they are the best so far, stop if it is time."""
        training.note(_MEASURE, self._covering_rate(training))
        rates = training.histories[0][_MEASURE]
        # Of equally good epochs the first one is the best.
        if self._patience is not None and rates.argmax() == len(rates) - 1:
            self._best = {n: v.clone() for n, v in training.networks.state_dict().items()}
        if self._patience is not None and len(rates) - 1 - int(rates.argmax()) >= self._patience:
            training.stop()

    def on_fit_end(self, training: Training) -> None:
        """Put back the networks of the best epoch."""
        if self._best:
            training.networks.load_state_dict(self._best)

    def state(self) -> dict[str, Tensor]:
        """Return what a resumed training must know of the best epoch."""
        return self._best

    def resume(self, best: dict[str, Tensor]) -> None:
        """Go on from what ``state()`` was."""
        self._best = best

    def probabilities(self, training: Training) -> FloatArray:
        """Return what the networks say now: shape (rows, classes)."""
        return np.concatenate(list(self._blocks(training)))

    def _blocks(self, training: Training) -> Iterator[FloatArray]:
        """Yield the same, for rows on disk some at a time."""
        example = next(training.networks.parameters())
        if isinstance(self.features, ScaledRows):
            for block in self.features.blocks():
                rows = torch.as_tensor(block, dtype=example.dtype, device=example.device)
                yield training.mean_probabilities(rows).cpu().numpy()
            return
        if self._rows is None:
            self._rows = torch.as_tensor(self.features, dtype=example.dtype, device=example.device)
        yield training.mean_probabilities(self._rows).cpu().numpy()

    def _covering_rate(self, training: Training) -> float:
        predicted = np.concatenate([block.argmax(-1) for block in self._blocks(training)])
        return covering_rate(
            self.candidates,
            self.classes[predicted],
            sample_weight=relative_row_weights(self.candidates),
        )


def split_rows(
    classifier: PartialLabelClassifier,
    validation: Any,
    X: FloatArray,
    candidates: CandidateLabels,
    seed: int,
) -> tuple[tuple[FloatArray, CandidateLabels], tuple[FloatArray, CandidateLabels] | None]:
    """Return the rows to train on and, if there are any, the rows to watch.

    ``validation`` is what ``classifier`` was given; ``seed`` decides which rows are held out.
    """
    if validation is None:
        return (X, candidates), None
    if isinstance(validation, Real) and not isinstance(validation, bool):
        return _split_off(float(validation), X, candidates, seed)
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ParameterError(
            "'validation' must be a share of the rows, such as 0.1, or a pair (X, y). "
            f"Got {type(validation).__name__}."
        )
    held_out_X, held_out_y = validation
    held_out_X = classifier._checked_features(held_out_X, reset=False)
    sets = as_candidates(held_out_y, classes=candidates.classes)
    if len(held_out_X) != len(sets):
        raise CandidateError(
            "The X and y of 'validation' need the same number of samples. "
            f"Got {len(held_out_X)} rows of features and {len(sets)} candidate sets."
        )
    trained = set(candidates.classes.tolist())
    known = np.array([name in trained for name in sets.classes.tolist()])
    strange = np.asarray(sets.to_sparse()[:, known].sum(axis=1)).ravel() == 0
    if strange.any():
        raise CandidateError(
            "Rows of 'validation' need a candidate among the classes that are trained. There is "
            f"none for {describe_rows(strange)}. Name the classes as in y."
        )
    return (X, candidates), (held_out_X, sets)


def _split_off(
    share: float, X: FloatArray, candidates: CandidateLabels, seed: int
) -> tuple[tuple[FloatArray, CandidateLabels], tuple[FloatArray, CandidateLabels]]:
    check_real("validation", share, minimum=0, maximum=1)
    n_held_out = round(share * len(X))
    if not 0 < n_held_out < len(X):
        raise ParameterError(
            f"'validation' must leave rows to train on and rows to watch. A share of {share} of "
            f"{len(X)} rows is {n_held_out}. Give another share, or a pair (X, y)."
        )
    if candidates.groups is None:
        order = make_generator(seed).permutation(len(X))
        train, held_out = order[n_held_out:], order[:n_held_out]
    else:
        is_held_out = hold_out_groups(candidates.groups, share, seed)
        train, held_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
    return (X[train], candidates[train]), (X[held_out], candidates[held_out])
