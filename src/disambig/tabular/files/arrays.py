"""MATLAB and NumPy files: features, candidate sets and true labels as arrays."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple, TypeVar
from zipfile import ZipFile

import numpy as np
from scipy import sparse

from disambig._core.errors import (
    CandidateError,
    DatasetFormatError,
    DisambigError,
    describe_rows,
)
from disambig._core.messages import join_names
from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.checks import first_repeated
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.mat_bytes import MatFileError
from disambig.tabular.files.mat_format import NewerMatFileError, Variable, find_variables
from disambig.tabular.files.npz_format import ArrayMember, find_members, read_header

_Found = TypeVar("_Found")


class _Part(NamedTuple):
    """An array that is used, and the memory it takes at most on its way into a dataset."""

    is_needed: bool
    copies: int  # of what is in the file
    each: int  # bytes for each of its values, besides


_FEATURES = _Part(is_needed=True, copies=1, each=9)
_SETS = _Part(is_needed=True, copies=2, each=4)
_LIST = _Part(is_needed=False, copies=2, each=150)
_IN_MAT = {
    "data": _FEATURES,
    "partial_target": _SETS,
    "target": _SETS._replace(is_needed=False),
    "groups": _LIST,
}
_LISTS = ("classes", "true_labels", "feature_names", "groups")
_IN_NPZ = {
    "X": _FEATURES,
    "candidates": _SETS._replace(is_needed=False),
    "weights": _Part(is_needed=False, copies=1, each=100),
    **dict.fromkeys(_LISTS, _LIST),
}
_SPARSE_COPIES = 10
_EACH_COLUMN = 200  # bytes, for the name of a label or a feature


def read_mat(source: FileContent) -> PartialLabelDataset:
    """Read a ``.mat`` file (MATLAB 4 to 7.2); the classes are 0 to c - 1."""
    with source.open() as stream, _reading_mat(source.name):
        found = ((variable.name, variable) for variable in find_variables(stream, source.size))
        variables = _select(found, _IN_MAT, source.name)
        _check_variables(variables, source)
        content = {name: variable.read(stream) for name, variable in variables.items()}
    X = as_features(content["data"], source.name)
    with _naming("partial_target", source.name):
        candidates = CandidateLabels.from_mask(content["partial_target"].T)
    if "groups" in content:
        candidates = _with_groups(candidates, content["groups"], source.name)
    true_labels = None
    if "target" in content:
        true_labels = _read_truth(content["target"].T, candidates, source.name)
    return PartialLabelDataset(
        name=source.stem,
        X=X,
        candidates=candidates,
        true_labels=true_labels,
        feature_names=_numbered_names(X),
    )


def read_npz(source: FileContent) -> PartialLabelDataset:
    """Read an ``.npz`` file; arrays of Python objects are refused, so no code in it can run.

    Without candidate sets, each is the true label alone.
    """
    with source.open() as stream, _reading_npz(source.name), ZipFile(stream) as archive:
        infos = _select(find_members(archive), _IN_NPZ, source.name)
        _check_labels(infos, source.name)
        members = [read_header(archive, name, info) for name, info in infos.items()]
        _check_members(members, source)
        content = {member.name: member.read(archive) for member in members}
    for name in _LISTS:
        if name in content:
            _check_text(content[name], name, source.name)
    X = as_features(content["X"], source.name)
    if "candidates" in content:
        with _naming("candidates", source.name):
            candidates = CandidateLabels.from_mask(
                content["candidates"], content.get("classes"), weights=content.get("weights")
            )
    else:
        with _naming("true_labels", source.name):
            candidates = CandidateLabels.from_labels(
                content["true_labels"], classes=content.get("classes")
            )
    if "groups" in content:
        candidates = _with_groups(candidates, content["groups"], source.name)
    return PartialLabelDataset(
        name=source.stem,
        X=X,
        candidates=candidates,
        true_labels=content.get("true_labels"),
        feature_names=[str(name) for name in content.get("feature_names", _numbered_names(X))],
    )


def as_features(matrix: Any, name: str) -> FloatArray:
    """Return a dense array of finite floats with at least one row and one column.

    ``name`` is what messages call the file.
    """
    dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    _check_shape_of_features(dense.shape, name)
    if dense.dtype.kind not in "biuf":
        raise DatasetFormatError(
            f"The features in {name} need to be numbers. Got the type {dense.dtype}."
        )
    features = np.ascontiguousarray(dense, dtype=np.float64)
    bad = np.asarray(~np.isfinite(features).all(axis=1))
    if bad.any():
        raise DatasetFormatError(
            f"The features in {name} need to be finite. They are missing or infinite in "
            f"{describe_rows(bad)}. Fill them in, or drop those rows."
        )
    return features


def _check_shape_of_features(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2 or 0 in shape:
        raise DatasetFormatError(
            f"The features in {name} need to be a matrix with at least one row and one column. "
            f"Got the shape {shape}."
        )


def _numbered_names(X: FloatArray) -> list[str]:
    return [f"x{column}" for column in range(X.shape[1])]


@contextmanager
def _reading_mat(file: str) -> Iterator[None]:
    try:
        yield
    except NewerMatFileError:
        raise DatasetFormatError(
            f"{file} is a MATLAB 7.3 file. Save it in MATLAB by save(name, ..., '-v7')."
        ) from None
    except (MatFileError, zlib.error) as error:
        raise DatasetFormatError(f"{file} is damaged or not a MATLAB file: {error}.") from error


@contextmanager
def _reading_npz(file: str) -> Iterator[None]:
    try:
        yield
    except (DisambigError, MemoryError):
        raise
    except Exception as error:  # damaged archives make Python and NumPy raise anything
        raise DatasetFormatError(
            f"{file} is damaged, not a NumPy archive, or holds Python objects, which are never "
            f"loaded: {error}. Save plain arrays by numpy.savez_compressed."
        ) from error


@contextmanager
def _naming(array: str, file: str) -> Iterator[None]:
    """Name the array and the file in an error about candidate sets."""
    try:
        yield
    except CandidateError as error:
        raise DatasetFormatError(f"{array!r} in {file}: {error}") from error


def _select(
    found: Iterable[tuple[str, _Found]], parts: Mapping[str, _Part], file: str
) -> dict[str, _Found]:
    """Return the arrays that are used; refuse a file that lacks one, or has one twice."""
    arrays = list(found)
    names = [name for name, _ in arrays]
    needed = [name for name, part in parts.items() if part.is_needed]
    if not set(needed) <= set(names):
        raise DatasetFormatError(
            f"{file} needs arrays {' and '.join(map(repr, needed))}. "
            f"It holds {join_names(names) or 'nothing'}."
        )
    repeated = first_repeated(name for name in names if name in parts)
    if repeated is not None:
        raise DatasetFormatError(
            f"{file} needs every array once. It holds {repeated!r} more often. Save it again."
        )
    return {name: array for name, array in arrays if name in parts}


def _check_labels(names: Iterable[str], file: str) -> None:
    """Refuse arrays that have neither candidate sets nor true labels to make them of."""
    known = list(names)
    if "candidates" in known or ("true_labels" in known and "weights" not in known):
        return
    raise DatasetFormatError(
        f"{file} needs an array 'candidates', or 'true_labels' to make candidate sets of. "
        f"It holds {join_names(known)}."
    )


def _check_variables(variables: Mapping[str, Variable], source: FileContent) -> None:
    """Refuse, before they are read, variables that do not fit or take too much memory."""
    for name, variable in variables.items():
        if variable.kind not in ("numbers", "sparse numbers"):
            raise DatasetFormatError(
                f"{name!r} in {source.name} needs to be a matrix of numbers. It is {variable.kind}."
            )
    _check_shape_of_features(variables["data"].shape, source.name)
    n_samples, n_features = variables["data"].shape
    needed = _EACH_COLUMN * (variables["partial_target"].shape[0] + n_features)
    for name, variable in variables.items():
        if name == "groups":
            _check_shape_of_groups(variable.shape, n_samples, source.name)
        elif name != "data" and (len(variable.shape) != 2 or variable.shape[1] != n_samples):
            raise DatasetFormatError(
                f"{name!r} in {source.name} needs one column for each of the {n_samples} rows of "
                f"'data', and one row for each label. Got the shape {variable.shape}."
            )
        copies, each = _IN_MAT[name][1:]
        if variable.kind == "sparse numbers":
            copies, each = _SPARSE_COPIES, each if name == "data" else 0
        needed += copies * variable.nbytes + each * _count(variable.shape)
    source.check_memory(needed, "The matrices")


def _check_members(members: Iterable[ArrayMember], source: FileContent) -> None:
    """Refuse, before they are read, lists of another shape and arrays that take too much memory."""
    needed = 0
    for member in members:
        if member.name in _LISTS and len(member.shape) != 1:
            raise DatasetFormatError(
                f"{member.name!r} in {source.name} needs to have one dimension. "
                f"Got the shape {member.shape}."
            )
        part = _IN_NPZ[member.name]
        each = part.copies * member.dtype.itemsize + part.each
        needed += each * _count(member.shape) + _EACH_COLUMN * _count(member.shape[1:])
    source.check_memory(needed, "The arrays")


def _check_shape_of_groups(shape: tuple[int, ...], n_samples: int, file: str) -> None:
    if sorted(shape) != sorted((1, n_samples)):
        raise DatasetFormatError(
            f"'groups' in {file} needs the number of a group for each of the {n_samples} rows of "
            f"'data', in one row or column. Got the shape {shape}. Correct it, or rename the array "
            "if it means something else."
        )


def _count(shape: tuple[int, ...]) -> int:
    """Count values, zero lengths as one: a matrix may have no columns and very many rows."""
    return prod(max(length, 1) for length in shape)


def _check_text(array: AnyArray, name: str, file: str) -> None:
    """Refuse text that is not Unicode, and cannot be written or shown."""
    if array.dtype.kind != "U" or not array.size:
        return
    codes = array.view(np.dtype("u4").newbyteorder(array.dtype.byteorder)).reshape(len(array), -1)
    bad = (codes >= 0xD800) & (codes <= 0xDFFF) | (codes > 0x10FFFF)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DatasetFormatError(
            f"{name!r} in {file} needs to be text. Its entry {row} has U+{codes[row, column]:04X} "
            f"at position {column}, which is not a character. Correct it."
        )


def _with_groups(candidates: CandidateLabels, groups: Any, file: str) -> CandidateLabels:
    """Return the sets with the groups of their samples."""
    dense = groups.toarray() if sparse.issparse(groups) else groups
    with _naming("groups", file):
        return candidates.with_groups(dense.ravel())


def _read_truth(truth: Any, candidates: CandidateLabels, file: str) -> AnyArray:
    if truth.shape != candidates.shape:
        raise DatasetFormatError(
            f"'target' in {file} needs as many rows as 'partial_target', one for each label, "
            f"{candidates.shape[1]}. Got {truth.shape[1]}."
        )
    with _naming("target", file):
        labels = CandidateLabels.from_mask(truth)
    several = labels.sizes > 1
    if several.any():
        raise DatasetFormatError(
            f"'target' in {file} needs one true label a sample. "
            f"Got more for {describe_rows(several)}."
        )
    _, columns = labels.pairs()
    return np.asarray(columns, dtype=np.int64)
