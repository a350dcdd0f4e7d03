"""Small good files of every kind that disambig reads, each in a folder with what goes with it."""

import io
import json
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from command_runs import Ended, run_command

N_ROWS = 12
PACKED = ("csv.gz", "csv.bz2", "csv.xz", "csv.zip", "csv.zst")
COLOURS = ("red", "größer", 'a "b", c')
LABELS = ("cat|dog", "dog", "cat", "cat|owl", "owl|dog", "owl")
QUICK = ("--method=plknn", "--jobs=1", "--truth=truth")
TRAIN = (
    "--method=ncpd", "--set=epochs=2", "--set=ramp_epochs=1", "--set=hidden=4", "--folds=2",
    "--jobs=1", "--truth=truth",
)  # fmt: skip
STUDY = """name = "small"
about = "A study to be damaged."
metrics = ["accuracy"]
reference = "PLKNN"

[protocol]
kind = "kfold"
folds = 2
repeats = 1
seed = 0

[[datasets]]
path = "table.csv"
title = "my data"
labels = "label"
truth = "truth"

[[methods]]
name = "plknn"
parameters = { n_neighbors = 2 }
"""


def make_bases(folder: Path) -> None:
    """Make a folder for every kind of file."""
    frame = make_table()
    make_tables(folder, frame)
    _make_arrays(folder)
    _make_models(folder, frame)
    _make_partial(folder / "partial", frame)
    _make_cleaned(folder, frame)
    _make_annotations(folder / "annotations", frame)
    _make_study(folder, frame)
    _make_archives(folder)


def make_table(n_rows: int = N_ROWS) -> Any:
    """Return the table that all of them are made from."""
    import pandas as pd

    return pd.DataFrame(
        {
            "id": [f"V{row:03}" for row in range(n_rows)],
            "length": [round(1.5 * row % 7, 2) for row in range(n_rows)],
            "width": [row * row % 11 - 3 for row in range(n_rows)],
            "colour": [COLOURS[row % 3] for row in range(n_rows)],
            "label": [LABELS[row % 6] for row in range(n_rows)],
            "truth": [LABELS[row % 6].split("|")[0] for row in range(n_rows)],
        }
    )


def make_tables(folder: Path, frame: Any) -> None:
    """Make folders with a table each, and a model that predicts it."""
    others = ("tsv", "json", "jsonl", "parquet", "xlsx", *PACKED)
    for kind in ("csv", *others):
        _write_table(frame, folder / kind / f"table.{kind}")
    _run(folder / "csv", "fit", "table.csv", *QUICK, "--folds=0", "--out=model")
    for kind in others:
        shutil.copytree(folder / "csv" / "model", folder / kind / "model")


def _write_table(frame: Any, path: Path) -> None:
    from disambig.tabular import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(frame, path)


def _run(folder: Path, *words: str) -> None:
    child = run_command(words, folder, terminal=False, seconds=300)
    if not isinstance(child.value, Ended) or child.value.code != 0:
        raise RuntimeError(f"disambig {' '.join(words)} must succeed. {child}")


def _make_arrays(folder: Path) -> None:
    import numpy as np
    from scipy import io as matlab
    from scipy import sparse

    generator = np.random.default_rng(0)
    data = generator.normal(size=(N_ROWS, 2)).round(2)
    truth = np.eye(3, dtype=bool)[np.arange(N_ROWS) % 3]
    mask = truth | np.eye(3, dtype=bool)[np.arange(N_ROWS) // 4]
    dense = {"data": data, "partial_target": mask.T * 1.0, "target": truth.T * 1.0}
    packed = {name: sparse.csc_matrix(array) for name, array in dense.items()}
    for name, content, options in (
        ("mat", dense, {}),
        ("mat sparse", {**packed, "data": data}, {}),
        ("mat compressed", {**packed, "data": data}, {"do_compression": True}),
        ("mat 4", dense, {"format": "4"}),
    ):
        (folder / name).mkdir()
        matlab.savemat(folder / name / "table.mat", content, **options)
    (folder / "npz").mkdir()
    np.savez(
        folder / "npz" / "table.npz",
        X=data,
        candidates=mask,
        classes=np.array(["cat", "dog", "größer"]),
        true_labels=np.array(["cat", "dog", "größer"])[np.arange(N_ROWS) % 3],
        feature_names=np.array(["a", "b"]),
        weights=mask / mask.sum(axis=1, keepdims=True),
    )


def _make_models(folder: Path, frame: Any) -> None:
    for name, options in (("model", QUICK), ("network", TRAIN)):
        _write_table(frame, folder / name / "new.csv")
        _run(folder / name, "fit", "new.csv", *options, "--folds=0", "--out=model")
        (folder / f"{name} file").mkdir()
        method = "method.safetensors"
        shutil.copy(folder / name / "model" / method, folder / f"{name} file" / method)


def _make_partial(folder: Path, frame: Any) -> None:
    """Begin a cleaning and end it between two folds, so that a part and a checkpoint stay."""
    from disambig.tabular.work_folder import WorkFolder

    _write_table(frame, folder / "table.csv")
    keep, kept = WorkFolder.keep, []

    def keep_one(work: Any, name: str, arrays: Any) -> None:
        if kept:
            os._exit(9)
        kept.append(name)
        keep(work, name, arrays)

    WorkFolder.keep = keep_one  # type: ignore[method-assign]
    try:
        words = ("clean", "table.csv", *TRAIN, "--out=out.csv")
        child = run_command(words, folder, terminal=False, seconds=300)
    finally:
        WorkFolder.keep = keep  # type: ignore[method-assign]
    if child.ended != "exit 9":
        raise RuntimeError(f"A cleaning must leave its parts. {child}")


def _make_cleaned(folder: Path, frame: Any) -> None:
    place = folder / "cleaned"
    _write_table(frame, place / "table.csv")
    _run(place, "clean", "table.csv", *TRAIN, "--out=clean.csv")
    place = folder / "decisions"
    _write_table(frame, place / "table.csv")
    (place / "decisions.csv").write_text("row,label\n1,cat\n2,owl\n5,\n2,dog\n")
    decided = {"decided_at": "2026-01-01T00:00:00+00:00", "row": 2}
    lines = [json.dumps({**decided, "label": label}) for label in ("cat", "dog")]
    (place / "log.jsonl").write_text("\n".join(lines) + "\n")


def _make_annotations(folder: Path, frame: Any) -> None:
    items = frame[["id", "length", "width"]].rename(columns={"id": "item"})
    _write_table(items, folder / "items.csv")
    votes = items.loc[items.index.repeat(2)].reset_index(drop=True)
    votes["who"] = ["ann", "bob"] * N_ROWS
    votes["said"] = [("cat", "dog", "owl")[row % 3] for row in range(2 * N_ROWS)]
    _write_table(votes, folder / "votes.csv")


def _make_study(folder: Path, frame: Any) -> None:
    place = folder / "study"
    _write_table(frame.drop(columns=["id", "colour"]), place / "table.csv")
    (place / "study.toml").write_text(STUDY)
    _run(place, "study", "study.toml", "--store=records", "--out=out")
    # Of the report only what it can be made again from, where it says that its data is.
    (place / "results" / "small").mkdir(parents=True)
    file = Path("small") / "study.json"
    (place / "out" / file).rename(place / "results" / file)
    shutil.rmtree(place / "out")


def _make_archives(folder: Path) -> None:
    content = (folder / "mat" / "table.mat").read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("lost/lost.mat", content)
        archive.writestr("lost/readme.txt", "A dataset.")
    for name, archive_bytes in (("zip", packed.getvalue()), ("rar", pack_rar("lost.mat", content))):
        (folder / name).mkdir()
        (folder / name / "archive").write_bytes(archive_bytes)


def pack_rar(name: str, content: bytes, size: int | None = None) -> bytes:
    """Return a RAR 3 archive of one file, stored; ``size`` is what it claims to hold."""
    encoded = name.encode()
    size = len(content) if size is None else size
    main = _rar_block(0x73, 0, bytes(6))
    fields = struct.pack(
        "<IIBIIBBHI", len(content), size, 3, zlib.crc32(content), 0, 20, 0x30, len(encoded), 0o644
    )
    file = _rar_block(0x74, 0x8000, fields + encoded)
    return b"Rar!\x1a\x07\x00" + main + file + content + b"\xc4\x3d\x7b\x00\x40\x07\x00"


def _rar_block(kind: int, flags: int, rest: bytes) -> bytes:
    body = struct.pack("<BHH", kind, flags, 7 + len(rest)) + rest
    return struct.pack("<H", zlib.crc32(body) & 0xFFFF) + body


@contextmanager
def served(archive: bytes) -> Iterator[str]:
    """Give the address of an archive on a server in this process."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(archive)))
            self.end_headers()
            self.wfile.write(archive)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/archive"
        server.shutdown()
