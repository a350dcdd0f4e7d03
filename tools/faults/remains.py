"""What a command that was cut short may leave, and what the same command must make of it."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaign import Child, in_child
from command_runs import Ended, Snapshot, find_changes, snapshot
from scenes import Scene, comparable
from steps import Step, trace_steps

SECONDS = 60
# What people are told when a command ends well.
ALL = "that all is done"


@dataclass(frozen=True)
class Event:
    """A step of a command, what is synced by it, and what people were told before it."""

    step: Step
    synced: bytes | None = None
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A scene that was played to its end once.

    Attributes
    ----------
    scene : Scene
        The scene.
    template : Path
        The folder as the command finds it; copied for every case.
    before, after : dict
        What is in the folder then, and in the end, as ``comparable`` gives it.
    events : list of Event
        What the command did.
    seconds : float
        How long that took.
    """

    scene: Scene
    template: Path
    before: Snapshot
    after: Snapshot
    events: list[Event]
    seconds: float


def prepare(scene: Scene, folder: Path) -> Prepared:
    """Make the folder of a scene, and play it to its end in a copy."""
    template = folder / "templates" / scene.name.replace(" ", "-")
    template.mkdir(parents=True)
    scene.make(template)
    before = comparable(snapshot(template))
    with copied(template, folder) as place:
        begin = time.monotonic()
        child = play(scene, place)
        seconds = time.monotonic() - begin
        if not isinstance(child.value, list):
            raise RuntimeError(f"{scene.name} does not work at all: {child}")
        after = comparable(snapshot(place))
    if len(child.value) > scene.n_steps:
        raise RuntimeError(f"{scene.name} has {len(child.value)} steps: write that down")
    return Prepared(scene, template, before, after, child.value, seconds)


@contextmanager
def copied(template: Path, folder: Path) -> Iterator[Path]:
    """Give a copy of a folder, always at the same path; it goes when the block is left."""
    place = folder / "place"
    shutil.copytree(template, place)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def play(scene: Scene, place: Path) -> Child:
    """Run the command of a scene to its end; the value is its events, or an error as text."""

    def run() -> list[Event] | str:
        events: list[Event] = []
        told: list[str] = []

        def note(step: Step) -> None:
            path = place / step.path
            synced = path.read_bytes() if step.kind == "sync" and path.is_file() else None
            events.append(Event(step, synced, tuple(told)))

        trace_steps(place, note)
        ended = scene.run(place, told.append)
        told.append(ALL)
        note(Step("end"))
        return events if ended.code == 0 else f"exit {ended.code}\n{ended.out}\n{ended.err}"

    return in_child(run, SECONDS)


def play_until(
    scene: Scene, place: Path, stop: Callable[[int, Step], None], seconds: float | None = None
) -> tuple[Child, list[str]]:
    """Run the command of a scene; return how it ended, and what people were told until then.

    ``stop`` hears of every step by its number, and may kill the process it is called in. After so
    many seconds, if they are given, it is killed wherever it is.
    """
    kept = os.memfd_create("told")
    try:

        def run() -> Ended:
            number = -1

            def count(step: Step) -> None:
                nonlocal number
                number += 1
                stop(number, step)

            trace_steps(place, count)
            if seconds is not None:
                signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal ends the process
            ended = scene.run(place, lambda name: _write_line(kept, name))
            count(Step("end"))
            return ended

        child = in_child(run, SECONDS)
        return child, os.pread(kept, 1 << 20, 0).decode().splitlines()
    finally:
        os.close(kept)


def _write_line(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


def find_damage(prepared: Prepared, place: Path, told: list[str] | tuple[str, ...]) -> str:
    """Return what is wrong with a folder after its command was cut short; nothing if all is well.

    Every file that people see is as it was before or as it will be. A target is so as a whole. What
    people were told is there.
    """
    scene, before, after = prepared.scene, prepared.before, prepared.after
    found = comparable(snapshot(place))
    for name, content in found.items():
        if _is_hidden(name) or name in scene.grows:
            continue
        if content not in (before.get(name), after.get(name)):
            return f"{name} is neither as it was nor as it will be"
    for target in scene.targets:
        now, old, new = (_part(where, target) for where in (found, before, after))
        if now not in (old, new):
            return f"{target} is neither the old nor the new: {sorted(now)}"
    missing = [name for name in told if name != ALL and not scene.has(place, name)]
    if ALL in told:
        missing += [name for name, content in after.items() if found.get(name) != content]
    return f"people were told of {missing}, and it is not there" if missing else ""


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part.endswith(".partial") for part in Path(name).parts)


def _part(found: Snapshot, target: str) -> Snapshot:
    return {
        name: content
        for name, content in found.items()
        if name == target or name.startswith(f"{target}/")
    }


def find_difference(prepared: Prepared, place: Path) -> str:
    """Run the command again, to its end; return how the result differs from that of one run."""
    child = play(prepared.scene, place)
    if not isinstance(child.value, list):
        return f"the same command does not go on: {child.ended}\n{child.value}"
    return find_changes(prepared.after, comparable(snapshot(place)))
