"""What the tests of model folders share: small models, and folders with another content."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import save
from sklearn.base import clone

from disambig import CandidateLabels
from disambig._core.fingerprint import file_digest
from disambig.methods import NCPDClassifier
from disambig.tabular.accuracy import Accuracy
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import column_values
from disambig.tabular.estimate import Estimate
from disambig.tabular.table_model import TableModel
from methods.instances import INSTANCES
from tabular.small_tables import fit_model

_GENERATOR = np.random.default_rng(0)
_N = 60
_CLASSES = np.array(["cat", "dog", "fox"])


def _some(values, missing):
    chosen = [values[i] for i in _GENERATOR.integers(len(values), size=_N)]
    return [None if gap else value for gap, value in zip(missing, chosen, strict=True)]


def _table():
    missing = _GENERATOR.random((3, _N)) < 0.1
    truth = _GENERATOR.integers(3, size=_N)
    size = np.where(missing[0], np.nan, truth + _GENERATOR.normal(scale=0.5, size=_N))
    table = pd.DataFrame(
        {
            "size": size,
            "weight": _GENERATOR.normal(size=_N) * 100,
            "color": pd.Series(_some(["red", "green", "blue"], missing[1]), dtype=object),
            "tame": _some(["yes", "no"], missing[2]),
            "seen": pd.date_range("2024-01-01", periods=_N, freq="37h").strftime("%Y-%m-%d"),
        }
    )
    others = _GENERATOR.integers(3, size=_N)
    sets = [sorted({_CLASSES[a], _CLASSES[b]}) for a, b in zip(truth, others, strict=True)]
    return table, CandidateLabels.from_sets(sets)


TABLE, CANDIDATES = _table()
PLAN, *_ = plan_columns(TABLE)
VALUES = column_values(TABLE, PLAN)
QUICK_NETWORK = NCPDClassifier(hidden=8, epochs=4, ramp_epochs=2, random_state=0, device="cpu")
FILES = ["features.safetensors", "method.safetensors", "model.json"]
REFUSED = "is not a model folder that disambig can read: "
ESTIMATE = Estimate(
    covering_rate=0.9,
    blind_covering_rate=0.6,
    approximated_accuracy=0.8,
    n_rows=_N,
    n_folds=5,
    accuracy=Accuracy(share=0.5, low=0.25, high=0.75, n_rows=8),
)


def fitted(method):
    """Return a model of the small table; the method is a name, or one with parameters."""
    method = clone(INSTANCES[method]) if isinstance(method, str) else method
    return replace(fit_model(VALUES, CANDIDATES, PLAN, method), estimate=ESTIMATE)


@cache
def small_model(name) -> TableModel:
    """Return a model of one of the methods, fitted once; do not change it."""
    return fitted(QUICK_NETWORK if name == "ncpd" else name)


def description_in(folder):
    """Return what model.json says."""
    return json.loads((Path(folder) / "model.json").read_text())


def describe(folder, **entries):
    """Change what model.json says."""
    description = {**description_in(folder), **entries}
    (Path(folder) / "model.json").write_text(json.dumps(description))


def sign(folder):
    """Let model.json say that the files are what they are now."""
    names = description_in(folder)["files"]
    describe(
        folder,
        files={n: file_digest((Path(folder) / n).read_bytes(), "sha256") for n in names},
    )


def contents_of(path):
    """Return the arrays of a file, and what its header says."""
    with safe_open(path, framework="numpy") as file:
        description = json.loads(file.metadata()["disambig"])
        return {name: file.get_tensor(name) for name in file.keys()}, description  # noqa: SIM118


def rewrite(folder, name, arrays, description):
    """Put other content into a file of a model, and let model.json agree."""
    content = save(arrays, metadata={"disambig": json.dumps(description)})
    (Path(folder) / name).write_bytes(content)
    sign(folder)
