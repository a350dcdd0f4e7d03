"""Every kind of file that disambig reads, and the cheapest commands that read all of it."""

import contextlib
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bases import PACKED, TRAIN, served
from mutations import (
    JSON_TOKENS,
    NPY_TOKENS,
    PARQUET_TOKENS,
    TEXT_TOKENS,
    TOML_TOKENS,
    XML_TOKENS,
    Change,
    mutate,
    mutate_compressed_mat,
    mutate_json,
    mutate_json_lines,
    mutate_safetensors,
    mutate_zip,
)

LEARN = ("--method=plknn", "--in-sample", "--jobs=1", "--out=out.csv")
WRITES = ("out.csv", "out.csv.details.json", "page.html")


Command = tuple[str, ...] | Callable[[Path], object]


@dataclass(frozen=True)
class Reader:
    """A kind of file and who reads it.

    Attributes
    ----------
    name : str
        What the kind is called.
    file : str
        The file to be changed, as a pattern: the first one that it fits.
    base : str
        The folder it is in, of those that ``make_bases`` makes.
    commands : tuple of tuple of str
        Commands, of which each case runs one, or a function of the folder.
    tokens : tuple of bytes
        What means something in such a file.
    inside : callable, optional
        A change behind checksums and compression.
    codes : tuple of int
        Exit codes that are right.
    writes : tuple of str
        What a command may change, as patterns.
    repair : callable, optional
        Makes the rest of the folder fit the changed file.
    delimiter : str
        Of a text table, whose cells must all come back as they were.
    """

    name: str
    file: str
    base: str
    commands: tuple[Command, ...]
    tokens: tuple[bytes, ...] = ()
    inside: Change | None = None
    codes: tuple[int, ...] = (0, 2)
    writes: tuple[str, ...] = WRITES
    repair: Callable[[Path], None] | None = None
    delimiter: str = ""


def _load_model_file(folder: Path) -> None:
    import numpy as np

    from disambig.methods import PLKNN

    method = PLKNN.load(folder / "method.safetensors")
    method.predict_proba(np.zeros((1, method.n_features_in_)))


def _load_network_file(folder: Path) -> None:
    import numpy as np

    from disambig.methods import NCPDClassifier

    method = NCPDClassifier.load(folder / "method.safetensors")
    method.predict_proba(np.zeros((1, method.n_features_in_)))


def _add_to_log(folder: Path) -> None:
    from disambig import read_table
    from disambig.tabular.labels.decided_rows import DecidedRows
    from disambig.tabular.labels.decision_log import DecisionLog

    log = DecisionLog(folder / "log.jsonl", DecidedRows(read_table(folder / "table.csv")))
    log.settle(3, "cat", before=log.settled().get(3))


def _fetch(folder: Path) -> None:
    """Fetch a dataset from a server on this machine that has nothing but the archive."""
    from disambig.datasets.download import fetch_dataset

    with served((folder / "archive").read_bytes()) as address:
        fetch_dataset("lost", folder=folder / "out", url=address)


def _reseal(folder: Path) -> None:
    """Make the first record fit its predictions, and its seal the record."""
    from disambig._core.fingerprint import sha256_hex
    from disambig.bench.record import _seal

    record, predictions = (min((folder / "records").glob(f"*.{kind}")) for kind in ("json", "npz"))
    with contextlib.suppress(ValueError, TypeError, AttributeError):  # not JSON, or not an object
        content = json.loads(record.read_bytes())
        content.pop("seal", None)
        content["predictions"] = sha256_hex(predictions.read_bytes())
        record.write_text(json.dumps({**content, "seal": _seal(content)}))


STORE = "--store=records"
RECORD_WRITES = ("page.html", "records", "records/*", "out", "out/*")
MODEL = (("predict", "model", "new.csv", "--out=out.csv"), ("report", "model", "--out=page.html"))
STUDY = (
    ("report", "study.toml", STORE, "--out=page.html"),
    ("study", "study.toml", STORE, "--out=out"),
)
LONG = ("--item=item", "--annotator=who", "--label=said")
REPORT = (("report", "clean.csv", "--out=page.html"),)


def _table(kind: str, tokens: tuple[bytes, ...] = (), **options: Any) -> Reader:
    file = f"table.{kind}"
    commands = (
        ("clean", file, *LEARN),
        ("audit", file, "--truth=truth"),
        ("predict", "model", file, "--out=out.csv"),
    )
    return Reader(kind, file, kind, commands, tokens, **options)


def _arrays(base: str, file: str, inside: Change | None = None) -> Reader:
    commands = (("clean", file, *LEARN), ("audit", file, "--truth=truth"))
    return Reader(base, file, base, commands, inside=inside)


def _model(base: str, file: str, inside: Change) -> Reader:
    return Reader(f"{base}, {file}", f"model/{file}", base, MODEL, JSON_TOKENS, inside)


def _partial(name: str, pattern: str, inside: Change) -> Reader:
    commands = (("clean", "table.csv", *TRAIN, "--out=out.csv"),)
    file, writes = f"out.csv.partial/{pattern}", (*WRITES, "out.csv.partial*")
    return Reader(name, file, "partial", commands, JSON_TOKENS, inside, writes=writes)


def _study(name: str, file: str, tokens: tuple[bytes, ...] = (), **options: Any) -> Reader:
    return Reader(name, file, "study", STUDY, tokens, writes=RECORD_WRITES, **options)


def _cleaned(name: str, base: str, file: str, *words: str) -> Reader:
    """Return a reader of another file than the table that is cleaned."""
    tokens, inside = (JSON_TOKENS, mutate_json_lines) if "jsonl" in file else (TEXT_TOKENS, None)
    return Reader(name, file, base, (("clean", *words, *LEARN),), tokens, inside)


def _called(base: str, file: str, call: Callable[[Path], object], *writes: str) -> Reader:
    inside = mutate_safetensors if file.endswith("safetensors") else None
    return Reader(base, file, base, (call,), inside=inside, writes=writes)


_in_npz = mutate_zip(lambda member, chance: mutate(member, chance, NPY_TOKENS))
_text_in_zip = mutate_zip(lambda member, chance: mutate(member, chance, TEXT_TOKENS))


def _text_in_gzip(content: bytes, chance: Random) -> bytes:
    return gzip.compress(mutate(gzip.decompress(content), chance, TEXT_TOKENS), mtime=0)


_INSIDE: dict[str, Change] = {"csv.gz": _text_in_gzip, "csv.zip": _text_in_zip}
_in_xlsx = mutate_zip(lambda member, chance: mutate(member, chance, XML_TOKENS))

READERS: tuple[Reader, ...] = (
    _table("csv", TEXT_TOKENS, delimiter=","),
    _table("tsv", TEXT_TOKENS, delimiter="\t"),
    _table("jsonl", JSON_TOKENS, inside=mutate_json_lines),
    _table("json", JSON_TOKENS, inside=mutate_json),
    *(_table(kind, inside=_INSIDE.get(kind)) for kind in PACKED),
    _table("parquet", PARQUET_TOKENS),
    _table("xlsx", inside=_in_xlsx),
    _arrays("mat", "table.mat"),
    _arrays("mat sparse", "table.mat"),
    _arrays("mat compressed", "table.mat", mutate_compressed_mat),
    _arrays("mat 4", "table.mat"),
    _arrays("npz", "table.npz", _in_npz),
    *(
        _model(base, file, inside)
        for base in ("model", "network")
        for file, inside in (
            ("model.json", mutate_json),
            ("features.safetensors", mutate_safetensors),
            ("method.safetensors", mutate_safetensors),
        )
    ),
    _called("model file", "method.safetensors", _load_model_file),
    _called("network file", "method.safetensors", _load_network_file),
    _partial("mark of unfinished work", "*.json", mutate_json),
    _partial("part of unfinished work", "*.npz", _in_npz),
    _partial("checkpoint", "*.checkpoint*", mutate_safetensors),
    Reader("details", "clean.csv.details.json", "cleaned", REPORT, JSON_TOKENS, mutate_json),
    Reader("cleaned table", "clean.csv", "cleaned", REPORT, TEXT_TOKENS),
    _cleaned(
        "decisions csv", "decisions", "decisions.csv", "table.csv", "--decisions=decisions.csv"
    ),
    _cleaned("decisions jsonl", "decisions", "log.jsonl", "table.csv", "--decisions=log.jsonl"),
    Reader(
        "log of a review", "log.jsonl", "decisions", (_add_to_log,), JSON_TOKENS,
        mutate_json_lines, writes=("log.jsonl",),
    ),
    _cleaned(
        "annotations", "annotations", "votes.csv", "items.csv", "--annotations=votes.csv", *LONG
    ),
    _cleaned("long table", "annotations", "votes.csv", "votes.csv", *LONG),
    _study("study toml", "study.toml", TOML_TOKENS),
    _study("study data", "table.csv", TEXT_TOKENS),
    Reader(
        "study.json", "results/small/study.json", "study",
        (("report", "results/small", STORE, "--out=page.html"),), JSON_TOKENS, mutate_json,
    ),
    _study("record", "records/*.json", JSON_TOKENS, inside=mutate_json, codes=(0,)),
    _study("resealed record", "records/*.json", inside=mutate_json, codes=(0,), repair=_reseal),
    _study("predictions", "records/*.npz", inside=_in_npz, codes=(0,), repair=_reseal),
    _called("zip", "archive", _fetch, "out", "out/*"),
    _called("rar", "archive", _fetch, "out", "out/*"),
)  # fmt: skip
