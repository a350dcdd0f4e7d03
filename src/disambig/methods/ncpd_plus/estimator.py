"""NCPD+ as a scikit-learn classifier."""

import os
import sys
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import torch

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_boolean, check_choice, check_integer, check_real
from disambig._core.typing import AnyArray, Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.engine.history import History
from disambig.methods.base import MethodCard
from disambig.methods.ncpd.estimator import NCPDClassifier
from disambig.methods.ncpd.fitting import Trained
from disambig.methods.ncpd_plus.fitting import PreparedPlusFit, train_guarded
from disambig.methods.ncpd_plus.members import Mix, fit_mixes
from disambig.methods.ncpd_plus.selection import Selection
from disambig.methods.ncpd_plus.views import FeatureViews
from disambig.methods.ncpd_plus.watched_rows import WatchedRows, mixed_history
from disambig.methods.scaling import check_scaling

__all__ = ["NCPDPlusClassifier"]

# What select="auto" decides by itself, and what each is unless somebody says otherwise.
_DECIDED = {
    "ramp_epochs": 100,
    "scaling": "half",
    "second_view": None,
    "swap_noise": 0.0,
    "noise_from": 1,
    "prior_correction": 0.0,
}


class NCPDPlusClassifier(NCPDClassifier):
    """NCPD with noisy inputs, two views, class shares held in place, and a mix that suits the data.

    With ``select="auto"`` three configurations of these parts are tried on a fifth of the rows,
    held out, and weighed by the probability that they give to the candidate sets there: no true
    label is needed. Those that are worth it are trained on all rows, and what they say is averaged
    by weight. With ``select="none"`` one configuration is trained, the one that the parameters
    describe; with the parts off, as they are by default, and ``guard=False`` that is NCPD to the
    bit.

    Parameters
    ----------
    select : {"auto", "none"}, default="auto"
        Whether the data choose the configuration. ``ramp_epochs``, ``scaling``, ``second_view``,
        ``swap_noise``, ``noise_from`` and ``prior_correction`` are then decided, and must be left
        alone; ``early_stopping`` is not possible.
    second_view : str or transformer, optional
        A second way to scale the features, such as "quantile": networks see both results side by
        side.
    swap_noise : float, default=0
        Share of inputs that a training step takes from other rows of the mini-batch. Confidences
        come from the inputs as they are.
    noise_from : int, default=1
        First epoch with noise.
    prior_correction : float, default=0
        How strongly the share of every class is held near the one that the candidate sets imply,
        which is the mean of ``1 / |S|``: 0 not at all, 1 fully. Above 0, weights of the candidates
        count in Eq. 1 too. See ``ClassShares`` and ``BalancedCooperation``.
    guard : bool, default=True
        Whether a training that parts from its own first choices is stopped and begun again with
        a ramp ten times shorter. See ``collapse.py``.
    hidden : int or sequence of int, default=1024
        Units of the hidden layer, or of each of them.
    epochs : int, default=200
        Times that every row is seen.
    ramp_epochs : int, default=100
        Epoch from which every loss counts as small (t_r in the paper).
    batch_size : int, default=128
        Most rows in a mini-batch.
    learning_rate : float, default=0.001
        Of Adam.
    dropout : float, default=0.5
        Share of hidden units left out in a training step, to the nearest 1/256.
    activation : {"relu", "gelu", "mish", "silu", "tanh"}, default="relu"
        Of the hidden units.
    batch_norm : bool, default=True
        Whether hidden layers are normalised over the mini-batch.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="half"
        How features are scaled; see ``FeatureScaler``.
    n_networks : int, default=2
        Networks that cooperate. With more than two, each learns from the mean of the others.
    cooperation : bool, default=True
        False trains one network on its own confidences.
    progressive : bool, default=True
        False disambiguates every row from the first epoch on.
    network : callable, optional
        Makes networks of your own; see ``NCPDClassifier``.
    validation : float or (X, y), optional
        Rows to watch, by their candidate sets. Their covering rate is in ``history_``.
    early_stopping : int, optional
        Stop when the best covering rate on ``validation`` is this many epochs ago.
    checkpoint : path, optional
        File to write the training to as it goes. With ``select="auto"`` the name that the files of
        its trainings begin with; ``random_state`` must be an integer then.
    checkpoint_every : int, default=10
        Epochs between two writings of ``checkpoint``.
    device : str, default="auto"
        Where to compute: "auto" is a CUDA card where there is one, else the CPU.
    random_state : int or NumPy generator, optional
        Seed of everything that is drawn.
    callbacks : sequence of object, optional
        Called with every running ``Training``, those of scouts too; see ``NCPDClassifier``.
    verbose : int, default=0
        1 shows progress bars and how the configurations compared.

    Attributes
    ----------
    selection_ : Selection
        With ``select="auto"``: scores and weight of every configuration by its name, ``choice`` and
        ``runner_up``; ``print(selection_)`` shows a table.
    members_ : dict of str to NCPDPlusClassifier
        With ``select="auto"``: the fitted members of the mix, the heaviest first. In their order
        ``predict_proba_per_network`` has the networks of all of them.
    history_ : History
        As in ``NCPDClassifier``; with ``guard`` also ``kept``, how many of its first choices the
        training has kept (1 is all, 0 as many as by chance), and whether it has ``collapsed``. Of a
        mix that of the heaviest member, with the ``validation_covering_rate`` of the mix.
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        Confidence of every candidate of every row given to ``fit``.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Examples
    --------
    >>> from disambig import CandidateLabels, NCPDPlusClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"])
    >>> method = NCPDPlusClassifier(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    >>> sorted(method.selection_)
    ['noisy', 'noisy_views', 'plain']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="ncpd_plus",
        title="NCPD with noise, views and held class shares, mixed to suit the data",
        paper="disambig, docs/ncpd-plus.md; after Yao, Gong, Deng and Yang, Network Cooperation "
        "with Progressive Disambiguation for Partial Label Learning",
        year=2026,
    )
    _file_kind: ClassVar[str] = "NCPD+ model"

    def __init__(
        self,
        *,
        select: str = "auto",
        second_view: Any = None,
        swap_noise: float = 0.0,
        noise_from: int = 1,
        prior_correction: float = 0.0,
        guard: bool = True,
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
        super().__init__(
            hidden=hidden,
            epochs=epochs,
            ramp_epochs=ramp_epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            dropout=dropout,
            activation=activation,
            batch_norm=batch_norm,
            scaling=scaling,
            n_networks=n_networks,
            cooperation=cooperation,
            progressive=progressive,
            network=network,
            validation=validation,
            early_stopping=early_stopping,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            device=device,
            random_state=random_state,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.select = select
        self.second_view = second_view
        self.swap_noise = swap_noise
        self.noise_from = noise_from
        self.prior_correction = prior_correction
        self.guard = guard

    # What a progress bar says, and who keeps what is said of watched rows: set on members of a mix.
    _title = "NCPD+"
    _watched: WatchedRows | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("select", self.select, ("auto", "none"))
        if self.second_view is not None:
            check_scaling(self.second_view, "second_view")
        check_real("swap_noise", self.swap_noise, minimum=0, maximum=1)
        check_integer("noise_from", self.noise_from, minimum=1)
        check_real("prior_correction", self.prior_correction, minimum=0, maximum=10)
        check_boolean("guard", self.guard)
        if self.select == "auto":
            self._check_nothing_is_decided_twice()

    def _check_nothing_is_decided_twice(self) -> None:
        for name, default in _DECIDED.items():
            value = getattr(self, name)
            if not (value is default or value == default):
                raise ParameterError(
                    f"select='auto' decides {name!r}. Got {name}={value!r}: leave it out, or say "
                    "select='none' to train one configuration of your own."
                )
        if self.early_stopping is not None:
            raise ParameterError(
                "'early_stopping' follows one training, and select='auto' runs several. Leave it "
                "out, or say select='none'."
            )
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ParameterError(
                "'checkpoint' with select='auto' needs an integer as 'random_state', so that a "
                f"second call meets the same trainings. Got {self.random_state!r}."
            )

    def _begin_fit(self, X: Any, y: Any) -> tuple[Features, CandidateLabels]:
        # An earlier fit may have left a mix where there is one training now, or the reverse.
        for name in ("members_", "selection_", "_networks", "_scaler"):
            self.__dict__.pop(name, None)
        return super()._begin_fit(X, y)

    @classmethod
    def _learn(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> None:
        if methods[0].select == "none":
            super()._learn(methods, data)
        else:
            for method, mix in zip(methods, fit_mixes(methods, data), strict=True):
                method._take(mix)

    @classmethod
    def _trained(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Trained]:
        return train_guarded(
            [PreparedPlusFit(method, *own) for method, own in zip(methods, data, strict=True)]
        )

    def _take(self, mix: Mix) -> None:
        """Become the mix."""
        self.selection_: Selection = mix.selection
        self.members_: dict[str, NCPDPlusClassifier] = dict(mix.members)
        self._fitted_with = self.get_params(deep=False)
        self.history_ = self._mixed_history()
        if self.verbose:
            sys.stdout.write(f"{self.selection_}\n")

    def _mixed_history(self) -> History:
        """Return the history of the heaviest member, with the covering rate of the mix."""
        heaviest = self.members_[self.selection_.choice].history_
        watched = [m._watched for m in self.members_.values() if m._watched is not None]
        for member in self.members_.values():
            member._watched = None  # it is large, and has served
        if not watched:
            return heaviest
        return mixed_history(heaviest, watched, list(self.selection_.weights.values()), self.epochs)

    def _is_mix(self) -> bool:
        return bool(self._fitted_with["select"] == "auto")

    def _predict_proba(self, X: Features) -> FloatArray:
        if not self._is_mix():
            return super()._predict_proba(X)
        probabilities: FloatArray = self._mean(lambda member: member._predict_proba(X))
        return probabilities

    def _confidences(self, X: Features, candidates: CandidateLabels) -> Sparse:
        if not self._is_mix():
            return super()._confidences(X, candidates)
        return self._mean(lambda member: member._confidences(X, candidates))

    def _per_network(self, X: Features) -> FloatArray:
        if not self._is_mix():
            return super()._per_network(X)
        return np.concatenate([member._per_network(X) for member in self.members_.values()])

    def _mean(self, of_member: Callable[["NCPDPlusClassifier"], Any]) -> Any:
        """Return the mean over the members by their weights."""
        weights = self.selection_.weights
        return sum(weights[name] * of_member(member) for name, member in self.members_.items())

    def _described(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        from disambig.methods.ncpd_plus.model_file import described_mix  # needs safetensors

        return described_mix(self) if self._is_mix() else super()._described()

    def _rebuild(self, tensors: dict[str, torch.Tensor], description: dict[str, Any]) -> None:
        from disambig.methods.ncpd_plus.model_file import rebuild_mix

        if self._is_mix():
            rebuild_mix(self, tensors, description)
        else:
            super()._rebuild(tensors, description)

    def _scaling_kinds(self) -> dict[str, Any]:
        if not isinstance(self._scaler, FeatureViews):
            return super()._scaling_kinds()
        from disambig.methods.ncpd.model_file import own_kind

        first, second = self._scaler.scalers
        return {"scaling": own_kind(first), "second_view": own_kind(second)}

    def _rebuilt_scaler(self, arrays: dict[str, AnyArray]) -> Any:
        if self.second_view is None:
            return super()._rebuilt_scaler(arrays)
        return FeatureViews.from_arrays([self.scaling, self.second_view], arrays)
