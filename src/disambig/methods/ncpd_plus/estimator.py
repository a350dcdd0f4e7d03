"""NCPD+ as a scikit-learn classifier."""

import copy
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from disambig._core.array_file import take_part
from disambig._core.errors import ParameterError, warn_caller
from disambig._core.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_real,
    spawn_seeds,
)
from disambig._core.typing import Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.engine.history import History
from disambig.engine.ranks import Ranks
from disambig.engine.rule import Rule
from disambig.methods.base import MethodCard
from disambig.methods.misses import (
    FITS_OF_A_SEARCH,
    Misses,
    check_miss_rate,
    find_misses_side_by_side,
)
from disambig.methods.ncpd import NCPDClassifier
from disambig.methods.ncpd_plus.class_shares import BalancedCooperation
from disambig.methods.ncpd_plus.collapse import CollapseGuard, has_collapsed
from disambig.methods.ncpd_plus.members import (
    MixSeconds,
    fit_mixes,
    make_judges,
    mix_seconds,
)
from disambig.methods.ncpd_plus.selection import Selection
from disambig.methods.networks.plan import TrainingPlan
from disambig.methods.scaling import check_scaling

# What select="auto" decides by itself, and what each is unless somebody says otherwise.
_DECIDED = {
    "decay": 0.0,
    "ramp_epochs": 100,
    "second_view": None,
    "swap_noise": 0.0,
    "noise_from": 1,
    "prior_correction": 0.0,
}
# How long one configuration is trained if nobody says otherwise: as long as NCPD.
_EPOCHS = 200
# A training that has collapsed begins again with a ramp so many times shorter.
_RAMP_DIVISOR = 10


class NCPDPlusClassifier(NCPDClassifier):
    """NCPD with noisy inputs, two feature views, stable class shares and a mix chosen by the data.

    With ``select="auto"`` three configurations of these parts are trained for some epochs and
    compared on a fifth of the rows, held out until then. They are weighted by the probability that
    they give to the candidate sets of these rows, so no true label is needed. Configurations with
    enough weight continue with all rows, and their probabilities are averaged by weight. With
    ``select="none"`` only the configuration that the parameters describe is trained; with the parts
    off, as by default, and ``guard=False`` it is exactly NCPD.

    The other parameters are described at ``NCPDClassifier`` and ``NetworkClassifier``; by default
    networks are smaller and the learning rate is higher.

    Parameters
    ----------
    select : {"auto", "none"}, default="auto"
        Whether the data choose the configuration. ``ramp_epochs``, ``decay``, ``second_view``,
        ``swap_noise``, ``noise_from`` and ``prior_correction`` are then chosen for you and must not
        be set; ``early_stopping`` cannot be used.
    second_view : str or transformer, optional
        A second scaling of the features, such as "quantile"; networks see both side by side.
    swap_noise : float, default=0
        Share of inputs that a training step replaces by those of other rows of the mini-batch.
        Confidences are computed from the original inputs.
    noise_from : int, default=1
        First epoch with noise.
    prior_correction : float, default=0
        How strongly the share of every class is held near the one that the candidate sets imply,
        which is the mean of :math:`1 / |S|`: 0 not at all, 1 fully. Above 0, weights of the
        candidates count in Eq. 1 too. See ``ClassShares`` and ``BalancedCooperation``.
    guard : bool, default=True
        Whether to restart a training that abandons its own first choices (collapses), with a ramp
        ten times shorter. A mix leaves out a configuration that collapses again, or after
        configurations were compared; if none is left, NCPD is trained. See ``collapse.py``.
    miss_rate : float or "auto", default=0
        Share of the candidate sets that do not contain the right label. Above 0, or with "auto",
        which estimates it, sets that seem to miss the truth are found by networks that were not
        trained on them, and get one more candidate: see ``find_misses``. That takes several times
        as long as a fit. It is not
        written to a ``checkpoint``, and callbacks do not follow it.
    hidden : int or sequence of int, default=512
        Units of the hidden layer, or of each hidden layer.
    epochs : int, optional
        Number of passes over the training rows, a third of them before configurations are compared.
        By default 30 before, and in all 85 for each of three members, 112 for each of two, 140 for
        one alone. With ``select="none"`` 200.
    learning_rate : float, default=0.004
        Learning rate of Adam. With ``select="auto"`` it falls to zero once configurations have been
        compared.
    dropout : float, default=0.25
        Dropout rate of the hidden units.
    checkpoint : path, optional
        File to save the training to as it runs. With ``select="auto"`` the prefix of several files;
        ``random_state`` must then be an integer.
    callbacks : sequence of object, optional
        Called with every running ``Training``, including those that are compared first; see
        ``NetworkClassifier``.
    verbose : int, default=0
        1 shows progress bars and how the configurations compared.

    Attributes
    ----------
    selection_ : Selection
        With ``select="auto"``: scores and weight of every configuration by name, ``choice`` and
        ``runner_up``; ``print(selection_)`` shows a table. If all have collapsed, "ncpd" has all
        the weight, and its scores are not known.
    members_ : dict of str to NCPDPlusClassifier
        With ``select="auto"``: the fitted members of the mix, the one with the largest weight
        first. ``predict_proba_per_network`` returns the networks of all of them in this order.
    misses_ : Misses or None
        With ``miss_rate``: the rate, and for every training row how probable it is that its set
        misses the truth, and the label that it would have then. ``candidate_confidence_`` and
        ``disambiguate`` stay inside the sets. None without, and not kept in a file.
    history_ : History
        As in ``NCPDClassifier``; with ``guard`` also ``kept``, the share of its first choices that
        the training has kept (1 is all, 0 as many as by chance), and whether it has ``collapsed``.
        For a mix, the history of the member with the largest weight. With ``validation`` it has the
        covering rate of the mix, for as many epochs as a single member would have; other measures
        end with the member.

    See Also
    --------
    NCPDClassifier : The method that it extends.

    Examples
    --------
    >>> from disambig import CandidateLabels, NCPDPlusClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = NCPDPlusClassifier(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    >>> sorted(model.selection_)
    ['noisy', 'noisy_views', 'plain']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="ncpd_plus",
        title="NCPD with noisy inputs, two views and stable class shares, mixed to suit the data",
        when="where accuracy counts most",
        paper="this package; extends NCPD",
    )
    # The sets that a miss rate leads to are learned from, and they are in the data.
    _NOT_LEARNED_FROM: ClassVar[frozenset[str]] = NCPDClassifier._NOT_LEARNED_FROM | {
        "miss_rate",
        "second_view",
        "select",
    }
    _title = "NCPD+"

    select: str = "auto"
    second_view: Any = None
    swap_noise: float = 0.0
    noise_from: int = 1
    prior_correction: float = 0.0
    guard: bool = True
    miss_rate: Any = 0.0
    hidden: int | Sequence[int] = 512
    epochs: int | None = None
    learning_rate: float = 4e-3
    dropout: float = 0.25
    selection_: Selection = field(init=False)
    misses_: Misses | None = field(init=False, default=None)
    members_: "dict[str, NCPDPlusClassifier]" = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("select", self.select, ("auto", "none"))
        if self.second_view is not None:
            check_scaling(self.second_view, "second_view")
        check_real("swap_noise", self.swap_noise, minimum=0, maximum=1)
        check_integer("noise_from", self.noise_from, minimum=1)
        check_real("prior_correction", self.prior_correction, minimum=0, maximum=10)
        check_boolean("guard", self.guard)
        check_miss_rate(self.miss_rate)
        if self.select == "auto":
            self._check_nothing_is_decided_twice()
        if self.miss_rate != 0:
            self._check_rows_are_watched_by_their_own_sets()
        if self.select == "auto" or self.miss_rate != 0:
            self._check_a_second_call_meets_the_same_trainings()

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

    def _check_rows_are_watched_by_their_own_sets(self) -> None:
        if isinstance(self.validation, Real):
            raise ParameterError(
                "'miss_rate' adds candidates to sets, and rows are to be watched by the sets that "
                f"they came with. Got validation={self.validation!r}: give a pair (X, y) of other "
                "rows, or leave one of the two out."
            )

    def _check_a_second_call_meets_the_same_trainings(self) -> None:
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            reason = "select='auto'" if self.select == "auto" else "'miss_rate'"
            raise ParameterError(
                f"'checkpoint' with {reason} needs an integer as 'random_state', so that a "
                f"second call meets the same trainings. Got {self.random_state!r}."
            )

    # ---- one configuration

    def _epoch_count(self) -> int:
        return _EPOCHS if self.epochs is None else self.epochs

    def _make_rule(self) -> Rule:
        if not self.prior_correction:
            return super()._make_rule()
        return BalancedCooperation(
            self.ramp_epochs, self.cooperation, self.progressive, self.prior_correction
        )

    def _scalings(self) -> dict[str, Any]:
        second = {} if self.second_view is None else {"second_view": self.second_view}
        return super()._scalings() | second

    def _swap_noise(self) -> tuple[float, int]:
        return self.swap_noise, self.noise_from

    def _watchers(self, plans: Sequence[TrainingPlan]) -> dict[str, Any]:
        watchers = super()._watchers(plans)
        if self.guard:
            sizes = [np.diff(plan.data.prior.indptr) for plan in plans]
            stops = self._can_begin_again()
            watchers["early"] = CollapseGuard(sizes, plans[0].n_classes, stops=stops)
        return watchers

    def _can_begin_again(self) -> bool:
        """Whether there is a shorter ramp to try."""
        goes_on = self._start is not None and self._start.progress is not None
        return self.progressive and self.ramp_epochs > 1 and not goes_on

    @classmethod
    def _to_be_repeated(cls, trainers: Mapping[Self, Self]) -> dict[Self, Self]:
        """Return what has collapsed, to be trained with a shorter ramp."""
        collapsed = [method for method in trainers if has_collapsed(method.history_)]
        again = [method for method in collapsed if trainers[method]._can_begin_again()]
        given_up = [method for method in collapsed if method not in again]
        # A mix leaves such a training out.
        if any(not method._in_mix for method in given_up):
            warn_caller(
                "Training has abandoned what it first learned (collapsed), and no shorter ramp is "
                "left to try: its choices among the candidates cannot be trusted. Lower "
                "'swap_noise', with select='none'. To turn this check off: guard=False."
            )
        return {
            method: method._with_ramp(max(1, trainers[method].ramp_epochs // _RAMP_DIVISOR))
            for method in again
        }

    def _with_ramp(self, ramp_epochs: int) -> Self:
        """Return a copy that begins again with another ramp, and a checkpoint of its own."""
        again = copy.copy(self)
        again.ramp_epochs = ramp_epochs
        again._title = f"{self._title}, again"
        if self.checkpoint is not None:
            again.checkpoint = f"{os.fspath(self.checkpoint)}.ramp{ramp_epochs}"
        return again

    # ---- a mix of several

    def _begin_fit(self, X: Any, y: Any) -> tuple[Features, CandidateLabels]:
        # An earlier fit may have left a mix where there is one training now, or the reverse.
        for name in ("members_", "misses_", "selection_", "_networks", "_views"):
            self.__dict__.pop(name, None)
        return super()._begin_fit(X, y)

    def _estimate_seconds(self, X: Features, candidates: CandidateLabels) -> float:
        if self.select == "auto":
            cost = mix_seconds(self, X, candidates)
        else:
            seconds = super()._estimate_seconds(X, candidates)
            cost = MixSeconds(scouting=0.0, members=seconds, judge=seconds)
        seconds = cost.scouting + cost.members
        if self.miss_rate != 0:
            seconds += cost.scouting + FITS_OF_A_SEARCH * cost.judge
        return seconds

    @classmethod
    def _fit_side_by_side(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Sparse]:
        if methods[0].miss_rate == 0:
            return cls._fit_to_sets(methods, data)
        found = cls._find_misses(methods, data)
        cls._fit_to_sets(
            methods, [(X, misses.candidates) for (X, _), misses in zip(data, found, strict=True)]
        )
        for method, misses in zip(methods, found, strict=True):
            method.misses_ = misses
        return [method._confidences(*rows) for method, rows in zip(methods, data, strict=True)]

    @classmethod
    def _find_misses(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Misses]:
        """Return the sets that seem to miss the truth, as judged by copies that believe all sets.

        Only copies of one configuration can be trained side by side.
        """
        # What belongs to the fit that the user asked for does not follow those of judges.
        of_one_fit = {"validation": None, "early_stopping": None, "checkpoint": None}
        believing = [
            clone(method).set_params(miss_rate=0.0, callbacks=None, **of_one_fit)
            for method in methods
        ]
        judges = {"own": dict(enumerate(believing))}
        if methods[0].select == "auto":
            judges = make_judges(believing, data)
        found: dict[int, Misses] = {}
        for of_one_kind in judges.values():
            numbers = list(of_one_kind)
            misses = find_misses_side_by_side(
                list(of_one_kind.values()),
                [data[n] for n in numbers],
                methods[0].miss_rate,
                [spawn_seeds(methods[n].random_state, 4)[3] for n in numbers],
            )
            found |= dict(zip(numbers, misses, strict=True))
        return [found[n] for n in range(len(methods))]

    @classmethod
    def _fit_to_sets(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Sparse]:
        if methods[0].select == "none":
            return super()._fit_side_by_side(methods, data)
        for method, mix in zip(methods, fit_mixes(methods, data), strict=True):
            method.selection_, method.members_, method.history_ = mix
            method._fitted_with = method.get_params(deep=False)
            if method.verbose and Ranks.present().is_first:
                sys.stdout.write(f"{method.selection_}\n")
        return [
            method._confidences(X, candidates)
            if method.validation is not None  # of which some rows were not trained on
            else method._mean(lambda member: member.candidate_confidence_)
            for method, (X, candidates) in zip(methods, data, strict=True)
        ]

    def _is_mix(self) -> bool:
        return bool(self._fitted_with["select"] == "auto")

    def _probability_blocks(self, X: Features) -> Iterator[FloatArray]:
        if not self._is_mix():
            yield from super()._probability_blocks(X)
            return
        members = (member._probability_blocks(X) for member in self.members_.values())
        for blocks in zip(*members, strict=True):
            said = dict(zip(self.members_.values(), blocks, strict=True))
            mean: FloatArray = self._mean(said.__getitem__)
            yield mean

    def _confidences(self, X: Features, candidates: CandidateLabels) -> Sparse:
        if not self._is_mix():
            return super()._confidences(X, candidates)
        return self._mean(lambda member: member._confidences(X, candidates))

    def _per_network(self, X: Features) -> FloatArray:
        if not self._is_mix():
            return super()._per_network(X)
        return np.concatenate([member._per_network(X) for member in self.members_.values()])

    def _mean(self, of_member: Callable[[Self], Any]) -> Any:
        """Return the mean over the members by their weights."""
        weights = self.selection_.weights
        total = sum(weights[name] for name in self.members_)
        # Over their sum, which may be off by a rounding: where all are certain, the mean is 1.
        parts = (weights[name] * of_member(member) for name, member in self.members_.items())
        return sum(parts) / total

    def _to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if not self._is_mix():
            return super()._to_arrays()
        tensors: dict[str, Any] = {}
        members: dict[str, Any] = {}
        for name, member in self.members_.items():
            of_member, members[name] = member._to_arrays()
            tensors |= {f"{name}.{part}": value for part, value in of_member.items()}
        mix = {"members": members, "selection": self.selection_.to_dict()}
        return tensors, self._fit_description() | mix

    def _from_arrays(self, arrays: dict[str, Any], description: Mapping[str, Any]) -> None:
        if not self._is_mix():
            super()._from_arrays(arrays, description)
            return
        self.history_ = History(description["history"])
        self.selection_ = Selection.from_dict(description["selection"])
        weights = self.selection_.weights
        if set(weights) != set(description["members"]) or abs(sum(weights.values()) - 1) > 1e-6:
            raise ValueError("every member needs a weight, and weights must sum to one")
        self.members_ = {}
        for name in weights:
            of_member = description["members"][name]
            given = {"device": self.device, "network": self.network}
            member = self._with_parameters(of_member["parameters"], **given)
            if member.select != "none":
                raise ValueError("a member of a mix cannot be a mix")
            member.classes_, member.n_features_in_ = self.classes_, self.n_features_in_
            member._from_arrays(take_part(arrays, name), of_member)
            self.members_[name] = member
