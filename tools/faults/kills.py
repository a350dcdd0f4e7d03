"""Kill every command that writes at every step, run it again, and compare to the bit.

Steps come first; then writes that are cut in half, kills at any moment, and kills of the run that
goes on after a kill.
"""

import os
import random
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from campaign import Campaign, Child, Outcome
from command_runs import Ended, load_libraries
from remains import Prepared, copied, find_damage, find_difference, play_until, prepare
from scenes import SCENES, Scene
from steps import Step

# One for each, and half as many that are drawn.
CASES_A_STEP = 1.5
KINDS = ("cut in half", "twice", "at any moment")


def choose_scene(number: int, scenes: Sequence[Scene], factor: float) -> tuple[Scene, int]:
    """Return the scene that a case belongs to, and its number there."""
    ends = list(accumulate(round(scene.n_steps * factor) for scene in scenes))
    index = next(index for index, end in enumerate(ends) if number < end)
    return scenes[index], number - (ends[index - 1] if index else 0)


def count_cases(scenes: Sequence[Scene], factor: float) -> int:
    """Return how many cases scenes have, so many for every step."""
    return sum(round(scene.n_steps * factor) for scene in scenes)


@dataclass(frozen=True)
class Kill:
    """Where a run is killed: at a step, maybe with half of what it wrote, or after some seconds."""

    step: int | None = None
    halved: bool = False
    seconds: float | None = None

    def __str__(self) -> str:
        if self.seconds is not None:
            return f"after {self.seconds:.3f} s"
        return f"at step {self.step}{', half written' if self.halved else ''}"


def choose_kills(prepared: Prepared, place: int, chance: random.Random) -> list[Kill]:
    """Return the deaths of a case, one after the other."""
    n_steps = len(prepared.events)
    if place < n_steps:
        return [Kill(place)]
    kind = KINDS[place % len(KINDS)]
    if kind == "at any moment":
        return [Kill(seconds=chance.uniform(0, prepared.seconds))]
    count = 2 if kind == "twice" else 1
    return [Kill(chance.randrange(n_steps), halved=True) for _ in range(count)]


def kill_run(scene: Scene, place: Path, kill: Kill) -> tuple[Child, list[str]]:
    """Run a command until it is killed; it may end before. Return also what people were told."""
    opened, size = place, 0

    def stop(number: int, step: Step) -> None:
        nonlocal opened, size
        if number == kill.step:
            if kill.halved and opened.is_file():
                os.truncate(opened, size + (opened.stat().st_size - size) // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        path = place / step.path
        if step.kind == "open":
            opened, size = path, path.stat().st_size if path.is_file() else 0
        elif step.kind != "lock" and path == opened:
            opened = place  # it is written

    return play_until(scene, place, stop, kill.seconds)


def try_kills(prepared: Prepared, kills: list[Kill], folder: Path) -> tuple[str, str]:
    """Return how a run ended that was killed, once or twice, and what was wrong, if anything."""
    with copied(prepared.template, folder) as place:
        for kill in kills:
            child, told = kill_run(prepared.scene, place, kill)
            # It may be done before its time has come, but not otherwise.
            is_done = isinstance(child.value, Ended) and child.value.code == 0
            if not is_done and not child.ended.startswith("signal"):
                return "failed", f"{child.ended} before it was killed\n{child.value}"
            if damage := find_damage(prepared, place, told):
                return "damaged", damage
        if difference := find_difference(prepared, place):
            return "differs", difference
    return "equal to the bit", ""


def cases(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Kill commands, and yield what became of them."""
    load_libraries()
    prepared: dict[str, Prepared] = {}
    for number in numbers:
        scene, place = choose_scene(number, SCENES, CASES_A_STEP)
        if scene.name not in prepared:
            prepared[scene.name] = prepare(scene, folder)
        ready = prepared[scene.name]
        kills = choose_kills(ready, place, random.Random(f"{seed} {number}"))
        ended, failure = try_kills(ready, kills, folder)
        what = " and again ".join(str(kill) for kill in kills)
        if kills[0].step is not None:
            what += f" ({ready.events[kills[0].step].step})"
        yield Outcome(f"{scene.name}, killed {what}", ended, failure, number)


CAMPAIGN = Campaign("kills", count_cases(SCENES, CASES_A_STEP), cases)
