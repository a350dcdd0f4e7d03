"""Cut the power at every step of every command that writes, and run it again.

The steps of a run are traced and followed on a model of the disk, which says what is left at each.
Two states are tried at every step: only what was synced is there, or all names are there and only
synced content. Then come cuts of the run that goes on after a cut.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from campaign import Campaign, Outcome
from command_runs import load_libraries
from disk_model import Disk, write_state
from kills import choose_scene, count_cases
from remains import Event, Prepared, find_damage, find_difference, play, prepare
from scenes import SCENES

State = dict[str, bytes | None]
# Two for each, and some that are drawn.
CASES_A_STEP = 2.25


def state_after(
    folder: Path, events: Sequence[Event], step: int, *, names_reach_disk: bool
) -> State:
    """Return what is left of a folder if the power fails before a step."""
    disk = Disk(folder)
    for event in events[:step]:
        disk.apply(event.step, event.synced)
    return disk.after_power_cut(names_reach_disk=names_reach_disk)


def try_state(
    prepared: Prepared, state: State, told: Sequence[str], folder: Path
) -> tuple[str, str]:
    """Return how a run that goes on from a state ends, and what is wrong, if anything."""
    place = folder / "place"
    write_state(state, place)
    try:
        if damage := find_damage(prepared, place, told):
            return "damaged", damage
        if difference := find_difference(prepared, place):
            return "differs", difference
        return "equal to the bit", ""
    finally:
        shutil.rmtree(place)


def cut_again(
    prepared: Prepared, state: State, chance: random.Random, folder: Path
) -> tuple[State, Sequence[str]]:
    """Run the command on what a power cut left; return what another leaves, and what was told."""
    place = folder / "place"
    write_state(state, place)
    try:
        template = shutil.copytree(place, folder / "first")
        child = play(prepared.scene, place)
        if not isinstance(child.value, list):
            raise RuntimeError(f"the same command does not go on: {child}")
        step = chance.randrange(len(child.value))
        names = chance.random() < 0.5
        left = state_after(template, child.value, step, names_reach_disk=names)
        return left, child.value[step].told
    finally:
        shutil.rmtree(place)
        shutil.rmtree(folder / "first")


def cases(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Cut the power, and yield what became of the work."""
    load_libraries()
    prepared: dict[str, Prepared] = {}
    found: dict[tuple[object, ...], tuple[str, str]] = {}
    for number in numbers:
        scene, place = choose_scene(number, SCENES, CASES_A_STEP)
        if scene.name not in prepared:
            prepared[scene.name] = prepare(scene, folder)
        ready, chance = prepared[scene.name], random.Random(f"{seed} {number}")
        step, is_first = place // 2, place // 2 < len(ready.events)
        if not is_first:
            step = chance.randrange(len(ready.events))
        names = place % 2 == 1
        state = state_after(ready.template, ready.events, step, names_reach_disk=names)
        told: Sequence[str] = ready.events[step].told
        what = f"{scene.name}, power cut at step {step} ({ready.events[step].step})"
        if not is_first:
            state, told = cut_again(ready, state, chance, folder)
            what += ", and again"
        # Many steps leave the same.
        key = (scene.name, frozenset(state.items()), tuple(told))
        if key not in found:
            found[key] = try_state(ready, state, told, folder)
        yield Outcome(f"{what}, {'all' if names else 'synced'} names left", *found[key], number)


CAMPAIGN = Campaign("power-cuts", count_cases(SCENES, CASES_A_STEP), cases)
