"""Look through a skops archive before anything in it is made: only what is listed here may be.

skops has an audit of its own, which trusts every estimator of scikit-learn, every ufunc, and a type
on the caller's list in whatever role the file wants it: to be filled, called, or called with
arguments. Here a role and a type are allowed together or not at all, and the numbers are looked at
too: scikit-learn and SciPy follow indices without asking whether they lead out of an array.
"""

import importlib
import io
import json
from dataclasses import fields, is_dataclass
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from disambig._core.typing import AnyArray

__all__ = ["allowed_names", "check_archive"]

# What skops fills with attributes: besides the one object that is asked for, these parts of it.
_OBJECTS = frozenset({
    "disambig.methods.scaling.FeatureScaler",
    "disambig.solvers.crammer_singer.MarginMachine",
    "disambig.solvers.kernel_ridge.KernelModel",
    "disambig.solvers.linear_model.LinearModel",
    "disambig.tabular.columns.transformer.SeenRange",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.dummy.DummyClassifier",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._encoders.OneHotEncoder",
})  # fmt: skip
# Every other role (a function, a method, a partial, a reduced object...) has no place in a model.
_NAMES = {
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "SliceNode": {"builtins.slice"},
    "JsonNode": {"builtins.str"},
    "DTypeNode": {"numpy.dtype"},
    "SparseMatrixNode": {"scipy.sparse._csr.csr_array"},
    "NdArrayNode": {
        "numpy.ndarray", "numpy.float64", "numpy.float32", "numpy.int64", "numpy.int32",
        "numpy.bool", "numpy.bool_", "numpy.str_",
    },
    "TypeNode": {
        "builtins.bool", "builtins.float", "builtins.int", "builtins.str",
        "numpy.float32", "numpy.float64",
    },
}  # fmt: skip
_PROTOCOL = 2  # of skops; in older ones, other code reads the same words
_SCHEMA = "schema.json"
_OF_EVERY_NODE = {"__class__", "__module__", "__loader__", "__id__"}
_OF_THE_ROOT = {"protocol", "_skops_version"}
_SPARSE_MEMBERS = {"data.npy", "indices.npy", "indptr.npy", "shape.npy", "format.npy"}
_FLAG_OF_SPARSE_ARRAYS = "_is_array.npy"
# Sparse arrays are packed. Few are packed tighter than this, and then they are small.
_MOST_TIMES_THE_SIZE = 200
_NEVER_TOO_LARGE = 2**30


def allowed_names(expected: type) -> list[str]:
    """Return the names of all types that an archive with an object of one type may have."""
    return sorted({_name_of_type(expected), *_OBJECTS}.union(*_NAMES.values()))


def check_archive(content: bytes, expected: type, *, finite: bool) -> None:
    """Raise an exception, of whatever kind, unless an archive holds one object and allowed parts.

    Parameters
    ----------
    content : bytes
        The archive.
    expected : type
        Of the object.
    finite : bool
        Whether all its numbers must be finite.
    """
    with ZipFile(io.BytesIO(content)) as archive:
        _check_members(archive, len(content))
        root = json.loads(archive.read(_SCHEMA))
        if not isinstance(root, dict) or not set(root) >= _OF_THE_ROOT:
            raise ValueError("it was not written by skops")
        if type(root["protocol"]) is not int or root["protocol"] < _PROTOCOL:
            raise ValueError(f"it has the protocol {root['protocol']!r}, and {_PROTOCOL} is needed")
        if _name_of(root) != _name_of_type(expected):
            raise ValueError(f"it holds a {_name_of(root)}, and no {expected.__name__}")
        auditor = _Auditor(archive, _OBJECTS | {_name_of_type(expected)}, finite=finite)
        auditor.check({name: value for name, value in root.items() if name not in _OF_THE_ROOT})
        extra = set(archive.namelist()) - auditor.files - {_SCHEMA}
        if extra:
            raise ValueError(f"nothing in it uses its part {min(extra)!r}")


def _check_members(archive: ZipFile, size: int) -> None:
    members = archive.infolist()
    if len({member.filename for member in members}) != len(members):
        raise ValueError("it has a part twice")
    # Nothing in it is packed, so nothing can unpack to more than there is; nor be counted twice.
    packed = any(member.compress_type != ZIP_STORED for member in members)
    if packed or sum(member.file_size for member in members) > size:
        raise ValueError("its parts are larger than it is")


class _Auditor:
    """Follows the nodes of an archive as skops would."""

    def __init__(self, archive: ZipFile, objects: frozenset[str], *, finite: bool) -> None:
        self.files: set[str] = set()
        self._archive = archive
        self._names = {**_NAMES, "ObjectNode": objects}
        self._finite = finite
        self._seen: dict[int, tuple[str, str, int | None]] = {}
        self._checks = {
            "DictNode": self._check_dict,
            "ListNode": self._check_list,
            "TupleNode": self._check_list,
            "SliceNode": self._check_slice,
            "JsonNode": self._check_value,
            "TypeNode": self._check_type,
            "DTypeNode": self._check_dtype,
            "ObjectNode": self._check_object,
            "NdArrayNode": self._check_array,
            "SparseMatrixNode": self._check_sparse_array,
        }

    def check(self, node: Any, *, loader: str | None = None, owner: int | None = None) -> None:
        """Refuse a node that is not allowed, or whose parts are not.

        Parameters
        ----------
        node : dict
            The node.
        loader : str, optional
            The role that it must have.
        owner : int, optional
            Number of the node that it belongs to, where it has no meaning without.
        """
        name, role = _name_of(node), node["__loader__"]
        if name not in self._names.get(role, ()):
            raise ValueError(f"it names {name} as a {role}, which has no place in a model")
        if loader is not None and role != loader:
            raise ValueError(f"it has a {role} in the place of a {loader}")
        number = node["__id__"]
        if type(number) is not int or number <= 0:
            raise ValueError(f"it counts a part as {number!r}")
        # skops makes one object of all nodes of a number: each of them must do in any's place.
        if self._seen.setdefault(number, (name, role, owner)) != (name, role, owner):
            raise ValueError("it has two parts of the same number")
        self._checks[role](node)

    def _check_dict(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"content", "key_types"})
        self.check(node["key_types"], loader="ListNode", owner=node["__id__"])
        for key_type in node["key_types"]["content"]:
            self.check(key_type, loader="TypeNode")
        if len(node["key_types"]["content"]) != len(node["content"]):
            raise ValueError("it has keys without a type")
        for value in _dictionary(node["content"]).values():
            self.check(value)

    def _check_list(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"content"})
        for value in _list(node["content"]):
            self.check(value)

    def _check_slice(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"content"})
        ends = _dictionary(node["content"])
        if set(ends) != {"start", "stop", "step"}:
            raise ValueError("it has a slice without ends")
        if not all(value is None or type(value) is int for value in ends.values()):
            raise ValueError("it has a slice that is not made of whole numbers")

    def _check_value(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"content", "is_json"})
        if not isinstance(json.loads(node["content"]), str | int | float | None):
            raise ValueError("it hides a list in a value")

    def _check_type(self, node: dict[str, Any]) -> None:
        _check_entries(node, set())

    def _check_dtype(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"content"})
        self.check(node["content"], loader="NdArrayNode")

    def _check_object(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"content"})
        self.check(node["content"], loader="DictNode", owner=node["__id__"])
        kind = _type_named(_name_of(node))
        for attribute in node["content"]["content"]:
            if _is_of_the_class(kind, attribute):
                raise ValueError(f"it replaces {attribute} of {kind.__name__}")

    def _check_array(self, node: dict[str, Any]) -> None:
        if node.get("type") == "json":
            _check_entries(node, {"type", "content", "shape"})
            self.check(node["shape"], loader="TupleNode")
            for value in _list(node["content"]):
                self.check(value)
        else:
            _check_entries(node, {"type", "file"})
            if self._is_new_file(node, "numpy", ".npy"):
                self._check_numbers(_array_in(self._archive.read(node["file"])))

    def _check_sparse_array(self, node: dict[str, Any]) -> None:
        _check_entries(node, {"type", "file"})
        if self._is_new_file(node, "scipy", ".npz"):
            self._check_numbers(_sparse_array_in(self._archive.read(node["file"])).data)

    def _is_new_file(self, node: dict[str, Any], kind: str, suffix: str) -> bool:
        # Named after its node, no file is read by skops more than once.
        name = f"{node['__id__']}{suffix}"
        if node["type"] != kind or node["file"] != name:
            raise ValueError(f"it has a part {node['file']!r} in the place of {name!r}")
        is_new = name not in self.files
        self.files.add(name)
        return is_new

    def _check_numbers(self, array: AnyArray) -> None:
        if self._finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("it holds numbers that are not finite")


def _name_of(node: Any) -> str:
    return f"{_dictionary(node)['__module__']}.{node['__class__']}"


def _name_of_type(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _type_named(name: str) -> type:
    """Return a type; only what is allowed comes here."""
    module, _, own_name = name.rpartition(".")
    kind: type = getattr(importlib.import_module(module), own_name)
    return kind


def _is_of_the_class(kind: type, attribute: str) -> bool:
    """Tell whether a class has an attribute that no instance of it has for itself."""
    if not hasattr(kind, attribute):
        return attribute.startswith("__")
    if is_dataclass(kind):
        return attribute not in {field.name for field in fields(kind)}
    # Classes of scikit-learn may have defaults of attributes, but no methods that are replaced.
    return kind.__module__.startswith("disambig.") or callable(getattr(kind, attribute))


def _check_entries(node: dict[str, Any], entries: set[str]) -> None:
    if set(node) != _OF_EVERY_NODE | entries:
        raise ValueError(f"its {node['__loader__']} is not made as skops makes one")


def _dictionary(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it has a value in the place of a node")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("it has a value in the place of a list")
    return value


def _array_in(content: bytes, kinds: str = "biufU") -> AnyArray:
    """Return an array from the content of a .npy file, which must be just as long as it says."""
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = readers[version](file)
    if dtype.hasobject or dtype.kind not in kinds:
        raise ValueError(f"it holds an array of the type {dtype}")
    count = 1
    for length in shape:  # in whole numbers of any size, which do not overflow
        count *= length
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - file.tell():
        raise ValueError("it holds an array that is longer or shorter than it says")
    array: AnyArray = np.load(io.BytesIO(content), allow_pickle=False)
    return array


def _sparse_array_in(content: bytes) -> "sparse.csr_array":
    with ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        names = sorted(member.filename for member in members)
        if names != sorted(_SPARSE_MEMBERS | {_FLAG_OF_SPARSE_ARRAYS}):
            raise ValueError("it holds a sparse array without its parts")
        if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
            raise ValueError("it holds a sparse array that is packed in an unusual way")
        unpacked = sum(member.file_size for member in members)
        if unpacked > max(_NEVER_TOO_LARGE, _MOST_TIMES_THE_SIZE * len(content)):
            raise ValueError(f"it holds a sparse array that would unpack to {unpacked:,} bytes")
        arrays = {name: _array_in(archive.read(name), kinds="biufS") for name in names}
    if arrays["format.npy"].item() != b"csr" or not arrays[_FLAG_OF_SPARSE_ARRAYS].item():
        raise ValueError("it holds a sparse array that is not in rows")
    array = sparse.csr_array(
        (arrays["data.npy"], arrays["indices.npy"], arrays["indptr.npy"]),
        shape=arrays["shape.npy"].tolist(),
    )
    array.check_format(full_check=True)
    return array
