"""Hostile files, mutated and made up: what a command does with each, in a child with limits."""

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from bases import make_bases
from campaign import Campaign, Outcome
from mutations import mutate
from readers import READERS, Reader

from commands import (
    Ended,
    find_changed_cells,
    find_changes,
    judge,
    load_libraries,
    run_command,
    run_python,
    snapshot,
)

COUNT = 10_000


def try_files(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Give every numbered file to a command that reads it."""
    load_libraries()
    bases = folder / "bases"
    make_bases(bases)
    for number in numbers:
        place = folder / "case"
        yield _try_mutation(seed, number, bases, place)
        shutil.rmtree(place)


def _try_mutation(seed: int, number: int, bases: Path, place: Path) -> Outcome:
    chance = random.Random(f"{seed} {number}")
    reader = READERS[number % len(READERS)]
    shutil.copytree(bases / reader.base, place)
    file = min(place.glob(reader.file))
    content = file.read_bytes()
    if reader.inside is not None and chance.random() < 0.6:
        changed = reader.inside(content, chance)
    else:
        changed = mutate(content, chance, reader.tokens)
    file.write_bytes(changed)
    if reader.repair is not None:
        reader.repair(place)
    command = chance.choice(reader.commands)
    return try_command(reader, command, place, file, number, f"a changed {reader.name}")


def try_command(
    reader: Reader, command: object, place: Path, file: Path, number: int, what: str
) -> Outcome:
    """Run a command on what is in a folder, and judge all that it did."""
    before = snapshot(place)
    if isinstance(command, tuple):
        child = run_command(command, place, terminal=number % 2 == 1)
        case = f"{what}: disambig {' '.join(command)}"
    else:
        child = run_python(command, place)  # type: ignore[arg-type]
        case = f"{what}: {command.__name__.lstrip('_')}"  # type: ignore[attr-defined]
    failure = judge(child, reader.codes)
    if not failure:
        failure = find_changes(before, snapshot(place), reader.writes)
    result = place / "out.csv"
    if not failure and reader.delimiter and result.exists():
        failure = find_changed_cells(file.read_bytes(), result.read_bytes(), reader.delimiter)
    ended = f"exit {child.value.code}" if isinstance(child.value, Ended) else child.ended
    return Outcome(case, ended, failure, number)


CAMPAIGN = Campaign("files", COUNT, try_files)
