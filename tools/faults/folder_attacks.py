"""Attacks by what lies in a folder: devices, pipes, links, leftovers, files of the user."""

import json
import os
import pickle
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

from attacks import ESCAPE, Attack, Make, Payload, put
from study_attacks import code_in_study

_SECONDS_TO_READ = 120
SIDE_FILES = {
    "details": "clean.csv.details.json",
    "decisions csv": "decisions.csv",
    "log of a review": "log.jsonl",
    "model, model.json": "model/model.json",
    "model, method.safetensors": "model/method.safetensors",
    "mark of unfinished work": "out.csv.partial/*.json",
    "part of unfinished work": "out.csv.partial/*.npz",
    "checkpoint": "out.csv.partial/*.checkpoint*",
    "annotations": "votes.csv",
    "study toml": "study.toml",
    "study data": "table.csv",
    "study.json": "results/small/study.json",
    "record": "records/*.json",
    "predictions": "records/*.npz",
    "csv": "table.csv",
    "jsonl": "table.jsonl",
    "parquet": "table.parquet",
    "xlsx": "table.xlsx",
    "mat": "table.mat",
    "npz": "table.npz",
}


def special_files() -> Iterator[Attack]:
    """Yield things that are not files where files are read."""
    for reader, file in SIDE_FILES.items():
        for name, make in {
            "a device that does not end": link("/dev/zero"),
            "a device of random bytes": link("/dev/urandom"),
            "a link to itself": link("itself"),
            "a link to nothing": link("/nowhere/at/all"),
            "nothing at all": link("/dev/null"),
            "a folder": make_folder,
            "a pipe that nobody writes to": make_pipe,
        }.items():
            # A pipe given as the table is waited for, as every program does.
            if make is make_pipe and not file.startswith(("clean.", "out.", "model/", "records/")):
                continue
            what = f"{name} in the place of {file}"
            # A record that is a folder cannot be written again: that is said.
            yield Attack(reader, what, replace(file, make), (0, 2))
    for reader in ("csv", "jsonl"):
        file = SIDE_FILES[reader]
        yield Attack(reader, "a pipe that is written to", replace(file, fill_pipe), (0,))


def replace(pattern: str, make: Make) -> Make:
    """Return a change of a folder: something else in the place of a file."""

    def change(folder: Path) -> None:
        make(min(folder.glob(pattern)))

    return change


def link(target: str) -> Make:
    """Return a change of a path: a link."""

    def make(path: Path) -> None:
        path.unlink()
        path.symlink_to(path.name if target == "itself" else target)

    return make


def make_folder(path: Path) -> None:
    """Make a folder in the place of a file."""
    path.unlink()
    (path / "inside").mkdir(parents=True)


def make_pipe(path: Path) -> None:
    """Make a named pipe in the place of a file."""
    path.unlink()
    os.mkfifo(path)


def fill_pipe(path: Path) -> None:
    """Make a named pipe that gives what was in the file."""
    content = path.read_bytes()
    make_pipe(path)
    if os.fork() == 0:
        signal.alarm(_SECONDS_TO_READ)  # where nobody reads it, this process ends all the same
        try:
            path.write_bytes(content)
        finally:
            os._exit(0)


def folder_attacks() -> Iterator[Attack]:
    """Yield what lies beside good files."""
    train = "mark of unfinished work"
    left = {
        "a mark that was never in place": _only_leftover,
        "an empty folder of unfinished work": _emptied,
        "leftovers of all kinds": _leftovers,
    }
    for name, make in left.items():
        yield Attack(train, name, make, (0,))
    yield Attack(train, "a folder of the user's", _users_folder, (2,))
    yield Attack(train, "a link to a folder of the user's", _linked_folder, (2,))
    yield Attack(train, "links inside to files of the user", _links_inside)
    yield Attack(
        "csv",
        "details of the user's",
        put("out.csv.details.json", "mine"),
        (2,),
        ("clean", "table.csv", "--method=plknn", "--in-sample", "--jobs=1", "--out=out.csv"),
    )
    yield Attack("study.json", "a method that is code", code_in_study, (2,))
    yield Attack("model, model.json", "pickles beside", _pickles_beside, (0,))
    yield Attack("model, model.json", "an escape in a class", _escape_in_model)
    for name in (f"{ESCAPE}.json", "a\nb.json", "x" * 200 + ".json"):
        content = put("records/" + name.replace("/", ""), "{}")
        yield Attack("record", f"a record called {name[:9]!r}", content)
    yield Attack("record", "10,000 other files", _many_records)
    yield Attack("record", "a record of 100 MB", put("records/*.json", b" " * 100_000_000))
    yield Attack("record", "bad UTF-8", put("records/*.json", b'{"key": "\xff"}'))
    yield Attack("details", "100 MB", put("clean.csv.details.json", b" " * 100_000_000))


def _partial(folder: Path) -> Path:
    return folder / "out.csv.partial"


def _only_leftover(folder: Path) -> None:
    _emptied(folder)
    (_partial(folder) / ".work-0123.json").touch()


def _emptied(folder: Path) -> None:
    shutil.rmtree(_partial(folder))
    _partial(folder).mkdir()


def _leftovers(folder: Path) -> None:
    for name in (".work-0123456789abcdef0123456789abcdef.json", ".fold-0123456789abcdef.npz"):
        (_partial(folder) / name).write_text("half")


def _users_folder(folder: Path) -> None:
    _emptied(folder)
    (_partial(folder) / "thesis.txt").write_text("mine")


def _linked_folder(folder: Path) -> None:
    shutil.rmtree(_partial(folder))
    (folder / "precious").mkdir()
    (folder / "precious" / "thesis.txt").write_text("mine")
    _partial(folder).symlink_to("precious")


def _links_inside(folder: Path) -> None:
    (folder / "thesis.txt").write_text("mine")
    mark = min(_partial(folder).glob("*.json"))
    content = json.loads(mark.read_text())
    mark.write_text(json.dumps({**content, "fingerprint": "of other work"}))
    (_partial(folder) / "thesis.txt").symlink_to("../thesis.txt")


def _pickles_beside(folder: Path) -> None:
    for name in ("method.pkl", "model.pickle", "features.joblib", "method.pt", "method.skops"):
        (folder / "model" / name).write_bytes(pickle.dumps(Payload()))


def _escape_in_model(folder: Path) -> None:
    path = folder / "model" / "model.json"
    path.write_text(path.read_text().replace("cat", json.dumps(ESCAPE)[1:-1]))


def _many_records(folder: Path) -> None:
    for number in range(10_000):
        (folder / "records" / f"{number:024x}-{number:012x}.json").write_text("{}")
