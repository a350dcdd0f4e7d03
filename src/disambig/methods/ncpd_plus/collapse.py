"""Notice, without any true label, that a training has turned against what it first learned.

In their first epochs networks learn what many rows have in common; later they learn rows by heart.
Where complicated rows are held for long at equal confidences, what is learned by heart has to undo
what is generally true, and where that goes too far the networks choose the wrong candidates of the
very rows they train on. Such a training parts from its own first choices, down to what chance would
keep of them; one that goes well keeps most of them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.engine.history import History
from disambig.engine.training import Training

# From this epoch on first choices are remembered, as soon as there is something learned in them:
# predictions in the sets this much of the way from as many as by chance to all.
_EARLY_EPOCH = 5
_LEARNED = 0.5
# While few rows are simple, the choice in all others is one among equals, and means nothing.
_FEWEST_SIMPLE = 0.5
# From then on trainings that went well kept more than 0.35, those that collapsed less than 0.15.
FEWEST_KEPT = 0.25
_STANDARD_ERRORS = 2
# Epochs between two looks.
_EVERY = 5
_COLLAPSED = "collapsed"


class CollapseGuard:
    """Compare choices with the first ones every few epochs.

    Notes the measure ``kept`` and, as 0 or 1, ``collapsed``.

    Parameters
    ----------
    set_sizes : sequence of ndarray of shape (rows,)
        For every problem, how many candidates each row has.
    n_classes : int
        How many there are to choose from.
    stops : bool
        Whether a training is stopped when all of its problems have collapsed; not if that would be
        its end, because beside other problems it would go on.
    """

    def __init__(self, set_sizes: Sequence[IntArray], n_classes: int, *, stops: bool) -> None:
        self._stops = stops
        self._set_sizes = set_sizes
        self._by_chance = np.array([sizes.mean() / n_classes for sizes in set_sizes])
        self._first: dict[int, Tensor] = {}
        self._collapsed: BoolArray = np.zeros(len(set_sizes), dtype=bool)

    def on_epoch_end(self, training: Training) -> None:
        """Remember, compare, stop."""
        if training.epoch < _EARLY_EPOCH or training.epoch % _EVERY:
            return
        now = training.chosen_slots()
        covered = training.measures["covering_rate"]
        learned = covered - self._by_chance >= _LEARNED * (1 - self._by_chance)
        for number in np.flatnonzero(learned):
            self._first.setdefault(int(number), now[number])
        kept = np.array([self._kept(number, slots) for number, slots in enumerate(now)])
        are_few = kept[:, 0] + _STANDARD_ERRORS * kept[:, 1] < FEWEST_KEPT
        self._collapsed |= are_few & (training.measures["simple"] >= _FEWEST_SIMPLE)
        training.note("kept", kept[:, 0])
        training.note(_COLLAPSED, self._collapsed)
        if self._stops and self._collapsed.all():
            training.stop()

    def state(self) -> dict[str, Tensor]:
        """Return what a resumed training must know of the first choices, and what came of them."""
        first = {str(number): slots for number, slots in self._first.items()}
        return {**first, _COLLAPSED: torch.tensor(self._collapsed)}

    def resume(self, state: dict[str, Tensor]) -> None:
        """Go on from what ``state()`` was."""
        first = {int(name): slots for name, slots in state.items() if name != _COLLAPSED}
        for number, slots in first.items():
            if slots.shape != self._set_sizes[number].shape:
                raise ValueError(f"{len(self._set_sizes[number])} rows need as many choices")
        if state[_COLLAPSED].shape != self._collapsed.shape:
            raise ValueError(f"{len(self._collapsed)} problems need as many verdicts")
        self._first = first
        self._collapsed = state[_COLLAPSED].numpy().astype(bool)

    def _kept(self, number: int, now: Tensor) -> FloatArray:
        """Return how many first choices a problem has kept; all, where none are remembered."""
        first = self._first.get(number, now)
        return choices_kept(first.cpu().numpy(), now.cpu().numpy(), self._set_sizes[number])


def has_collapsed(history: History) -> bool:
    """Return whether a guard found that the training collapsed."""
    return _COLLAPSED in history and bool(np.nanmax(history[_COLLAPSED]) == 1)


def choices_kept(first: IntArray, now: IntArray, set_sizes: IntArray) -> FloatArray:
    """Return how many choices were kept, and the standard error of that.

    Among rows with a choice; 1 is all of them, 0 as many as chance would keep. Without any such
    row nothing was lost.
    """
    ambiguous = set_sizes > 1
    if not ambiguous.any():
        return np.array([1.0, 0.0])
    same = float((first == now)[ambiguous].mean())
    chance = float((1 / set_sizes[ambiguous]).mean())
    # By chance a few rows may keep none: that alone proves nothing.
    likely = max(same, chance)
    error = np.sqrt(likely * (1 - likely) / ambiguous.sum())
    return np.array([same - chance, error]) / (1 - chance)
