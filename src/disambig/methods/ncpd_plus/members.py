"""Scouts weigh the configurations; those worth it go on, on all rows, as members of the mix."""

import os
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import clone

from disambig._core.errors import warn_caller
from disambig._core.parameters import make_generator, spawn_seeds
from disambig._core.typing import Features, IntArray
from disambig.candidates.groups import hold_out_groups
from disambig.candidates.labels import CandidateLabels
from disambig.engine.history import History
from disambig.methods.ncpd import NCPDClassifier
from disambig.methods.ncpd_plus.collapse import has_collapsed
from disambig.methods.ncpd_plus.mixed_history import WatchedRows, mixed_history
from disambig.methods.ncpd_plus.selection import CONFIGURATIONS, FALLBACK, Selection, compare
from disambig.methods.networks.pace import measure_pace
from disambig.methods.networks.plan import Start
from disambig.methods.networks.validation import split_rows
from disambig.methods.side_by_side import fit_copies

# Rows that scouts are compared on; from then on they are trained on too.
_HELD_OUT = 0.2
# Scouts train for so many epochs; then one member alone, each of two, or each of three for so many
# more. (On sets of one or two steps an epoch, more of them gained nothing.)
_SCOUT_EPOCHS = 30
_EPOCHS_AFTER = (110, 82, 55)
# Where the user has given the epochs, scouts take this share of them.
_SCOUT_SHARE = 0.35
# Judges of sets that may miss the truth train for so many epochs, or for this share of those given.
_JUDGE_EPOCHS = 60
_JUDGE_SHARE = 0.4
_JUDGE_DECAY = 0.8

# NCPD+ itself: its members are classifiers of its own kind, with one configuration each.
Member = TypeVar("Member", bound=NCPDClassifier)


class Pace(NamedTuple):
    """How many epochs a mix is trained for."""

    scouting: int  # before configurations are compared
    rest: tuple[int, ...]  # after that, for one member alone, for each of two, of three

    def epochs(self, n_members: int) -> int:
        """Return the epochs of a member, those that it was a scout for included."""
        return self.scouting + self.rest[n_members - 1]

    @classmethod
    def of(cls, epochs: int | None) -> Self:
        """Return the pace for members of so many epochs; without a number, the usual one."""
        if epochs is None:
            return cls(_SCOUT_EPOCHS, _EPOCHS_AFTER)
        scouting = max(1, round(_SCOUT_SHARE * epochs))
        return cls(scouting, tuple(int(epochs) - scouting for _ in _EPOCHS_AFTER))


class Mix(NamedTuple, Generic[Member]):
    """What ``select="auto"`` leaves behind."""

    selection: Selection  # how the configurations compared
    members: dict[str, Member]  # fitted on all rows, the heaviest first
    history: History  # of the heaviest; where rows are watched, with the covering rate of the mix


class _Task(NamedTuple, Generic[Member]):
    """One mix to be made: a classifier, its rows, and how they are dealt out."""

    method: Member
    X: Features
    candidates: CandidateLabels
    watched: tuple[Features, CandidateLabels] | None
    scout_rows: IntArray
    held_out: IntArray
    pace: Pace
    seed: int
    said: dict[str, WatchedRows]  # of the watched rows, by configuration


def fit_mixes(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> list[Mix[Member]]:
    """Return the mix of every classifier; they are copies of one, each with its own data."""
    tasks = _tasks(methods, data)
    scouts = _fit_scouts(tasks)
    selections = [_compared(*task) for task in zip(tasks, scouts, strict=True)]
    members: list[dict[str, Member]] = [{} for _ in tasks]
    for name in CONFIGURATIONS:
        chosen = [n for n, selection in enumerate(selections) if name in selection.weights]
        for n in chosen:
            members[n][name] = _member(tasks[n], name, scouts[n][name], len(selections[n].weights))
        fit_copies(
            [members[n][name] for n in chosen],
            [(tasks[n].X, tasks[n].candidates) for n in chosen],
        )
    selections = [
        _without_collapsed(*task) for task in zip(selections, scouts, members, strict=True)
    ]
    _fall_back(tasks, selections, members)
    return [_mix(*task) for task in zip(tasks, selections, members, strict=True)]


def compare_scouts(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> list[Selection]:
    """Return how the configurations compare for every classifier, and train no members."""
    return _compare_scouts(_tasks(methods, data))


def make_judges(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> dict[str, dict[int, Member]]:
    """Return, by configuration and number, who judges whether sets contain the truth.

    One configuration judges for each classifier, the one that weighs most, in fewer epochs than a
    member has: to tell a wrong set from others it need not be as accurate as a mix.
    """
    judges: dict[str, dict[int, Member]] = {}
    tasks = _tasks(methods, data)
    for n, (task, selection) in enumerate(zip(tasks, _compare_scouts(tasks), strict=True)):
        epochs = _judge_epochs(task.method)
        parameters = CONFIGURATIONS[selection.choice].parameters(task.pace.scouting)
        parameters |= {"decay": _JUDGE_DECAY}
        judge = _configured(task, selection.choice, "judge", epochs, **parameters)
        judges.setdefault(selection.choice, {})[n] = judge
    return judges


class MixSeconds(NamedTuple):
    """How long the parts of a mix take."""

    scouting: float  # all configurations together
    members: float  # on from there
    judge: float  # one that is trained on four fifths of the rows


def mix_seconds(method: Member, X: Features, candidates: CandidateLabels) -> MixSeconds:
    """Return how long a mix takes, if two members go on: with three it takes about as long."""
    (_, trained), watched = split_rows(method, method.validation, X, candidates, 0)
    pace = Pace.of(method.epochs)
    n_rows, n_scouted = len(trained), round((1 - _HELD_OUT) * len(trained))
    scouting = members = judges = 0.0
    for configuration in CONFIGURATIONS.values():
        one = clone(method).set_params(
            select="none",
            miss_rate=0.0,
            epochs=pace.epochs(2),
            **configuration.parameters(pace.scouting),
        )
        fast = measure_pace(one, X, candidates)
        scouting += fast.training_seconds(pace.scouting, n_scouted)
        judges += fast.training_seconds(_judge_epochs(method), n_scouted)
        members += fast.training_seconds(pace.rest[1], n_rows) + fast.row * len(candidates)
        if watched is not None:
            epochs = pace.scouting + pace.rest[1]
            members += fast.row * epochs * len(watched[1])
    count = len(CONFIGURATIONS)
    return MixSeconds(scouting, 2 * members / count, judges / count)


def _judge_epochs(method: NCPDClassifier) -> int:
    given = method.epochs
    return _JUDGE_EPOCHS if given is None else max(1, round(_JUDGE_SHARE * given))


def _tasks(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> list[_Task[Member]]:
    return [_task(method, X, y) for method, (X, y) in zip(methods, data, strict=True)]


def _task(method: Member, X: Features, candidates: CandidateLabels) -> _Task[Member]:
    watch_seed, scout_seed, member_seed = spawn_seeds(method.random_state, 3)
    (X, candidates), watched = split_rows(method, method.validation, X, candidates, watch_seed)
    held_out, scout_rows = _dealt(candidates, scout_seed)
    return _Task(
        method,
        X,
        candidates,
        watched,
        scout_rows,
        held_out,
        Pace.of(method.epochs),
        member_seed,
        {name: WatchedRows() for name in (*CONFIGURATIONS, FALLBACK)},
    )


def _dealt(candidates: CandidateLabels, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows that scouts are compared on, and those that they train on."""
    if candidates.groups is not None and len(np.unique(candidates.groups)) > 1:
        is_held_out = hold_out_groups(candidates.groups, _HELD_OUT, seed)
        return np.flatnonzero(is_held_out), np.flatnonzero(~is_held_out)
    order = make_generator(seed).permutation(len(candidates))
    n_held_out = round(_HELD_OUT * len(candidates))
    # Of fewer than three rows none can be held out: scouts are judged by what they learn from.
    return order[: n_held_out or None], order[n_held_out:]


def _fit_scouts(tasks: Sequence[_Task[Member]]) -> list[dict[str, Member]]:
    """Return a classifier of every configuration for every task, fitted to most of its rows."""
    scouts: list[dict[str, Member]] = [{} for _ in tasks]
    for name, configuration in CONFIGURATIONS.items():
        for of_task, task in zip(scouts, tasks, strict=True):
            epochs = task.pace.scouting
            parameters = configuration.parameters(epochs)
            scout = _configured(task, name, f"scout {name}", epochs, **parameters)
            # Features of rows held out are scaled like the others, because members train on them.
            scout._start = Start(scout._fitted_views(task.X))
            scout._hands_on = True
            of_task[name] = scout
        fit_copies(
            [of_task[name] for of_task in scouts],
            [(task.X[task.scout_rows], task.candidates[task.scout_rows]) for task in tasks],
        )
    return scouts


def _compare_scouts(tasks: Sequence[_Task[Member]]) -> list[Selection]:
    return [_compared(*task) for task in zip(tasks, _fit_scouts(tasks), strict=True)]


def _compared(task: _Task[Member], scouts: dict[str, Member]) -> Selection:
    """Weigh the scouts of a task by the rows held out; those that collapsed weigh nothing."""
    rows = task.X[task.held_out]
    said = {name: scout._probability_blocks(rows) for name, scout in scouts.items()}
    collapsed = [name for name, scout in scouts.items() if has_collapsed(scout.history_)]
    return compare(task.candidates[task.held_out], said, left_out=collapsed)


def _member(task: _Task[Member], name: str, scout: Member, n_members: int) -> Member:
    """Return a classifier that goes on from where a scout has ended, with all rows."""
    scouting, epochs = task.pace.scouting, task.pace.epochs(n_members)
    parameters = CONFIGURATIONS[name].parameters(scouting)
    member = _configured(task, name, name, epochs, decay=1 - scouting / epochs, **parameters)
    member._start = scout._handed_on
    return member


def _configured(
    task: _Task[Member], name: str, role: str, epochs: int, **parameters: Any
) -> Member:
    """Return an unfitted copy of the classifier of a task, with one configuration."""
    path = task.method.checkpoint
    copy: Member = clone(task.method)
    copy.set_params(
        select="none",
        miss_rate=0.0,
        random_state=task.seed,
        checkpoint=None if path is None else f"{os.fspath(path)}.{role.replace(' ', '-')}",
        epochs=epochs,
        validation=task.watched,
        **parameters,
    )
    if task.watched is not None:
        copy.callbacks = [*(task.method.callbacks or ()), task.said[name]]
    copy._title = f"NCPD+ {role}"
    copy._in_mix = True
    return copy


def _without_collapsed(
    selection: Selection, scouts: dict[str, Member], members: dict[str, Member]
) -> Selection:
    """Leave out of a mix what has collapsed and was not to be mended by a shorter ramp; say so."""
    last = scouts | members
    collapsed = [name for name, classifier in last.items() if has_collapsed(classifier.history_)]
    left = selection.without(collapsed)
    if collapsed:
        instead = "" if left.weights else "Nothing else is left, so NCPD is trained instead. "
        warn_caller(
            f"NCPD+ leaves out of its mix: {', '.join(collapsed)}. The training has abandoned "
            "what it first learned (collapsed), so its choices among the candidates cannot be "
            f"trusted. {instead}To turn this check off: guard=False."
        )
    return left


def _fall_back(
    tasks: Sequence[_Task[Member]],
    selections: list[Selection],
    members: list[dict[str, Member]],
) -> None:
    """Train NCPD, in the places of these lists, where no configuration is left."""
    alone = [n for n, selection in enumerate(selections) if not selection.weights]
    for n in alone:
        epochs = tasks[n].pace.epochs(1)
        parameters = {"ramp_epochs": max(1, epochs // 2), "guard": False}
        members[n] = {FALLBACK: _configured(tasks[n], FALLBACK, FALLBACK, epochs, **parameters)}
        selections[n] = selections[n].replaced_by(FALLBACK)
    fit_copies(
        [members[n][FALLBACK] for n in alone], [(tasks[n].X, tasks[n].candidates) for n in alone]
    )


def _mix(task: _Task[Member], selection: Selection, members: dict[str, Member]) -> Mix[Member]:
    weights = selection.weights
    history = members[selection.choice].history_
    if task.watched is not None:
        said = [task.said[name] for name in weights]
        history = mixed_history(history, said, list(weights.values()), task.pace.epochs(1))
    for member in members.values():
        # Not those who watched this fit, and keep what was said in every epoch of it.
        member.callbacks = member._fitted_with["callbacks"] = task.method.callbacks
        member.__dict__.pop("_start", None)
    return Mix(selection, {name: members[name] for name in weights}, history)
