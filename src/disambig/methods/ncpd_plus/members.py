"""Train scouts to weigh the configurations, then the members of the mix on all rows."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.base import clone

from disambig._core.parameters import make_generator, spawn_seeds
from disambig._core.typing import Features, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.ncpd.validation import split_rows
from disambig.methods.ncpd_plus.configurations import CONFIGURATIONS
from disambig.methods.ncpd_plus.selection import Selection, compare
from disambig.methods.ncpd_plus.watched_rows import WatchedRows
from disambig.methods.side_by_side import fit_copies

if TYPE_CHECKING:
    from disambig.methods.ncpd_plus.estimator import NCPDPlusClassifier

__all__ = ["Mix", "compare_scouts", "fit_mixes"]

# Scouts only have to show which configuration suits the data: fewer rows, half the epochs.
_HELD_OUT = 0.2
_EPOCHS_DIVISOR = 2


class Mix(NamedTuple):
    """What ``select="auto"`` leaves behind.

    Attributes
    ----------
    selection : Selection
        How the configurations compared.
    members : dict of str to NCPDPlusClassifier
        Fitted on all rows, the heaviest first.
    """

    selection: Selection
    members: "dict[str, NCPDPlusClassifier]"


class _Task(NamedTuple):
    """One mix to be made: a method, its rows, and how they are dealt out."""

    method: "NCPDPlusClassifier"
    X: Features
    candidates: CandidateLabels
    watched: tuple[Features, CandidateLabels] | None
    scout_rows: IntArray
    held_out: IntArray
    seed: int


def fit_mixes(
    methods: "Sequence[NCPDPlusClassifier]", data: Sequence[tuple[Features, CandidateLabels]]
) -> list[Mix]:
    """Return the mix of every method; they are copies of one, each with its own data."""
    tasks = _tasks(methods, data)
    selections = _selections(tasks)
    members: list[dict[str, NCPDPlusClassifier]] = [{} for _ in tasks]
    for name in CONFIGURATIONS:
        numbers = [n for n, selection in enumerate(selections) if name in selection.weights]
        fitted = fit_copies(
            [_member(tasks[n], name) for n in numbers],
            [(tasks[n].X, tasks[n].candidates) for n in numbers],
        )
        for number, member in zip(numbers, fitted, strict=True):
            members[number][name] = member
    return [
        Mix(selection, {name: own[name] for name in selection.weights})
        for selection, own in zip(selections, members, strict=True)
    ]


def compare_scouts(
    methods: "Sequence[NCPDPlusClassifier]", data: Sequence[tuple[Features, CandidateLabels]]
) -> list[Selection]:
    """Return how the configurations compare for every method, and train no members."""
    return _selections(_tasks(methods, data))


def _tasks(
    methods: "Sequence[NCPDPlusClassifier]", data: Sequence[tuple[Features, CandidateLabels]]
) -> list[_Task]:
    return [_task(method, *own) for method, own in zip(methods, data, strict=True)]


def _task(method: "NCPDPlusClassifier", X: Features, candidates: CandidateLabels) -> _Task:
    watch_seed, scout_seed, member_seed = spawn_seeds(method.random_state, 3)
    (X, candidates), watched = split_rows(method, X, candidates, watch_seed)
    order = make_generator(scout_seed).permutation(len(X))
    # Of fewer than three rows none can be held out: scouts are judged by what they learn from.
    n_held_out = round(_HELD_OUT * len(X))
    held_out, scout_rows = order[:n_held_out], order[n_held_out:]
    if not n_held_out:
        held_out = scout_rows
    return _Task(method, X, candidates, watched, scout_rows, held_out, member_seed)


def _selections(tasks: Sequence[_Task]) -> list[Selection]:
    """Train a scout of every configuration for every task, and compare them."""
    said: list[dict[str, Any]] = [{} for _ in tasks]
    for name in CONFIGURATIONS:
        scouts = fit_copies(
            [_scout(task, name) for task in tasks],
            [(task.X[task.scout_rows], task.candidates[task.scout_rows]) for task in tasks],
        )
        for own, task, scout in zip(said, tasks, scouts, strict=True):
            own[name] = scout._predict_proba(task.X[task.held_out])
    return [
        compare(task.candidates[task.held_out], own) for task, own in zip(tasks, said, strict=True)
    ]


def _scout(task: _Task, name: str) -> "NCPDPlusClassifier":
    epochs = max(1, task.method.epochs // _EPOCHS_DIVISOR)
    return _configured(task, name, epochs, f"scout {name}", validation=None)


def _member(task: _Task, name: str) -> "NCPDPlusClassifier":
    member = _configured(task, name, task.method.epochs, name, validation=task.watched)
    member._watched = WatchedRows() if task.watched is not None else None
    return member


def _configured(
    task: _Task, name: str, epochs: int, role: str, **parameters: Any
) -> "NCPDPlusClassifier":
    path = task.method.checkpoint
    copy: NCPDPlusClassifier = clone(task.method)
    copy.set_params(
        select="none",
        random_state=task.seed,
        checkpoint=None if path is None else f"{os.fspath(path)}.{role.replace(' ', '-')}",
        **CONFIGURATIONS[name].parameters(epochs),
        **parameters,
    )
    copy._title = f"NCPD+ {role}"
    return copy
