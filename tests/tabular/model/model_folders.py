"""What the tests of model folders share: small models, and folders with another content."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from disambig import CandidateLabels
from disambig._core.fingerprint import file_digest
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import column_values
from disambig.tabular.estimate import Accuracy, Estimate
from disambig.tabular.model.table_model import TableModel, fit_model
from methods.instances import INSTANCES

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
PLAN, _ = plan_columns(TABLE)
VALUES = column_values(TABLE, PLAN)
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
    model = fit_model(VALUES, CANDIDATES, PLAN, method)
    return TableModel(model.plan, model.transformer, model.method, ESTIMATE)


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


def members_of(path):
    """Return the parts of a skops file by name; the schema as objects."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def write_members(path, schema, members, compression=zipfile.ZIP_STORED):
    """Write a skops file of whatever parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(
            "schema.json", schema if isinstance(schema, str | bytes) else json.dumps(schema)
        )
    Path(path).write_bytes(buffer.getvalue())


def nodes_in(schema):
    """Yield every node of a schema, and every dictionary that looks like one."""
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for value in schema.values():
            yield from nodes_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes_in(value)


def attributes_of(node):
    """Return the attributes of an object in a schema."""
    return node["content"]["content"]


def value_node(value, number=999_999_999):
    """Return the node of a number or a text."""
    return {
        "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
        "content": json.dumps(value), "is_json": True, "__id__": number,
    }  # fmt: skip
