"""Hostile files, mutated and made up: what a command does with each, in a child with limits."""

import random
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from array_attacks import mat_attacks, numpy_attacks
from attacks import Attack
from bases import make_bases
from campaign import SECONDS, Campaign, Outcome
from claim_attacks import claim_attacks
from command_runs import (
    Ended,
    find_changed_cells,
    find_changes,
    judge,
    load_libraries,
    run_command,
    run_python,
    snapshot,
)
from folder_attacks import folder_attacks, special_files
from mutations import mutate
from packed_attacks import (
    archive_attacks,
    excel_attacks,
    parquet_attacks,
    safetensors_attacks,
)
from readers import READERS, Command, Reader
from study_attacks import study_attacks
from text_attacks import json_attacks, text_attacks

COUNT = 10_000
_SCRIPT = re.compile(rb"<script>owned|<img src=x")  # of MARKUP, not escaped
ARCHIVES = ("zip", "rar")  # nothing on this machine is the dataset that is asked for
ATTACKS = (
    text_attacks, json_attacks, study_attacks, excel_attacks, parquet_attacks, numpy_attacks,
    mat_attacks, claim_attacks, safetensors_attacks, archive_attacks, special_files, folder_attacks,
)  # fmt: skip


def try_files(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Give every numbered file to a command that reads it: attacks first, then mutations."""
    load_libraries()
    bases = folder / "bases"
    make_bases(bases)
    attacks = list(_list_attacks())
    for number in numbers:
        # Not the folder itself: what is written beside or above it is noticed.
        place = folder / "case" / "work"
        if number < len(attacks):
            reader, command, attack = attacks[number]
            shutil.copytree(bases / reader.base, place)
            attack.make(place)
            outcome = try_command(reader, command, place, number, attack.name)
        else:
            outcome = _try_mutation(seed, number, bases, place)
        yield outcome
        shutil.rmtree(place.parent)


def _list_attacks() -> Iterator[tuple[Reader, Command, Attack]]:
    """Yield every attack with every command that meets it; good files are to be read."""
    readers = {reader.name: reader for reader in READERS}
    good = (
        Attack(
            reader.name, "a good file", lambda _: None, (2,) if reader.base in ARCHIVES else (0,)
        )
        for reader in READERS
    )
    for attack in chain(good, *(attacks() for attacks in ATTACKS)):
        reader = readers[attack.reader]
        if attack.codes:
            reader = replace(reader, codes=attack.codes)
        for command in [attack.command] if attack.command else reader.commands:
            yield reader, command, attack


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
    return try_command(reader, chance.choice(reader.commands), place, number, "mutated")


def try_command(
    reader: Reader, command: Command, place: Path, number: int, what: str, seconds: float = SECONDS
) -> Outcome:
    """Run a command on what is in a folder, and judge all that it did."""
    before = snapshot(place.parent)
    if isinstance(command, tuple):
        child = run_command(command, place, terminal=number % 2 == 1, seconds=seconds)
        words = f"disambig {' '.join(command)}"
    else:
        child = run_python(command, place)
        words = command.__name__.lstrip("_")
    failure = judge(child, reader.codes)
    if not failure:
        allowed = [f"{place.name}/{pattern}" for pattern in reader.writes]
        failure = find_changes(before, snapshot(place.parent), allowed)
    if not failure:
        failure = _look_at_results(reader, place)
    ended = f"exit {child.value.code}" if isinstance(child.value, Ended) else child.ended
    return Outcome(f"{reader.name}, {what}: {words}", ended, failure, number)


def _look_at_results(reader: Reader, place: Path) -> str:
    result = place / "out.csv"
    for page in filter(Path.is_file, place.rglob("*.html")):
        if _SCRIPT.search(page.read_bytes()):
            return f"{page.name} holds a script that is not ours"
    if reader.delimiter and result.exists() and (file := place / reader.file).is_file():
        return find_changed_cells(file.read_bytes(), result.read_bytes(), reader.delimiter)
    return ""


CAMPAIGN = Campaign("files", COUNT, try_files)
