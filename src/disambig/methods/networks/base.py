"""``NetworkClassifier``: the base class of methods that train networks by a rule."""

import copy
import math
import os
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from disambig._core.errors import ParameterError, warn_caller
from disambig._core.mapped_rows import MappedRows, check_numbers, rows_in_block
from disambig._core.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_real,
    spawn_seeds,
)
from disambig._core.typing import Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.engine.batches import steps_per_epoch
from disambig.engine.device import choose_device, ordinary_tensors, threads_for
from disambig.engine.fast.layers import ACTIVATIONS
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import NetworkStack, Stack
from disambig.engine.history import History
from disambig.engine.loss_rule import LossRule
from disambig.engine.module_stack import ModuleStack
from disambig.engine.ranks import Ranks
from disambig.engine.rule import BaseRule, TrainingData, TrainingSettings
from disambig.engine.training import Training, check_callbacks
from disambig.methods.base import (
    PartialLabelClassifier,
    confidence_from_logits,
    confidence_from_pairs,
)
from disambig.methods.class_weights import ClassWeight, check_class_weight, weights_of_classes
from disambig.methods.feature_scales import LARGEST_INPUT
from disambig.methods.networks.checkpoint import Checkpoint, stored_seeds, training_fingerprint
from disambig.methods.networks.model_file import SavedNetworks
from disambig.methods.networks.pace import measure_pace
from disambig.methods.networks.parameters import DeclaredParameters
from disambig.methods.networks.plan import FeatureViews, Start, TrainingPlan
from disambig.methods.networks.progress import ProgressBar
from disambig.methods.networks.validation import ValidationMonitor, split_rows
from disambig.methods.row_weights import RowWeightsMixin, relative_row_weights
from disambig.methods.scaling import check_scaling

# Threads wait for each other at every operation, and to ask networks takes a tenth of those of a
# training step: as much work is worth ten times as much to them.
_STEPS_OF_INFERENCE = 10


class NetworkClassifier(DeclaredParameters, SavedNetworks, RowWeightsMixin, PartialLabelClassifier):
    """The base class of methods that train neural networks.

    A subclass defines ``_make_rule``, which returns a ``Rule`` or a ``LossRule`` of the engine, and
    has a ``card``. Parameters that it adds, or whose default it changes, are declared in its body
    as in a dataclass: ``strength: float = 1.0``. One that predicts in another way overrides
    ``_probability_blocks``, which all predictions come from. The other hooks have defaults:
    ``_network_count``, ``_helper_count``, ``_scalings``, ``_swap_noise``, ``_watchers`` and
    ``_to_be_repeated``.

    Where torch.distributed has a process group, its processes train together, and each of them
    gets the model that one process would; ``disambig.engine.ranks.alone`` leaves the others out.

    Parameters
    ----------
    hidden : int or sequence of int, default=1024
        Units of the hidden layer, or of each hidden layer.
    epochs : int, default=200
        Number of passes over the training rows.
    batch_size : int, default=128
        Largest size of a mini-batch. Rows are divided evenly, so that no batch is much smaller.
    learning_rate : float, default=0.001
        Learning rate of Adam.
    decay : float, default=0
        Share of the epochs, at the end, over which the learning rate falls to zero.
    dropout : float, default=0.5
        Dropout rate of the hidden units, rounded to the nearest 1/256.
    activation : {"relu", "gelu", "mish", "silu", "tanh"}, default="relu"
        Activation of the hidden units.
    batch_norm : bool, default=True
        Whether hidden layers are normalised over the mini-batch.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="half"
        How features are scaled, fitted on the rows that are trained on; see ``FeatureScaler``.
    network : callable, optional
        Makes your own networks: called as ``network(n_features, n_classes)`` once for each, it
        returns a ``torch.nn.Module`` from rows to logits. ``hidden``, ``dropout``, ``activation``
        and ``batch_norm`` are then ignored. With it ``X`` may have more dimensions, such as images
        of shape (n_samples, channels, height, width): ``n_features`` is then the shape of a row,
        and ``scaling`` scales all places of a channel alike.
    validation : float or (X, y), optional
        Validation rows with candidate sets: a share of the rows given to ``fit``, which are then
        not trained on, or other rows. Their covering rate is in ``history_``.
    early_stopping : int, optional
        Stop after this many epochs without a better covering rate on ``validation``, and keep the
        networks of the best epoch.
    checkpoint : path, optional
        File to save the training to as it runs. If the file exists, ``fit`` continues from it; one
        of another method, other data or other parameters is refused.
    checkpoint_every : int, default=10
        Number of epochs between two saves of ``checkpoint``.
    class_weight : "balanced", dict or None, default=None
        What the loss of a candidate is multiplied by, by its label; labels that a dict does not
        name weigh 1. "balanced" is the inverse of the share of a class that the sets imply.
    device : str, default="auto"
        Device to compute on; "auto" is a CUDA GPU if there is one, otherwise the CPU.
    random_state : int or NumPy generator, optional
        Seed of the initial weights, the order of rows and dropout.
    callbacks : sequence of object, optional
        Objects with any of the methods ``on_fit_start``, ``on_epoch_end``, ``on_fit_end`` and, if
        training is interrupted, ``on_interrupt``; each is called with the running ``Training``.
    verbose : int, default=0
        1 shows a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        Confidence of every candidate of every row given to ``fit``: the mean over the networks of
        their probabilities restricted to the candidates.
    history_ : History
        Measures by epoch, as arrays by name or a data frame from ``to_frame()``: measures of the
        method, ``agreement`` between the networks' predictions, ``loss``, ``covering_rate``, and
        the share of rows whose most probable candidate has ``changed``, all as seen while training,
        with dropout; ``validation_covering_rate`` if there are validation rows.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    PartialLabelClassifier : The base of all methods.
    NCPDClassifier : A method of this kind.

    Examples
    --------
    Your own method: networks learn from their own probabilities of the candidates.

    >>> from disambig import CandidateLabels, NetworkClassifier
    >>> from disambig.engine.rule import Rule, Targets
    >>> class SelfTaught(Rule):
    ...     def targets(self, batch):
    ...         return Targets(slots=batch.candidate_probabilities())
    >>> class SelfTaughtClassifier(NetworkClassifier):
    ...     def _make_rule(self):
    ...         return SelfTaught()
    >>> X = [[0.0], [0.1], [1.0], [1.1]]
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat", "dog", "dog|fox"])
    >>> model = SelfTaughtClassifier(hidden=8, epochs=2, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (4, 3)
    """

    # Parameters that the course of a training does not depend on, or only through its rows, its
    # seeds and its networks: a checkpoint is taken up whatever they are.
    _NOT_LEARNED_FROM: ClassVar[frozenset[str]] = frozenset(
        {
            "callbacks", "checkpoint", "checkpoint_every", "class_weight", "device", "network",
            "random_state", "scaling", "validation", "verbose",
        }
    )  # fmt: skip
    # What a progress bar calls the training, unless that is the name of the class.
    _title = ""
    # What its training begins with: how features are scaled, what another one has learned.
    _start: Start | None = field(init=False, default=None)
    # Whether to keep what another classifier needs to go on, and what that is.
    _hands_on = False
    _handed_on: Start | None = field(init=False, default=None)

    hidden: int | Sequence[int] = 1024
    epochs: int | None = 200  # None where a method chooses them
    batch_size: int = 128
    learning_rate: float = 1e-3
    decay: float = 0.0
    dropout: float = 0.5
    activation: str = "relu"
    batch_norm: bool = True
    scaling: Any = "half"
    network: Callable[[Any, int], Any] | None = None
    validation: Any = None
    early_stopping: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: int = 10
    class_weight: ClassWeight = None
    device: str = "auto"
    random_state: Any = None
    callbacks: Sequence[Any] | None = None
    verbose: int = 0

    # ---- what a method writes

    @abstractmethod
    def _make_rule(self) -> BaseRule:
        """Return the rule by which networks learn; with others it may share a training."""

    def _epoch_count(self) -> int:
        """Return how many epochs there are; a method may leave ``epochs`` open."""
        return cast("int", self.epochs)  # others are refused before a fit

    def _network_count(self) -> int:
        """Return how many networks learn from the same rows, and predict."""
        return 1

    def _helper_count(self) -> int:
        """Return how many more networks learn beside them, and are not kept."""
        return 0

    def _scalings(self) -> dict[str, Any]:
        """Return, by parameter, how features are scaled: networks see all results side by side."""
        return {"scaling": self.scaling}

    def _swap_noise(self) -> tuple[float, int]:
        """Return the share of inputs taken from other rows, and the first epoch of that."""
        return 0.0, 1

    def _watchers(self, plans: Sequence[TrainingPlan]) -> dict[str, Any]:
        """Return, by name, the listeners whose memory belongs to the training of a stack."""
        monitor = plans[0].monitor
        return {} if monitor is None else {"best": monitor}

    @classmethod
    def _to_be_repeated(cls, trainers: Mapping[Self, Self]) -> dict[Self, Self]:  # noqa: ARG003
        """Return which of these classifiers are to be trained again, and by which copy of each."""
        return {}

    # ---- what users call

    def predict_proba_per_network(self, X: Any) -> FloatArray:
        """Return the class probabilities of every network: (n_networks, n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self._per_network(self._checked_features(X, reset=False))

    # ---- what the base class of all methods calls

    def _check_parameters(self) -> None:
        check_integer("epochs", self._epoch_count(), minimum=1)
        check_integer("batch_size", self.batch_size, minimum=2)
        check_real("learning_rate", self.learning_rate, minimum=0)
        check_real("decay", self.decay, minimum=0, maximum=1)
        check_real("dropout", self.dropout, minimum=0, maximum=0.99)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_boolean("batch_norm", self.batch_norm)
        check_scaling(self.scaling)
        for units in self._hidden_layers():
            if not isinstance(units, Integral) or isinstance(units, bool) or units < 1:
                raise ParameterError(
                    "'hidden' must be an integer >= 1 or a list of them. "
                    f"Got {self.hidden!r} instead."
                )
        if self.network is not None and (
            not callable(self.network) or isinstance(self.network, nn.Module)
        ):
            raise ParameterError(
                "'network' must be a function of the number of features and of classes that "
                "returns a torch.nn.Module, called once for every network. "
                f"Got {self.network!r}."
            )
        if self.early_stopping is not None:
            check_integer("early_stopping", self.early_stopping, minimum=1)
            if self.validation is None:
                raise ParameterError(
                    "'early_stopping' needs rows to watch. Give 'validation', for example 0.1."
                )
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise ParameterError(f"'checkpoint' must be a path. Got {self.checkpoint!r} instead.")
        check_integer("checkpoint_every", self.checkpoint_every, minimum=1)
        if self.class_weight is not None:
            check_class_weight(self.class_weight)
        choose_device(self.device)
        if self.callbacks is not None:
            check_callbacks(self.callbacks)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, minimum=0)

    def _checked_features(self, X: Any, *, reset: bool) -> Features:
        on_disk = MappedRows.of(X)
        if on_disk is not None:
            check_numbers(on_disk)
            return validate_data(self, on_disk, reset=reset, skip_check_array=True)
        # What is neither array nor list is left to scikit-learn to read or to refuse.
        n_dimensions = np.ndim(X) if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
        if n_dimensions <= 2:
            return super()._checked_features(X, reset=reset)
        if self.network is None:
            raise ParameterError(
                "Rows of more than one dimension, such as images, need a network of your own "
                f"('network'). Got {n_dimensions} dimensions: X.reshape(len(X), -1) has two."
            )
        return validate_data(self, X, reset=reset, allow_nd=True)

    @classmethod
    def _threads(cls) -> AbstractContextManager[None]:
        return nullcontext()  # the engine sees to those of torch

    def _check_many(self) -> None:
        if self.checkpoint is not None:
            raise ParameterError(
                "'checkpoint' names one file, and there are many trainings. Leave it out, or call "
                "fit for each with a path of its own."
            )

    def _fits_at_once(self) -> int | None:
        return 1 if choose_device(self.device).type == "cpu" else None

    def _estimate_seconds(self, X: Features, candidates: CandidateLabels) -> float:
        pace, epochs = measure_pace(self, X, candidates), self._epoch_count()
        n_trained = n_asked = len(candidates)
        if self.validation is not None:
            (_, trained), watched = split_rows(self, self.validation, X, candidates, 0)
            n_trained = len(trained)
            n_asked += 0 if watched is None else epochs * len(watched[1])
        return pace.training_seconds(epochs, n_trained) + n_asked * pace.row

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        return self._fit_side_by_side([self], [(X, candidates)])[0]

    @classmethod
    def _fit_side_by_side(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Sparse]:
        cls._train(methods, data)
        return [
            # Nobody asks for those of a classifier that another one goes on from.
            sparse.csr_array(candidates.shape)
            if method._hands_on
            else method._confidences(X, candidates)
            for method, (X, candidates) in zip(methods, data, strict=True)
        ]

    # ---- fitting

    @classmethod
    def _train(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> None:
        """Train networks for all methods; what a training needs of every row is then forgotten."""
        plans = {method: method._plan(*rows) for method, rows in zip(methods, data, strict=True)}
        # Who trains for whom: itself at first, a changed copy where a training is repeated.
        trainers = dict(zip(methods, methods, strict=True))
        while trainers:
            stacks: dict[Any, list[Self]] = defaultdict(list)
            for method in trainers:
                stacks[method._stack_key(plans[method])].append(method)
            for stack in stacks.values():
                of_stack = [plans[method] for method in stack]
                training = trainers[stack[0]]._training(of_stack)
                training.run()
                for number, method in enumerate(stack):
                    method._keep(plans[method], training, number)
            trainers = cls._to_be_repeated(trainers)

    def _plan(self, X: Features, candidates: CandidateLabels) -> TrainingPlan:
        """Return what is settled before training."""
        seeds = self._seeds()
        trained, held_out = (X, candidates), None
        if self.validation is not None:
            trained, held_out = split_rows(self, self.validation, X, candidates, seeds[1])
        start = self._start or Start(self._fitted_views(trained[0]))
        views = start.views
        sets = trained[1]
        data = TrainingData(
            views.inputs(trained[0]),
            sets.prior(copy=not isinstance(X, MappedRows)),
            seeds[0],
            sets.groups,
            sets.promise,
            relative_row_weights(sets),
            None if self.class_weight is None else weights_of_classes(self.class_weight, sets),
        )
        monitor = None
        if held_out is not None:
            monitor = ValidationMonitor(
                views.inputs(held_out[0]), held_out[1], candidates.classes, self.early_stopping
            )
        return TrainingPlan(data, len(candidates.classes), views, monitor, start.progress, seeds)

    def _fitted_views(self, X: Features) -> FeatureViews:
        """Return how features are scaled, learned from these rows."""
        return FeatureViews.fitted(list(self._scalings().values()), X)

    def _seeds(self) -> list[int]:
        """Return seeds of order, split and networks; those of a checkpoint if none was given."""
        count = 2 + self._network_count() + self._helper_count()
        is_given = isinstance(self.random_state, Integral | np.random.SeedSequence)
        if self.checkpoint is not None and not is_given:
            stored = stored_seeds(self.checkpoint)
            if stored is not None and len(stored) == count:
                return stored
        return spawn_seeds(self.random_state, count)

    def _stack_key(self, plan: TrainingPlan) -> Any:
        """Return what trainings that share a stack have in common."""
        followers = (self.validation, self.checkpoint, self.network, self.callbacks)
        if any(follower is not None for follower in followers):
            return self  # something follows this training that cannot follow several at once
        if not isinstance(plan.data.features, np.ndarray):
            return self  # rows on disk are read for one training at a time
        n_rows, n_features = plan.data.features.shape
        n_steps = steps_per_epoch(n_rows, self.batch_size)
        steps_done = 0 if plan.progress is None else plan.progress.steps
        data = plan.data
        kinds = (data.promise, data.row_weights is None, data.class_weights is None)
        return n_features, plan.n_classes, n_steps, steps_done, self._epoch_count(), *kinds

    def _training(self, plans: Sequence[TrainingPlan]) -> Training:
        """Return the training of a stack, and say what users should know before it begins."""
        device = choose_device(self.device)
        problems = [plan.data for plan in plans]
        n_features = plans[0].views.input_shape or problems[0].features.shape[1]
        n_classes = plans[0].n_classes
        seeds = [seed for plan in plans for seed in plan.seeds[2:]]
        noise, noise_from = self._swap_noise()
        settings = TrainingSettings(
            self._epoch_count(),
            self.batch_size,
            self.learning_rate,
            self.decay,
            noise_from=noise_from,
        )
        with ordinary_tensors(), threads_for(0):
            rule = self._make_rule()
            embedding = rule.embedding if isinstance(rule, LossRule) else None
            networks = self._make_networks(n_features, n_classes, seeds, embedding).to(device)
            ranks = Ranks.present()
            for message in rule.warnings(settings) if ranks.is_first else ():
                warn_caller(message)
            training = Training(
                networks,
                problems,
                rule,
                settings,
                self._listeners(plans),
                noise=SwapNoise(noise, seeds) if noise else None,
                n_helpers=self._helper_count(),
                ranks=ranks,
            )
            progress = [plan.progress for plan in plans if plan.progress is not None]
            if progress:
                training.go_on_from(progress)
            return training

    def _listeners(self, plans: Sequence[TrainingPlan]) -> list[Any]:
        """Return those who follow the training of a stack, in the order of their calls."""
        watchers = self._watchers(plans)
        listeners: list[Any] = list(watchers.values())
        if self.checkpoint is not None:
            data, monitor, seeds = plans[0].data, plans[0].monitor, plans[0].seeds
            parameters = self.get_params(deep=False) | {"hidden": self._hidden_layers()}
            learned_from = {n: v for n, v in parameters.items() if n not in self._NOT_LEARNED_FROM}
            learned_from |= {"seeds": seeds, "method": self.card.name}
            fingerprint = training_fingerprint(data, monitor, learned_from)
            listeners.append(
                Checkpoint(self.checkpoint, self.checkpoint_every, fingerprint, seeds, watchers)
            )
        if self.verbose and Ranks.present().is_first:
            title = self._title or type(self).__name__.removesuffix("Classifier")
            listeners.append(ProgressBar(title))
        return [*listeners, *(self.callbacks or ())]

    def _keep(self, plan: TrainingPlan, training: Training, number: int) -> None:
        """Keep what a training of several has left for this classifier."""
        count = self._network_count()
        first = (count + self._helper_count()) * number
        with ordinary_tensors():
            self._networks: Stack = training.networks.part(first, count)
        self._views = plan.views
        self.history_: History = training.histories[number]
        if self._hands_on:
            self._handed_on = Start(plan.views, training.progress_of(number))
        # What is set after a fit does not change what was fitted.
        self._fitted_with = self.get_params(deep=False)

    def _hidden_layers(self) -> tuple[int, ...]:
        hidden: Any = self.hidden
        if isinstance(hidden, Sequence | np.ndarray) and not isinstance(hidden, str):
            return tuple(hidden)
        return (hidden,)

    def _make_networks(
        self,
        n_features: int | tuple[int, ...],
        n_classes: int,
        seeds: Sequence[int],
        embedding: int | None = None,
    ) -> Stack:
        """Return untrained networks, one for every seed, maybe with a second output."""
        if self.network is not None:
            if embedding is not None:
                raise ParameterError(
                    f"{type(self).__name__} needs networks with a second output, which a 'network' "
                    f"of your own has not. Got {self.network!r}: leave it out."
                )
            return ModuleStack(self.network, n_features, n_classes, seeds=seeds)
        assert isinstance(n_features, int)
        return NetworkStack(
            n_features,
            n_classes,
            hidden=self._hidden_layers(),
            seeds=seeds,
            activation=self.activation,
            dropout=self.dropout,
            batch_norm=self.batch_norm,
            embedding=embedding,
        )

    # ---- predicting

    def _predict_proba(self, X: Features) -> FloatArray:
        return np.concatenate(list(self._probability_blocks(X)))

    def _probability_blocks(self, X: Features) -> Iterator[FloatArray]:
        for logits in self._logits(X):
            shares = _softmax_in_place(logits)
            # The mean of one is that one: of many classes a copy takes time.
            yield shares[0] if len(shares) == 1 else shares.mean(axis=0)

    def _per_network(self, X: Features) -> FloatArray:
        return np.concatenate([_softmax_in_place(part) for part in self._logits(X)], axis=1)

    def _confidences(self, X: Features, candidates: CandidateLabels) -> Sparse:
        """Return probabilities restricted to the candidates of every row, mean over networks."""
        values = np.empty(int(candidates.starts[-1] + candidates.sizes[-1]))
        first = start = 0
        for logits in self._logits(X):
            of_rows = candidates[start : start + logits.shape[1]]
            found = [confidence_from_logits(of_rows, network).data for network in logits]
            values[first : first + len(found[0])] = sum(found) / len(found)
            start, first = start + logits.shape[1], first + len(found[0])
        return confidence_from_pairs(candidates, values)

    def _logits(self, X: Features) -> Iterator[FloatArray]:
        """Yield the logits of every network, in double precision, some rows at a time."""
        device = choose_device(self.device)
        networks = self._networks.to(device)
        dtype = next(networks.parameters()).dtype
        for features in self._inputs_to_ask(X):
            asked = torch.as_tensor(features, dtype=dtype, device="cpu").to(device)
            work = _STEPS_OF_INFERENCE * len(asked) * networks.multiplications_per_row()
            with (
                torch.no_grad(),
                torch.autocast(device.type, enabled=False),
                threads_for(work),
            ):
                logits = networks.infer(asked)
            # Memory of their own, that others may write to.
            yield logits.cpu().to(torch.float64, copy=True).numpy()

    def _inputs_to_ask(self, X: Features) -> Iterator[FloatArray]:
        """Yield inputs of the networks, for some rows at a time."""
        n_rows = rows_in_block(max(len(self.classes_), math.prod(X.shape[1:])))
        for start in range(0, X.shape[0], n_rows):
            rows = slice(start, start + n_rows)
            some = X.read(rows) if isinstance(X, MappedRows) else X[rows]
            # A row further out than any that can be trained on is asked for at the border.
            yield self._views.transform(some).clip(-LARGEST_INPUT, LARGEST_INPUT)

    # ---- copying

    def __sklearn_clone__(self) -> Self:
        # Callbacks are somebody's own objects, who waits for them to be called.
        return type(self)(
            **{
                name: value if name == "callbacks" else clone(value, safe=False)
                for name, value in self.get_params(deep=False).items()
            }
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # which may be the live one
        if "_networks" in state:
            # So that a machine without a card can read it.
            state["_networks"] = copy.deepcopy(self._networks).cpu()
        return state


def _softmax_in_place(logits: FloatArray) -> FloatArray:
    """Turn logits into probabilities along the last axis, as ``scipy.special.softmax`` does."""
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    return logits
