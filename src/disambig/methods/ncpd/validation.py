"""Watch rows that are not trained on, by their candidate sets: never by true labels."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.metrics.label_free import covering_rate

if TYPE_CHECKING:
    from disambig.engine.training import Training

__all__ = ["ValidationMonitor"]

_MEASURE = "validation_covering_rate"


class ValidationMonitor:
    """Measure the covering rate of held-out rows after every epoch, and stop when it has settled.

    Parameters
    ----------
    features : ndarray of shape (rows, features)
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
        features: FloatArray,
        candidates: CandidateLabels,
        classes: AnyArray,
        patience: int | None,
    ) -> None:
        self.features = features
        self.candidates = candidates
        self._classes = classes
        self._patience = patience
        self._best: dict[str, Tensor] = {}

    def on_epoch_end(self, training: "Training") -> None:
        """Measure, remember the networks if they are the best so far, stop if it is time."""
        training.note(_MEASURE, self._covering_rate(training))
        rates = training.histories[0][_MEASURE]
        # Of equally good epochs the first one is the best.
        if self._patience is not None and rates.argmax() == len(rates) - 1:
            self._best = {n: v.clone() for n, v in training.networks.state_dict().items()}
        self._stop_if_settled(training)

    def on_fit_end(self, training: "Training") -> None:
        """Put back the networks of the best epoch."""
        if self._best:
            training.networks.load_state_dict(self._best)

    def state(self) -> dict[str, Tensor]:
        """Return what a resumed training must know of the best epoch."""
        return self._best

    def resume(self, training: "Training", best: dict[str, Tensor]) -> None:
        """Go on from what ``state()`` was, or stop at once if it had settled by then."""
        self._best = best
        self._stop_if_settled(training)

    def _covering_rate(self, training: "Training") -> float:
        example = next(training.networks.parameters())
        features = torch.as_tensor(self.features, dtype=example.dtype, device=example.device)
        probabilities = training.networks.infer(features).softmax(-1).mean(0)
        columns = probabilities.argmax(-1).cpu().numpy()
        return covering_rate(self.candidates, self._classes[columns])

    def _stop_if_settled(self, training: "Training") -> None:
        if self._patience is not None and training.epoch:
            rates = training.histories[0][_MEASURE]
            if len(rates) - 1 - int(rates.argmax()) >= self._patience:
                training.stop()
