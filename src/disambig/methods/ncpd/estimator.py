"""NCPD as a scikit-learn classifier."""

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from disambig._core.errors import ParameterError, warn_caller
from disambig._core.parameters import check_boolean, check_choice, check_integer, check_real
from disambig._core.typing import AnyArray, Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.engine.device import choose_device
from disambig.engine.fast.layers import ACTIVATIONS
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_logits
from disambig.methods.ncpd.fitting import (
    LARGEST_INPUT,
    PreparedFit,
    Trained,
    network_inputs,
    train_side_by_side,
)
from disambig.methods.ncpd.networks import check_networks
from disambig.methods.scaling import FeatureScaler, check_scaling

__all__ = ["NCPDClassifier"]

_ROWS_AT_A_TIME = 8192


class NCPDClassifier(PartialLabelClassifier):
    """Two networks that disambiguate easy rows first and learn from each other.

    In every mini-batch each network ranks the losses of all candidates. A row whose predicted label
    is a candidate with one of the smallest losses is *simple*: the network's own probabilities,
    restricted to the candidates, are its confidences. Every other row is *complicated*: all of its
    candidates count the same, or as much as their weights say. Each network is then trained with
    the confidences of the other. The share of losses that count as small grows with the epochs,
    from almost none to all.

    Parameters
    ----------
    hidden : int or sequence of int, default=1024
        Units of the hidden layer, or of each of them.
    epochs : int, default=200
        Times that every row is seen. With fewer, shorten ``ramp_epochs`` too.
    ramp_epochs : int, default=100
        Epoch from which every loss counts as small (t_r in the paper).
    batch_size : int, default=128
        Most rows in a mini-batch. Rows are dealt evenly, so that no batch is much smaller.
    learning_rate : float, default=0.001
        Of Adam.
    dropout : float, default=0.5
        Share of hidden units left out in a training step, to the nearest 1/256.
    activation : {"relu", "gelu", "mish", "silu", "tanh"}, default="relu"
        Of the hidden units.
    batch_norm : bool, default=True
        Whether hidden layers are normalised over the mini-batch.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="half"
        How features are scaled, fitted on the rows that are trained on; see ``FeatureScaler``.
    n_networks : int, default=2
        Networks that cooperate. With more than two, each learns from the mean of the others.
    cooperation : bool, default=True
        False trains one network on its own confidences, whatever ``n_networks`` says: the paper's
        "w/o NC".
    progressive : bool, default=True
        False disambiguates every row from the first epoch on: the paper's "w/o PD".
    network : callable, optional
        Makes networks of your own: called as ``network(n_features, n_classes)`` once for each, it
        returns a ``torch.nn.Module`` from rows to logits. ``hidden``, ``dropout``, ``activation``
        and ``batch_norm`` then mean nothing.
    validation : float or (X, y), optional
        Rows to watch, by their candidate sets: a share of the rows given to ``fit``, which are then
        not trained on, or other rows. Their covering rate is in ``history_``.
    early_stopping : int, optional
        Stop when the best covering rate on ``validation`` is this many epochs ago, and keep the
        networks of that epoch.
    checkpoint : path, optional
        File to write the training to as it goes. If it is there, ``fit`` goes on from it, and
        refuses it if it belongs to other data or parameters.
    checkpoint_every : int, default=10
        Epochs between two writings of ``checkpoint``.
    device : str, default="auto"
        Where to compute: "auto" is a CUDA card where there is one, else the CPU.
    random_state : int or NumPy generator, optional
        Seed of first weights, order of rows and dropout.
    callbacks : sequence of object, optional
        Called with the running ``Training`` at ``on_fit_start``, ``on_epoch_end``, ``on_fit_end``
        and, if it breaks off, ``on_interrupt``; an object needs only those it wants.
    verbose : int, default=0
        1 shows a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        Confidence of every candidate of every row given to ``fit``: the mean over the networks of
        their probabilities restricted to the candidates (Eq. 1).
    history_ : History
        Per epoch: ``T``, share of ``simple`` rows, ``agreement`` between the networks' predictions,
        ``loss``, ``covering_rate``, share of rows whose most probable candidate has ``changed``,
        all as seen while training, with dropout; ``validation_covering_rate`` if there is any.
        Arrays by name, and ``to_frame()``.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Examples
    --------
    >>> from disambig import CandidateLabels, NCPDClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"])
    >>> method = NCPDClassifier(hidden=64, epochs=40, ramp_epochs=20, random_state=0).fit(X, y)
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="ncpd",
        title="Two networks, easy rows first, each taught by the other",
        paper="Yao, Gong, Deng and Yang, Network Cooperation with Progressive Disambiguation for "
        "Partial Label Learning",
        year=2020,
        deviations=(
            "Rows are not duplicated: one forward pass serves all candidates of a row.",
            "The loss is the mean over the rows of a mini-batch, not the sum.",
            "T(t) is the share of candidate losses that count as small (Sec. 3.2), so that more "
            "than this share of the rows can be simple; losses equal to the last one count too.",
            "Width, batch norm, dropout, scaling and learning rate, which the paper leaves open, "
            "are one choice for all data.",
            "Where candidates carry weights, these take the place of 1/|S| in Eq. 2.",
        ),
    )

    # What a file of a fitted classifier calls itself.
    _file_kind: ClassVar[str] = "NCPD model"

    def __init__(
        self,
        *,
        hidden: int | Sequence[int] = 1024,
        epochs: int = 200,
        ramp_epochs: int = 100,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        dropout: float = 0.5,
        activation: str = "relu",
        batch_norm: bool = True,
        scaling: Any = "half",
        n_networks: int = 2,
        cooperation: bool = True,
        progressive: bool = True,
        network: Callable[[int, int], Any] | None = None,
        validation: Any = None,
        early_stopping: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        device: str = "auto",
        random_state: Any = None,
        callbacks: Sequence[Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden = hidden
        self.epochs = epochs
        self.ramp_epochs = ramp_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.activation = activation
        self.batch_norm = batch_norm
        self.scaling = scaling
        self.n_networks = n_networks
        self.cooperation = cooperation
        self.progressive = progressive
        self.network = network
        self.validation = validation
        self.early_stopping = early_stopping
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.device = device
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def predict_proba_per_network(self, X: Any) -> FloatArray:
        """Return the class probabilities of every network: (n_networks, n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self._per_network(validate_data(self, X, reset=False))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted method to one file, from which nothing is ever unpickled.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced.
        """
        from disambig.methods.ncpd.model_file import write_model  # needs safetensors

        check_is_fitted(self)
        write_model(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        network: Callable[[int, int], Any] | None = None,
    ) -> Self:
        """Return the method that ``save`` wrote.

        How it was fitted is not kept: ``validation``, ``early_stopping``, ``checkpoint`` and
        ``callbacks`` are at their defaults, and so is a ``random_state`` that was no integer.

        Parameters
        ----------
        path : path
            The file.
        device : str, default="auto"
            Where to compute from now on.
        network : callable, optional
            What was given as ``network`` before; code is not kept in the file.
        """
        from disambig.methods.ncpd.model_file import read_model  # needs safetensors

        return read_model(cls, path, device=device, network=network)

    def _described(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Return what a file is to hold of what was learned: tensors and a description."""
        from disambig.methods.ncpd.model_file import described

        return described(self)

    def _rebuild(self, tensors: dict[str, torch.Tensor], description: dict[str, Any]) -> None:
        """Take back what ``_described`` returned; classes and features are known."""
        from disambig.methods.ncpd.model_file import rebuild

        rebuild(self, tensors, description)

    def _scaling_kinds(self) -> dict[str, Any]:
        """Return the parameters that say how features are scaled, as names."""
        from disambig.methods.ncpd.model_file import own_kind

        return {"scaling": own_kind(self._scaler)}

    def _rebuilt_scaler(self, arrays: dict[str, AnyArray]) -> Any:
        """Return the scaler whose arrays these are."""
        return FeatureScaler.from_arrays(self.scaling, arrays)

    def _check_parameters(self) -> None:
        check_integer("epochs", self.epochs, minimum=1)
        check_integer("ramp_epochs", self.ramp_epochs, minimum=1)
        check_integer("batch_size", self.batch_size, minimum=2)
        check_real("learning_rate", self.learning_rate, minimum=0)
        check_real("dropout", self.dropout, minimum=0, maximum=0.99)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_boolean("batch_norm", self.batch_norm)
        check_scaling(self.scaling)
        check_boolean("cooperation", self.cooperation)
        check_boolean("progressive", self.progressive)
        check_networks(self)
        if self.early_stopping is not None:
            check_integer("early_stopping", self.early_stopping, minimum=1)
            if self.validation is None:
                raise ParameterError(
                    "'early_stopping' needs rows to watch. Give 'validation', for example 0.1."
                )
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise ParameterError(f"'checkpoint' must be a path. Got {self.checkpoint!r} instead.")
        check_integer("checkpoint_every", self.checkpoint_every, minimum=1)
        choose_device(self.device)
        if not isinstance(self.callbacks, Sequence | None) or isinstance(self.callbacks, str):
            raise ParameterError(
                f"'callbacks' must be a list of objects. Got {self.callbacks!r} instead."
            )
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, minimum=0)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        return self._fit_side_by_side([self], [(X, candidates)])[0]

    @classmethod
    def _fit_side_by_side(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Sparse]:
        cls._learn(methods, data)
        return [
            method._confidences(X, candidates)
            for method, (X, candidates) in zip(methods, data, strict=True)
        ]

    @classmethod
    def _learn(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> None:
        """Train each method on its own data, and keep what it has learned."""
        first = methods[0]
        if first.progressive and first.ramp_epochs > first.epochs:
            warn_caller(
                f"Training ends after {first.epochs} epochs, before all rows may be disambiguated: "
                f"that is from epoch {first.ramp_epochs} on. Give 'ramp_epochs' of half the "
                "epochs."
            )
        for method, trained in zip(methods, cls._trained(methods, data), strict=True):
            method._scaler, method._networks, method.history_ = trained
            # What is set after a fit does not change what was fitted.
            method._fitted_with = method.get_params(deep=False)

    @classmethod
    def _trained(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Trained]:
        return train_side_by_side(
            [PreparedFit(method, *own) for method, own in zip(methods, data, strict=True)]
        )

    def _check_many(self) -> None:
        if self.checkpoint is not None:
            raise ParameterError(
                "'checkpoint' names one file, and there are many trainings. Leave it out, or call "
                "fit for each with a path of its own."
            )

    def _fits_at_once(self) -> int | None:
        return 1 if choose_device(self.device).type == "cpu" else None

    def _predict_proba(self, X: Features) -> FloatArray:
        return np.concatenate([softmax(part, axis=-1).mean(axis=0) for part in self._logits(X)])

    def _per_network(self, X: Features) -> FloatArray:
        return np.concatenate([softmax(part, axis=-1) for part in self._logits(X)], axis=1)

    def _confidences(self, X: Features, candidates: CandidateLabels) -> Sparse:
        """Return Eq. 1 for every row, mean over the networks."""
        parts = []
        for rows, logits in zip(_slices(len(candidates)), self._logits(X), strict=True):
            own = [confidence_from_logits(candidates[rows], network) for network in logits]
            parts.append(sum(own) / len(own))
        return sparse.vstack(parts, format="csr")

    def _logits(self, X: Features) -> Iterator[FloatArray]:
        """Yield the logits of every network, in double precision, some rows at a time."""
        device = choose_device(self.device)
        networks = self._networks.to(device)
        dtype = next(networks.parameters()).dtype
        # A row further out than any that can be trained on is asked for at the border.
        inputs = network_inputs(self._scaler, X).clip(-LARGEST_INPUT, LARGEST_INPUT)
        features = torch.as_tensor(inputs, dtype=dtype, device="cpu")
        for rows in _slices(len(features)):
            with torch.no_grad(), torch.autocast(device.type, enabled=False):
                logits = networks.infer(features[rows].to(device))
            yield logits.cpu().double().numpy()

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        # Callbacks are somebody's own objects, who waits for them to be called.
        callbacks = parameters.pop("callbacks")
        copies = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**copies, callbacks=callbacks)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # which may be the live one
        if "_networks" in state:
            # So that a machine without a card can read it.
            state["_networks"] = copy.deepcopy(self._networks).cpu()
        return state


def _slices(n_rows: int) -> Iterator[slice]:
    return (slice(n, n + _ROWS_AT_A_TIME) for n in range(0, n_rows, _ROWS_AT_A_TIME))
