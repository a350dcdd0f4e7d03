"""Commands that write, each with a folder made ready for it and what it must leave there."""

import csv
import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bases import TRAIN, make_table, served
from command_runs import Ended, Snapshot, run_command, run_in_this_process

LEARN = ("--method=plknn", "--folds=2", "--jobs=1", "--truth=truth")
_N_ROWS = 24
_STUDY = """name = "small"
[protocol]
kind = "holdout"
test_share = 0.3
[[datasets]]
path = "numbers.csv"
truth = "truth"
[[methods]]
name = "plknn"
"""
_DECISIONS = "clean.decisions.jsonl"
# What differs between two equal runs: when they were, how long they took, and a hash of that.
_OF_A_RUN = ("finished", "seconds", "peak_memory_mb", "seal", "environment")
_COLUMNS_OF_A_RUN = ("choose_seconds", "fit_seconds", "predict_seconds", "peak_memory_mb")


@dataclass(frozen=True)
class Scene:
    """A command and where it runs.

    Attributes
    ----------
    name : str
        What it is called.
    make : callable
        Puts what the command needs into an empty folder; it runs commands of its own.
    run : callable
        Runs the command in this process, in a folder. Given a function, it calls it with the name
        of what it has told people is done, each time.
    n_steps : int
        The most steps that it takes; so many cases it gets.
    targets : tuple of str
        Files and folders of which, at every moment, all is as it was or all as it will be.
    grows : tuple of str
        Files that take other forms in between.
    has : callable
        Tells whether what people were told is there, by its name.
    """

    name: str
    make: Callable[[Path], None]
    run: Callable[[Path, Callable[[str], None]], Ended]
    n_steps: int
    targets: tuple[str, ...] = ()
    grows: tuple[str, ...] = ()
    has: Callable[[Path, str], bool] = lambda folder, name: (folder / name).exists()


def _made_by(*commands: tuple[str, ...]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        write_tables(folder)
        for words in commands:
            child = run_command(words, folder, terminal=False)
            if not isinstance(child.value, Ended) or child.value.code:
                raise RuntimeError(f"disambig {' '.join(words)}: {child}")

    return make


def write_tables(folder: Path) -> None:
    """Write a table, one of numbers, and a study of that."""
    table = make_table(_N_ROWS)
    table.to_csv(folder / "table.csv", index=False)
    table.drop(columns=["id", "colour"]).to_csv(folder / "numbers.csv", index=False)
    (folder / "small.toml").write_text(_STUDY, encoding="utf-8")


def _command(*words: str) -> Callable[[Path, Callable[[str], None]], Ended]:
    def run(folder: Path, tell: Callable[[str], None]) -> Ended:
        _tell_of_records(tell)
        _write_checkpoints_often()
        return run_in_this_process(words, folder, terminal=False)

    return run


def _tell_of_records(tell: Callable[[str], None]) -> None:
    from disambig.bench.store import RecordStore

    write = RecordStore.write

    def write_and_tell(store: RecordStore, record: Any, predictions: Any = None) -> Any:
        written = write(store, record, predictions)
        tell(str(store.path(record.key)))
        return written

    RecordStore.write = write_and_tell  # type: ignore[method-assign]


def _write_checkpoints_often() -> None:
    from disambig.tabular import out_of_fold

    copy_for_one_fit = out_of_fold._copy_for_one_fit

    def copy_that_writes_often(method: Any, *arguments: Any) -> Any:
        classifier = copy_for_one_fit(method, *arguments)
        if "checkpoint_every" in classifier.get_params():
            classifier.set_params(checkpoint_every=1)
        return classifier

    out_of_fold._copy_for_one_fit = copy_that_writes_often


def _reproduce(folder: Path, tell: Callable[[str], None]) -> Ended:
    """Run ``disambig reproduce`` with a study of the paper cut to seconds."""
    from disambig.bench import paper
    from disambig.bench.settings import Study

    paper.paper_study = lambda *_, **__: Study.from_toml(folder / "small.toml")
    return _command("reproduce", "curves", "--quick")(folder, tell)


def _decide(folder: Path, tell: Callable[[str], None]) -> Ended:
    """Settle the rows of a table, as a review does, those that are not settled yet."""
    from disambig.tabular import read_table
    from disambig.tabular.labels.decided_rows import DecidedRows
    from disambig.tabular.labels.decision_log import DecisionLog

    os.chdir(folder)
    log = DecisionLog(_DECISIONS, DecidedRows(read_table("clean.csv"), "id"))
    for row, label in enumerate(("cat", "größer", "owl", "dog", "cat", "x" * 3000)):
        if row not in log.settled():
            log.settle(row, label, before=None)
        tell(str(row + 1))
    return Ended(0, "", "")


def _is_settled(folder: Path, row: str) -> bool:
    path = folder / _DECISIONS
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    whole = [json.loads(line)["row"] for line in lines if line.endswith(b"\n")]
    return int(row) in whole


def _fetch(folder: Path, tell: Callable[[str], None]) -> Ended:
    """Download a dataset from a server in this process."""
    from disambig._core.fingerprint import file_digest
    from disambig.datasets.card import find_card
    from disambig.datasets.download import fetch_dataset

    content = bytes(range(256)) * 400
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(zipfile.ZipInfo("data/lost.mat"), content)
    card = replace(find_card("lost"), hash=file_digest(content, "sha256"))
    with served(archive.getvalue()) as address:
        fetch_dataset(card, folder=folder / "data", url=address)
        tell("data/lost.mat")
    return Ended(0, "", "")


def _draw(folder: Path, tell: Callable[[str], None]) -> Ended:
    """Save a figure for print."""
    from matplotlib.figure import Figure

    from disambig.bench.figure_style import save_figure

    figure = Figure()
    figure.subplots().plot([1, 2])
    save_figure(figure, folder / "out" / "accuracy")
    tell("out/accuracy.svg")
    return Ended(0, "", "")


def _train(folder: Path, tell: Callable[[str], None]) -> Ended:
    """Train with a checkpoint, in Python, and save the method to a file."""
    import numpy as np

    from disambig.methods import NCPDClassifier

    os.chdir(folder)
    generator = np.random.default_rng(0)
    candidates = generator.random((40, 3)) < 0.5
    candidates[np.arange(40), generator.integers(3, size=40)] = True
    method = NCPDClassifier(
        epochs=3, ramp_epochs=1, hidden=4, random_state=0,
        checkpoint="training.checkpoint", checkpoint_every=1,
    )  # fmt: skip
    method.fit(generator.normal(size=(40, 4)), candidates)
    method.save("method.safetensors")
    tell("method.safetensors")
    return Ended(0, "", "")


_CLEAN = ("clean", "table.csv", *LEARN, "--out=clean.csv")
_FIT = ("fit", "table.csv", *LEARN, "--out=model")
_OLD_CLEAN = ("clean", "table.csv", *LEARN, "--seed=7", "--in-sample", "--out=clean.csv")
_OLD_MODEL = ("fit", "table.csv", "--method=average", "--folds=0", "--jobs=1", "--out=model")
_PREDICT = ("predict", "model", "table.csv")
_PAGE = ("report", "clean.csv", "--out=page.html")
_OLD_PAGE = (*_PAGE, "--rows=1")
_CLEANED = ("clean.csv", "clean.csv.details.json")
_NETWORKS = ("clean", "table.csv", *TRAIN)

SCENES = (
    Scene("example", _made_by(), _command("example", "here"), 20),
    Scene("clean", _made_by(), _command(*_CLEAN), 65, _CLEANED),
    Scene("clean again", _made_by(_OLD_CLEAN), _command(*_CLEAN), 65, _CLEANED),
    Scene("clean by networks", _made_by(), _command(*_NETWORKS, "--out=clean.csv"), 100, _CLEANED),
    Scene("fit", _made_by(), _command(*_FIT), 80, ("model",)),
    Scene("model replaced", _made_by(_OLD_MODEL), _command(*_FIT), 85, ("model",)),
    Scene("predict", _made_by(_FIT), _command(*_PREDICT, "--out=p.csv"), 10, ("p.csv",)),
    Scene("predict to Excel", _made_by(_FIT), _command(*_PREDICT, "--out=p.xlsx"), 10, ("p.xlsx",)),
    Scene("report", _made_by(_CLEAN, _OLD_PAGE), _command(*_PAGE), 10, ("page.html",)),
    Scene("study", _made_by(), _command("study", "small.toml"), 145),
    Scene("reproduce", _made_by(), _reproduce, 145),
    Scene("figures", _made_by(), _draw, 20),
    Scene("review", _made_by(_CLEAN), _decide, 40, grows=(_DECISIONS,), has=_is_settled),
    Scene("training", _made_by(), _train, 35, grows=("training.checkpoint",)),
    Scene("fetch", _made_by(), _fetch, 25),
)


def comparable(found: Snapshot) -> Snapshot:
    """Return a snapshot without what differs between two runs of the same command."""
    return {name: _without_times(name, content) for name, content in found.items()}


def _without_times(name: str, content: bytes | str) -> bytes | str:
    path = Path(name)
    if isinstance(content, str):
        return content
    if path.name == "report.html":  # says when and how long
        return b"</html>" if content.rstrip().endswith(b"</html>") else content
    try:
        if path.suffix == ".xlsx":  # also says when
            with zipfile.ZipFile(io.BytesIO(content)) as book:
                parts = [name for name in book.namelist() if "core" not in name]
                return repr([(name, book.read(name)) for name in parts])
        if path.parent.name == "records" and path.suffix == ".json":
            record = json.loads(content)
            return repr([(key, record[key]) for key in record if key not in _OF_A_RUN])
        if path.name == _DECISIONS:
            lines = [json.loads(line) for line in content.splitlines()]
            return repr([[line["id"], line["label"]] for line in lines])
        if path.name == "jobs.csv":
            rows = csv.DictReader(io.StringIO(content.decode()))
            kept = [{k: v for k, v in row.items() if k not in _COLUMNS_OF_A_RUN} for row in rows]
            return repr(kept)
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile):
        pass  # cut short: compared as it is
    return content
