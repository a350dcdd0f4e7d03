"""``AutoDisambiguator``: the mix of learners that suits the data, as a scikit-learn classifier."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from disambig._core.array_file import take_part
from disambig._core.errors import ParameterError
from disambig._core.parameters import (
    RandomState,
    check_choice,
    check_integer,
    check_real,
    spawn_seeds,
)
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.auto.learners import (
    LEARNERS,
    LINEAR_OF_WORDS,
    Learners,
    Task,
    Views,
    can_learn,
    deal_judged_rows,
    default_learners,
    fit_mixes,
    seconds_of,
    takes_sparse,
    width_of,
)
from disambig.methods.base import MethodCard, PartialLabelClassifier
from disambig.methods.class_weights import ClassWeight, check_class_weight
from disambig.methods.feature_scales import KINDS
from disambig.methods.ncpd_plus.selection import Selection
from disambig.methods.registry import all_methods, get_method
from disambig.methods.row_weights import RowWeightsMixin
from disambig.methods.saving import plain_parameters
from disambig.methods.scaling import fit_scaler
from disambig.solvers.calibration import Calibration
from disambig.solvers.reduction import Reduction

# They say how a fit is run, not what it gave; some are code.
_NOT_KEPT = frozenset({"callbacks", "checkpoint", "device"})
_REDUCTION = "reduction"


class AutoDisambiguator(RowWeightsMixin, PartialLabelClassifier):
    """Train several kinds of learners, and mix them by how well they explain held-out sets.

    No learner is the best on all data: where dates, gaps and thresholds matter, trees may be ten
    points ahead of networks, elsewhere ten points behind. Every learner gives the candidate sets of
    rows that it was not trained on some probability. Weights are those under which their mix gives
    the sets the most, as in NCPD+; no true label is needed. Learners with little weight are left
    out.

    Parameters
    ----------
    learners : sequence of str, default=("em", "sure", "forest", "boosting", "ncpd_plus")
        Names of methods. Those that cannot learn the data at hand (weights of rows or classes, very
        many rows) are left out. Of sparse features, such as words, linear learners get all, and the
        others a truncated SVD (trees 20 directions, the rest 200) beside columns that most rows
        fill, or that are 1 where they are not 0. By default "clpl" then takes the place of "em",
        and where all others are positive, as those of words, trees and networks are left out.
    time_budget : float, optional
        Seconds that training may take. Before it starts, the time of every learner is estimated,
        and the quickest are taken as long as there is time; one is always trained. The result then
        depends on the machine.
    n_folds : int, default=5
        Learners are compared on rows of folds that they were trained without: on all rows of a
        small table, on a thousand of a large one.
    class_weight : "balanced", dict or None, default=None
        What the loss of a candidate is multiplied by, by its label; see ``NetworkClassifier``.
    scaling : {"default", "half", "standard", "global", "quantile", "none"}, default="default"
        How features are scaled, the same for all learners; by default each scales in its own way.
    device : str, default="auto"
        Device for networks; "auto" is a CUDA GPU if there is one, otherwise the CPU.
    checkpoint : path, optional
        Prefix of the files that networks save their training to as it runs; ``random_state`` must
        then be an integer.
    checkpoint_every : int, default=10
        Number of epochs between two saves.
    callbacks : sequence of object, optional
        Called with every running ``Training`` of networks; see ``NetworkClassifier``.
    random_state : int, generator or None, default=None
        Seed of the folds and of the learners.

    Attributes
    ----------
    selection_ : Selection
        Scores and weight of every learner by name, ``choice`` and ``runner_up``;
        ``print(selection_)`` shows a table.
    members_ : dict of str to PartialLabelClassifier
        The fitted learners of the mix, the one with the largest weight first.

    See Also
    --------
    NCPDPlusClassifier : Mixes configurations of networks in the same way.
    DisambiguatingClassifier : Any classifier of yours.

    Examples
    --------
    >>> from disambig import AutoDisambiguator
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(150, 4, 3, random_state=0)
    >>> model = AutoDisambiguator(learners=["em", "sure"], random_state=0)
    >>> model.fit(data.X, data.candidates).score(data.X, data.true_labels) > 0.7
    True
    >>> sorted(model.selection_)
    ['em', 'sure']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="auto",
        title="Linear, kernel, tree and network learners, mixed to suit the data",
        when="where you do not know which method suits your data",
        paper="this package",
    )
    accepts_sparse: ClassVar[bool] = True
    _reduction: Reduction | None = None  # of sparse features, where some members need it
    _calibrations: Mapping[str, Calibration] = MappingProxyType({})  # of members, where needed

    def __init__(
        self,
        *,
        learners: Sequence[str] = LEARNERS,
        time_budget: float | None = None,
        n_folds: int = 5,
        class_weight: ClassWeight = None,
        scaling: str = "default",
        device: str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        callbacks: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.learners = learners
        self.time_budget = time_budget
        self.n_folds = n_folds
        self.class_weight = class_weight
        self.scaling = scaling
        self.device = device
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callbacks = callbacks
        self.random_state = random_state

    def _check_parameters(self) -> None:
        known = {*LEARNERS, LINEAR_OF_WORDS}
        names = set() if isinstance(self.learners, str) else set(self.learners)
        if not names or not names <= known:  # to look at all of them imports torch
            known = {n for n, m in all_methods().items() if m.card.role == "method"} - {"auto"}
        if not names or not names <= known:
            raise ParameterError(
                f"'learners' must be names of methods: a list of some of {', '.join(sorted(known))}"
                f". Got {self.learners!r} instead."
            )
        if self.time_budget is not None:
            check_real("time_budget", self.time_budget, minimum=0)
        check_integer("n_folds", self.n_folds, minimum=2)
        check_class_weight(self.class_weight)
        check_choice("scaling", self.scaling, ("default", *KINDS))
        check_integer("checkpoint_every", self.checkpoint_every, minimum=1)
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ParameterError(
                "'checkpoint' needs an integer as 'random_state', so that a second call meets the "
                f"same trainings. Got {self.random_state!r}."
            )

    # ---- fitting

    @classmethod
    def _threads(cls) -> AbstractContextManager[None]:
        return nullcontext()  # every learner sees to its own

    def _check_many(self) -> None:
        if self.checkpoint is not None:
            raise ParameterError(
                "'checkpoint' names files of one fit, and there are many. Leave it out, or call "
                "fit for each with a path of its own."
            )

    def _fits_at_once(self) -> int | None:
        if "ncpd_plus" not in self.learners:
            return 1
        return get_method("ncpd_plus")(device=self.device)._fits_at_once()

    def _begin_fit(self, X: Any, y: Any) -> tuple[Features, CandidateLabels]:
        for name in ("members_", "selection_"):
            self.__dict__.pop(name, None)
        X, candidates = super()._begin_fit(X, y)
        if self.scaling != "default":
            fit_scaler(self.scaling, X)  # refuses by their own numbers rows that judges would meet
        return X, candidates

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        return self._fit_side_by_side([self], [(X, candidates)])[0]

    @classmethod
    def _fit_side_by_side(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Sparse]:
        tasks = [
            method._task(X, candidates)
            for method, (X, candidates) in zip(methods, data, strict=True)
        ]
        for method, mix in zip(methods, fit_mixes(tasks), strict=True):
            method.selection_, method.members_ = mix.selection, mix.members
            method._calibrations = mix.calibrations
            if all(map(takes_sparse, mix.members)):
                method._reduction = None
        return [method._mean_confidences() for method in methods]

    def _task(self, X: Features, candidates: CandidateLabels) -> Task:
        """Return what is to be learned, by all learners that can learn these rows in time."""
        task = self._task_of_able(X, candidates)
        if self.time_budget is None or len(task.learners) == 1:
            return task
        in_time = self._in_time(seconds_of(task))
        return task._replace(learners={name: task.learners[name] for name in in_time})

    def _task_of_able(self, X: Features, candidates: CandidateLabels) -> Task:
        """Return what is to be learned, by all learners that can learn these rows."""
        learners = self._able_learners(X, candidates)
        must_reduce = sparse.issparse(X) and not all(map(takes_sparse, learners))
        self._reduction = Reduction.fit(X) if must_reduce else None
        return Task(Views(X, self._reduction), candidates, self._folds(candidates), learners)

    def _folds(self, candidates: CandidateLabels) -> IntArray:
        return deal_judged_rows(candidates, self.n_folds, self._seeds()[0])

    def _seeds(self) -> list[int]:
        """Return the seeds of the folds and of every learner."""
        return spawn_seeds(self.random_state, 1 + len(self.learners))

    def _able_learners(self, X: Features, candidates: CandidateLabels) -> Learners:
        """Return an unfitted classifier for every learner that can learn these rows."""
        names = tuple(self.learners)
        if names == LEARNERS:
            names = default_learners(X, candidates, class_weight=self.class_weight)
        learners = {
            name: self._made(name, seed)
            for name, seed in zip(names, self._seeds()[1:], strict=False)
            if can_learn(name, candidates, class_weight=self.class_weight)
        }
        if not learners:
            raise ParameterError(
                f"None of the learners {', '.join(self.learners)} can learn from such weights "
                f"or numbers of rows: {candidates.shape[0]:,} rows, "
                f"{candidates.shape[1]:,} classes. Name others, such as 'em'."
            )
        return learners

    def _in_time(self, seconds: Mapping[str, float]) -> list[str]:
        """Return the quickest learners that the time budget is enough for; at least one."""
        quickest = sorted(seconds, key=seconds.__getitem__)
        if self.time_budget is None:
            return quickest
        spent = np.cumsum([seconds[name] for name in quickest])
        return quickest[: max(1, int((spent <= self.time_budget).sum()))]

    def _made(self, name: str, seed: int) -> PartialLabelClassifier:
        made = get_method(name)()
        known = made.get_params(deep=False)
        given: dict[str, Any] = {
            "class_weight": self.class_weight,
            "device": self.device,
            "checkpoint": self.checkpoint and f"{os.fspath(self.checkpoint)}.{name}",
            "checkpoint_every": self.checkpoint_every,
            "callbacks": self.callbacks,
            "random_state": seed,
        }
        if self.scaling != "default":
            given["scaling"] = self.scaling
        made.set_params(**{key: value for key, value in given.items() if key in known})
        made._in_mix = True
        return made

    def _estimate_seconds(self, X: Features, candidates: CandidateLabels) -> float:
        seconds = seconds_of(clone(self)._task_of_able(X, candidates))
        return sum(seconds[name] for name in self._in_time(seconds))

    # ---- predicting

    def _predict_proba(self, X: Features) -> FloatArray:
        weights = self.selection_.weights
        total: FloatArray = np.zeros((X.shape[0], len(self.classes_)))
        views = Views(X, self._reduction)
        for name, member in self.members_.items():
            with member._threads():
                probabilities = member._predict_proba(views.of(name))
            calibration = self._calibrations.get(name, Calibration())
            total += weights[name] * calibration.apply(probabilities)
        total /= total.sum(axis=1, keepdims=True)
        return total

    def _mean_confidences(self) -> Sparse:
        weights = self.selection_.weights
        parts = (weights[name] * m.candidate_confidence_ for name, m in self.members_.items())
        return sum(parts) / sum(weights.values())

    # ---- saving

    def _to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays: dict[str, Any] = {}
        members: dict[str, Any] = {}
        for name, member in self.members_.items():
            of_member, members[name] = member._to_arrays()
            arrays |= {f"{name}.{part}": np.asarray(value) for part, value in of_member.items()}
        if self._reduction is not None:
            of_reduction = self._reduction.to_arrays().items()
            arrays |= {f"{_REDUCTION}.{part}": value for part, value in of_reduction}
        parameters = self.get_params(deep=False)
        kept = {name: value for name, value in parameters.items() if name not in _NOT_KEPT}
        return arrays, {
            "parameters": plain_parameters(kept),
            "sparse": self._fitted_on_sparse,
            "members": members,
            "selection": self.selection_.to_dict(),
            "calibrations": {name: list(each) for name, each in self._calibrations.items()},
        }

    def _from_arrays(self, arrays: dict[str, Any], description: Mapping[str, Any]) -> None:
        self._fitted_on_sparse = bool(description["sparse"])
        self.selection_ = Selection.from_dict(description["selection"])
        of_reduction = take_part(arrays, _REDUCTION)
        self._reduction = (
            Reduction.from_arrays(self.n_features_in_, of_reduction) if of_reduction else None
        )
        weights = self.selection_.weights
        if set(weights) != set(description["members"]) or abs(sum(weights.values()) - 1) > 1e-6:
            raise ValueError("every member needs a weight, and weights must sum to one")
        if not set(weights) <= {*self.learners, LINEAR_OF_WORDS}:
            raise ValueError("a member is none of the learners")
        # Models of version 0.2.0 have none.
        calibrations = description.get("calibrations", {})
        self._calibrations = {name: Calibration(*each) for name, each in calibrations.items()}
        if not all(0 < power <= 100 and 0 <= doubt <= 1 for power, doubt in calibrations.values()):
            raise ValueError("a calibration has a power up to 100, and a doubt from 0 to 1")
        self.members_ = {
            name: self._member_of_file(name, take_part(arrays, name), description["members"][name])
            for name in weights
        }
        if arrays:
            raise ValueError(f"it has {', '.join(sorted(arrays))} besides")

    def _member_of_file(
        self, name: str, arrays: dict[str, Any], description: Mapping[str, Any]
    ) -> PartialLabelClassifier:
        method = get_method(name)
        on_device = {"device": self.device, "network": None}
        given = on_device if method._framework == "torch" else {}
        member = method._with_parameters(description["parameters"], **given)
        member.classes_, member.n_features_in_ = self.classes_, self.n_features_in_
        if self._reduction is not None and not takes_sparse(name):
            member.n_features_in_ = width_of(name, self._reduction)
        member.candidate_confidence_ = self.candidate_confidence_
        if method._framework == "torch":
            import torch  # heavy, and a mix may be without networks

            arrays = {part: torch.as_tensor(array) for part, array in arrays.items()}
        member._from_arrays(arrays, description)
        return member
