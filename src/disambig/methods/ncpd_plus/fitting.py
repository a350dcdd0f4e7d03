"""From the parameters of NCPD+ to trainings, begun again where one has collapsed."""

import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from disambig._core.errors import warn_caller
from disambig._core.typing import Features
from disambig.candidates.labels import CandidateLabels
from disambig.engine.fast.random import SwapNoise
from disambig.engine.rule import Rule, TrainingData
from disambig.engine.training import TrainingSettings
from disambig.methods.ncpd.fitting import PreparedFit, Trained, train_side_by_side
from disambig.methods.ncpd_plus.class_shares import ClassShares
from disambig.methods.ncpd_plus.collapse import CollapseGuard
from disambig.methods.ncpd_plus.rule import BalancedCooperation
from disambig.methods.ncpd_plus.views import FeatureViews

if TYPE_CHECKING:
    from disambig.methods.ncpd_plus.estimator import NCPDPlusClassifier

__all__ = ["PreparedPlusFit", "train_guarded"]

_LEARNED_FROM = ("swap_noise", "noise_from", "prior_correction", "guard")
# A training that has collapsed begins again with a ramp so many times shorter.
_RAMP_DIVISOR = 10


class PreparedPlusFit(PreparedFit):
    """What is settled before training, with the parts that NCPD+ adds.

    Parameters
    ----------
    method : NCPDPlusClassifier
        One configuration; its parameters have been checked.
    X, candidates
        As in ``PreparedFit``.
    """

    method: "NCPDPlusClassifier"

    def __init__(
        self, method: "NCPDPlusClassifier", X: Features, candidates: CandidateLabels
    ) -> None:
        super().__init__(method, X, candidates)
        self.is_first = True

    def fitted_scaler(self, X: Features) -> Any:
        """Return what turns features into one view or two."""
        if self.method.second_view is None:
            return super().fitted_scaler(X)
        return FeatureViews.fitted([self.method.scaling, self.method.second_view], X)

    def make_rule(self, problems: Sequence[TrainingData], device: torch.device) -> Rule:
        """Return NCPD's rule, or the one that corrects class shares."""
        method = self.method
        if not method.prior_correction:
            return super().make_rule(problems, device)
        return BalancedCooperation(
            self.ramp_epochs,
            method.cooperation,
            method.progressive,
            device,
            shares=ClassShares(problems, method.prior_correction, device),
        )

    def make_noise(self, seeds: Sequence[int]) -> SwapNoise | None:
        """Return swap noise, if there is to be any."""
        return SwapNoise(self.method.swap_noise, seeds) if self.method.swap_noise else None

    def settings(self) -> TrainingSettings:
        """Return length, pace and the beginning of the noise."""
        return replace(super().settings(), noise_from=self.method.noise_from)

    def watchers(self, stack: Sequence[PreparedFit]) -> dict[str, Any]:
        """Return those of NCPD and the guard."""
        watchers = super().watchers(stack)
        if self.method.guard:
            sizes = [np.diff(fit.problem.prior.indptr) for fit in stack]
            watchers["early"] = CollapseGuard(sizes, self.n_classes, stops=self.can_begin_again)
        return watchers

    def listeners(self, stack: Sequence[PreparedFit]) -> list[Any]:
        """Return those of NCPD, and who keeps what is said of watched rows."""
        watched = self.method._watched
        if watched is None:
            return super().listeners(stack)
        watched.monitor = self.monitor
        return [*super().listeners(stack), watched]

    @property
    def can_begin_again(self) -> bool:
        """Whether there is a shorter ramp to try."""
        return self.method.progressive and self.ramp_epochs > 1

    @property
    def title(self) -> str:
        """What a progress bar calls this training."""
        return self.method._title if self.is_first else f"{self.method._title}, again"

    @property
    def checkpoint_path(self) -> str | os.PathLike[str] | None:
        """A file of its own for a training that begins again."""
        path = self.method.checkpoint
        if path is None or self.is_first:
            return path
        return f"{os.fspath(path)}.ramp{self.ramp_epochs}"

    def learned_from(self) -> dict[str, Any]:
        """Return what the course of the training depends on, besides its data."""
        own = {name: getattr(self.method, name) for name in _LEARNED_FROM}
        return super().learned_from() | own

    def with_shorter_ramp(self) -> Self:
        """Return the same training, to be begun again."""
        again = copy.copy(self)
        again.ramp_epochs = max(1, self.ramp_epochs // _RAMP_DIVISOR)
        again.is_first = False
        return again


def train_guarded(fits: Sequence[PreparedPlusFit]) -> list[Trained]:
    """Train; begin again, with a shorter ramp, what has collapsed."""
    trained = dict(zip(fits, train_side_by_side(fits), strict=True))
    collapsed = [fit for fit in fits if _has_collapsed(trained[fit])]
    again = [fit for fit in collapsed if fit.can_begin_again]
    if len(again) < len(collapsed):
        warn_caller(
            "Training has parted from what it first learned, and no shorter ramp is left to try: "
            "its choices among the candidates are not to be trusted. Lower 'swap_noise', which "
            "takes select='none', or say guard=False not to look."
        )
    if again:
        shorter = train_guarded([fit.with_shorter_ramp() for fit in again])
        trained |= zip(again, shorter, strict=True)
    return [trained[fit] for fit in fits]


def _has_collapsed(trained: Trained) -> bool:
    return "collapsed" in trained.history and bool(np.nanmax(trained.history["collapsed"]) == 1)
