"""From the parameters of a classifier to a training, and back to what it learned."""

import os
from collections import defaultdict
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from scipy import sparse

from disambig._core.errors import ParameterError, describe_rows
from disambig._core.parameters import spawn_seeds
from disambig._core.typing import Features, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.engine.batches import steps_per_epoch
from disambig.engine.device import choose_device, ordinary_tensors
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import Stack
from disambig.engine.history import History
from disambig.engine.rule import Rule, TrainingData
from disambig.engine.training import Training, TrainingSettings
from disambig.methods.ncpd.checkpoint import Checkpoint, stored_seeds, training_fingerprint
from disambig.methods.ncpd.networks import hidden_layers, make_networks, number_of_networks
from disambig.methods.ncpd.rule import ProgressiveCooperation
from disambig.methods.ncpd.validation import ValidationMonitor, split_rows
from disambig.methods.progress import ProgressBar
from disambig.methods.scaling import apply_scaler, fit_scaler

if TYPE_CHECKING:
    from disambig.methods.ncpd.estimator import NCPDClassifier

__all__ = ["LARGEST_INPUT", "PreparedFit", "Trained", "network_inputs", "train_side_by_side"]

# What the course of a training depends on, besides its data and seeds.
_LEARNED_FROM = (
    "epochs", "batch_size", "learning_rate", "dropout", "activation",
    "batch_norm", "n_networks", "cooperation", "progressive", "early_stopping",
)  # fmt: skip
# The squares and products of such features are still far below the largest float32.
LARGEST_INPUT = 1e12

Fit = TypeVar("Fit", bound="PreparedFit")


class Trained(NamedTuple):
    """What a training leaves behind."""

    scaler: Any
    networks: Stack
    history: History


class PreparedFit:
    """One classifier with the data it is given: everything that is settled before training.

    Parameters
    ----------
    method : NCPDClassifier
        Its parameters have been checked.
    X : ndarray of shape (rows, features)
        Features.
    candidates : CandidateLabels
        Candidate sets of the rows.
    """

    def __init__(self, method: "NCPDClassifier", X: Features, candidates: CandidateLabels) -> None:
        self.method = method
        self.ramp_epochs = method.ramp_epochs
        self.n_classes = len(candidates.classes)
        self.n_networks = number_of_networks(method)
        self.seeds = self._chosen_seeds()
        order_seed, split_seed, *self.network_seeds = self.seeds
        trained, held_out = split_rows(method, X, candidates, split_seed)
        self.scaler = self.fitted_scaler(trained[0])
        features = _safe_inputs(self.scaler, trained[0])
        self.problem = TrainingData(features, trained[1].prior(), order_seed)
        self.monitor = None
        if held_out is not None:
            self.monitor = ValidationMonitor(
                _safe_inputs(self.scaler, held_out[0]),
                held_out[1],
                candidates.classes,
                method.early_stopping,
            )

    def fitted_scaler(self, X: Features) -> Any:
        """Return what turns features into inputs of the networks, learned from these rows."""
        return fit_scaler(self.method.scaling, X)

    def make_rule(
        self,
        problems: Sequence[TrainingData],  # noqa: ARG002  # for those whose rule looks at them
        device: torch.device,
    ) -> Rule:
        """Return the rule by which a stack of such trainings learns."""
        method = self.method
        return ProgressiveCooperation(
            self.ramp_epochs, method.cooperation, method.progressive, device
        )

    def make_noise(self, seeds: Sequence[int]) -> SwapNoise | None:  # noqa: ARG002  # likewise
        """Return the noise of a stack, with a seed for every network: none."""
        return None

    def settings(self) -> TrainingSettings:
        """Return the length and pace of the training."""
        method = self.method
        return TrainingSettings(method.epochs, method.batch_size, method.learning_rate)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Features, classes and steps an epoch: equal for all trainings of a stack."""
        n_rows, n_features = self.problem.features.shape
        return n_features, self.n_classes, steps_per_epoch(n_rows, self.method.batch_size)

    @property
    def stands_alone(self) -> bool:
        """Whether something follows this training that cannot follow several at once."""
        method = self.method
        followers = (method.validation, method.checkpoint, method.network, method.callbacks)
        return any(follower is not None for follower in followers)

    def listeners(self, stack: Sequence["PreparedFit"]) -> list[Any]:
        """Return those who follow the training of a stack, in the order of their calls."""
        method = self.method
        watchers = self.watchers(stack)
        listeners: list[Any] = list(watchers.values())
        if self.checkpoint_path is not None:
            listeners.append(self._checkpoint(self.checkpoint_path, watchers))
        if method.verbose:
            listeners.append(ProgressBar(self.title))
        return [*listeners, *(method.callbacks or ())]

    def watchers(self, stack: Sequence["PreparedFit"]) -> dict[str, Any]:  # noqa: ARG002  # likewise
        """Return, by name, those listeners whose memory belongs to the training."""
        return {} if self.monitor is None else {"best": self.monitor}

    @property
    def checkpoint_path(self) -> str | os.PathLike[str] | None:
        """Where the training is written to as it goes."""
        return self.method.checkpoint

    @property
    def title(self) -> str:
        """What a progress bar calls this training."""
        return "NCPD"

    def learned_from(self) -> dict[str, Any]:
        """Return what the course of the training depends on, besides its data."""
        parameters = self.method.get_params(deep=False)
        return {
            **{name: parameters[name] for name in _LEARNED_FROM},
            "ramp_epochs": self.ramp_epochs,
            "hidden": hidden_layers(self.method),
            "seeds": self.seeds,
        }

    def _checkpoint(self, path: str | os.PathLike[str], watchers: dict[str, Any]) -> Checkpoint:
        fingerprint = training_fingerprint(self.problem, self.monitor, self.learned_from())
        return Checkpoint(path, self.method.checkpoint_every, fingerprint, self.seeds, watchers)

    def _chosen_seeds(self) -> list[int]:
        """Return seeds of order, split and networks; those of a checkpoint if none was given."""
        method, count = self.method, 2 + self.n_networks
        is_given = isinstance(method.random_state, Integral | np.random.SeedSequence)
        if method.checkpoint is not None and not is_given:
            stored = stored_seeds(method.checkpoint)
            if stored is not None and len(stored) == count:
                return stored
        return spawn_seeds(method.random_state, count)


def train_side_by_side(fits: Sequence[Fit]) -> list[Trained]:
    """Train, and return what each training left behind; those of one shape share a stack."""
    trained: dict[Fit, Trained] = {}
    stacks: dict[Any, list[Fit]] = defaultdict(list)
    for fit in fits:
        stacks[fit if fit.stands_alone else fit.shape].append(fit)
    for group in stacks.values():
        trained |= zip(group, _train(group), strict=True)
    return [trained[fit] for fit in fits]


def network_inputs(scaler: Any, X: Features) -> FloatArray:
    """Return features as networks take them: scaled, dense, and in memory of their own."""
    features = apply_scaler(scaler, X)
    if sparse.issparse(features):
        features = features.toarray()
    return np.require(features, requirements=["C", "W"])


def _safe_inputs(scaler: Any, X: Features) -> FloatArray:
    """Return the same, if none of them would overflow."""
    features = network_inputs(scaler, X)
    too_large = np.asarray(np.any(np.abs(features) > LARGEST_INPUT, axis=1))
    if too_large.any():
        raise ParameterError(
            f"Features must be of size {LARGEST_INPUT:g} at most once they are scaled. Larger ones "
            f"in {describe_rows(too_large)}. Choose another 'scaling', or look at these rows."
        )
    return features


def _train(fits: Sequence[PreparedFit]) -> list[Trained]:
    """Train fits of one shape as one stack."""
    first = fits[0]
    (n_inputs, n_classes, _), device = first.shape, choose_device(first.method.device)
    problems = [fit.problem for fit in fits]
    seeds = [seed for fit in fits for seed in fit.network_seeds]
    with ordinary_tensors():
        networks = make_networks(first.method, n_inputs, n_classes, seeds)
        training = Training(
            networks.to(device),
            problems,
            first.make_rule(problems, device),
            first.settings(),
            first.listeners(fits),
            noise=first.make_noise(seeds),
        )
    training.run()
    count = first.n_networks
    with ordinary_tensors():
        return [
            Trained(fit.scaler, networks.part(count * number, count), training.histories[number])
            for number, fit in enumerate(fits)
        ]
