"""Save a fitted method as one file of arrays and JSON, and load it again.

A method declares once what it has learned: by attribute, the type and shape of an array. Writing,
reading and checking follow from that.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from disambig._core.array_file import plain, read_arrays, refused, write_arrays
from disambig._core.errors import ModelFileError, ParameterError
from disambig._core.typing import AnyArray
from disambig._version import __version__
from disambig.methods.scaling import FeatureScaler

MODEL_KIND = "model"
MODEL_VERSION = 2
_ENTRIES = {
    *("kind", "version", "disambig", "method", "parameters", "classes", "n_features"),
    *("feature_names", "sparse", "transposed"),
}
_CONFIDENCE = "confidence"
_CSR_PARTS = ("data", "indices", "indptr")
# Sums of probabilities are rounded, in doubles or in single precision.
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ArraySpec:
    """An array, dense or CSR: the kinds of its numbers, and the names of its dimensions.

    ``classes``, ``features`` and ``rows`` (of the training data) are known; a dimension of any
    other name has the same length wherever it is named.
    """

    kinds: str
    shape: tuple[str, ...]


@dataclass(frozen=True)
class PartSpec:
    """An object made of arrays, and what makes it from them."""

    make: Callable[..., Any]
    arrays: Mapping[str, ArraySpec]


SCALER = "scaler"  # a FeatureScaler, whose kind is the parameter "scaling"
Learned = Mapping[str, ArraySpec | PartSpec | str]


def array(*shape: str) -> ArraySpec:
    """Declare floating-point numbers; without dimensions, a single one."""
    return ArraySpec("f", shape)


def integers(*shape: str) -> ArraySpec:
    """Declare integers; without dimensions, a single one."""
    return ArraySpec("iu", shape)


def part(make: Callable[..., Any], **arrays: ArraySpec) -> PartSpec:
    """Declare an object by its arrays; ``make`` is called with them by name."""
    return PartSpec(make, arrays)


class SaveLoadMixin(BaseEstimator):
    """``save`` and ``load`` for a method that declares in ``_learned`` what it has learned."""

    card: ClassVar[Any]
    _learned: ClassVar[Learned | None] = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted method to one file, from which nothing is ever unpickled.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced.
        """
        check_is_fitted(self)
        if self._learned is None:
            raise ParameterError(
                f"{type(self).__name__} does not declare what it has learned, so it cannot be "
                "saved. Declare it in _learned, as disambig.methods.saving says."
            )
        kept = _Writer()
        kept.put(_CONFIDENCE, sparse.csr_array(self.candidate_confidence_))
        parameters = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        for name, spec in self._learned.items():
            value = getattr(self, name)
            if spec == SCALER:
                parameters["scaling"] = scaler_kind(value)
                kept.put_all(name, value.to_arrays())
            elif isinstance(spec, PartSpec):
                kept.put_all(name, {field: getattr(value, field) for field in spec.arrays})
            else:
                kept.put(name, value)
        description = self._description() | {
            "parameters": parameters,
            "sparse": self._fitted_on_sparse,
            "transposed": kept.transposed,
        }
        write_arrays(path, MODEL_KIND, MODEL_VERSION, kept.arrays, description)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the method that ``save`` wrote, fitted; a file of another method is refused.

        A ``random_state`` that was not an integer is not kept.

        Parameters
        ----------
        path : path
            The file. Nothing in it is run, whoever wrote it.
        """
        arrays, description = read_arrays(path, MODEL_KIND, MODEL_VERSION, entries=("method",))
        check_same_method(cls, path, description)
        try:
            if set(description) != _ENTRIES:
                raise ValueError(f"it must say {', '.join(sorted(_ENTRIES))}")
            model = cls(**description["parameters"])
            model._check_parameters()
            model._restore(arrays, description)
            model._check_probabilities()
        except Exception as error:  # what was changed by hand may make the parts raise anything
            reason = f"what it says does not fit together ({error})"
            raise refused(path, MODEL_KIND, reason) from error
        return model

    def _description(self) -> dict[str, Any]:
        """Return what the file of every method says."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "disambig": __version__,
            "method": self.card.name,
            "classes": _describe_classes(self.classes_),
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else names.tolist(),
        }

    def _restore_description(self, description: Mapping[str, Any]) -> None:
        """Take the classes and features that ``_description`` named."""
        self.classes_ = _rebuild_classes(description["classes"])
        self.n_features_in_ = description["n_features"]
        if description["feature_names"] is not None:
            self.feature_names_in_ = np.array(description["feature_names"], dtype=object)
            if self.feature_names_in_.shape != (self.n_features_in_,):
                raise ValueError(f"{self.n_features_in_} features need as many names")

    def _restore(self, arrays: Mapping[str, AnyArray], description: Mapping[str, Any]) -> None:
        """Take what a file holds; raise any exception where it does not fit together."""
        self._restore_description(description)
        self._fitted_on_sparse = bool(description["sparse"])
        kept = _Reader(arrays, description["transposed"])
        kept.sizes |= {"classes": len(self.classes_), "features": self.n_features_in_}
        confidence = kept.take(_CONFIDENCE, array("rows", "classes"))
        check_confidence(confidence)
        for name, spec in (self._learned or {}).items():
            if spec == SCALER:
                value: Any = FeatureScaler.from_arrays(self.scaling, kept.take_all(name))
                kept.check_size("features", value.n_features_in_)
            elif isinstance(spec, PartSpec):
                fields = spec.arrays.items()
                value = spec.make(**{one: kept.take(f"{name}.{one}", of) for one, of in fields})
            else:
                value = kept.take(name, spec)  # type: ignore[arg-type]
            setattr(self, name, value)
        if kept.left:
            raise ValueError(f"it has {', '.join(sorted(kept.left))} besides")
        self._after_load()
        self.candidate_confidence_ = confidence

    def _after_load(self) -> None:
        """Make what is not kept from what is, and check what is more than a shape."""

    def _check_probabilities(self) -> None:
        """Refuse a method that cannot predict, seen on two made-up rows."""
        rows = np.repeat([[0.0], [1.0]], self.n_features_in_, axis=1)
        probabilities = self._predict_proba(
            sparse.csr_array(rows) if self._fitted_on_sparse else rows
        )
        if probabilities.shape != (2, len(self.classes_)):
            raise ValueError("there must be one probability for each class")
        if not _are_distributions(probabilities):
            raise ValueError("its probabilities are negative or do not sum to one")


@dataclass
class _Writer:
    """Arrays by name. Those in column order are written transposed: the same bits need it."""

    arrays: dict[str, AnyArray] = field(default_factory=dict)
    transposed: list[str] = field(default_factory=list)

    def put(self, name: str, value: Any) -> None:
        if sparse.issparse(value):
            self.put_all(name, {one: getattr(value, one) for one in _CSR_PARTS})
            return
        array = np.asarray(value)
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            array = array.T
            self.transposed.append(name)
        self.arrays[name] = array

    def put_all(self, prefix: str, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.put(f"{prefix}.{name}", value)


class _Reader:
    """Arrays by name, each taken once, of the shapes that were declared."""

    def __init__(self, arrays: Mapping[str, AnyArray], transposed: list[str]) -> None:
        # Copied: numbers in the middle of a file may be added up in another order.
        self.left = {
            name: array.T.copy(order="F") if name in transposed else array.copy()
            for name, array in arrays.items()
        }
        self.sizes: dict[str, int] = {}

    def take(self, name: str, spec: ArraySpec) -> Any:
        """Return an array, dense or CSR as it was, or the number that an array of none holds."""
        if f"{name}.indptr" in self.left:
            rows, columns = spec.shape
            parts = {one: self.left.pop(f"{name}.{one}") for one in _CSR_PARTS}
            self.check_size(rows, len(parts["indptr"]) - 1)
            value = rebuild_csr(parts, self.sizes[columns])
            kind = value.dtype.kind
        else:
            value = self.left.pop(name)
            if value.ndim != len(spec.shape):
                raise ValueError(f"{name} must have {len(spec.shape)} dimensions")
            for dimension, size in zip(spec.shape, value.shape, strict=True):
                self.check_size(dimension, size, name)
            kind = value.dtype.kind
        if kind not in spec.kinds:
            raise ValueError(f"{name} is of the type {value.dtype}")
        return value if spec.shape else value.item()

    def take_all(self, prefix: str) -> dict[str, AnyArray]:
        """Return all arrays of one object."""
        names = [name for name in self.left if name.startswith(f"{prefix}.")]
        return {name.removeprefix(f"{prefix}."): self.left.pop(name) for name in names}

    def check_size(self, dimension: str, size: int, name: str = "one array") -> None:
        """Refuse another size than that of the same dimension elsewhere."""
        if self.sizes.setdefault(dimension, size) != size:
            raise ValueError(f"{name} has {size} {dimension}, not {self.sizes[dimension]}")


def check_confidence(confidence: Any) -> None:
    """Refuse what cannot be the confidences of candidates."""
    if not sparse.issparse(confidence) or not _are_distributions(confidence):
        raise ValueError("the confidences of a row are negative or do not sum to one")


def _are_distributions(rows: Any) -> bool:
    sums = np.asarray(rows.sum(axis=1))
    return bool(rows.min() >= 0 and np.abs(sums - 1).max() <= _TOLERANCE)


def check_same_method(
    cls: type, path: str | os.PathLike[str], description: Mapping[str, Any]
) -> None:
    """Refuse the file of another method than that of a class."""
    if description["method"] != cls.card.name:  # type: ignore[attr-defined]
        raise ModelFileError(
            f"{os.fspath(path)!r} holds a model of the method {description['method']!r}, and "
            f"{cls.__name__} reads those of {cls.card.name!r}. "  # type: ignore[attr-defined]
            f"Load it with the class that wrote it: get_method({description['method']!r})."
        )


def scaler_kind(scaler: Any) -> str:
    """Return the kind of a scaler; refuse one that cannot be written to a file."""
    if not isinstance(scaler, FeatureScaler):
        raise ParameterError(
            "A model can be saved if its scaling is one of disambig's own, given by name or as a "
            f"FeatureScaler. Got {type(scaler).__name__}, which is code: scale the "
            "features yourself, fit with scaling='none', and save that."
        )
    return scaler.kind


def _describe_classes(classes: AnyArray) -> dict[str, Any]:
    """Return classes as JSON can write them; refuse those that are neither names nor numbers."""
    names = classes.tolist()
    unfit = next((name for name in names if not isinstance(name, str | int | float | bool)), None)
    if unfit is not None:
        raise ParameterError(
            "A model can be saved if its classes are strings, numbers or booleans. "
            f"Got {unfit!r}: rename the classes."
        )
    return {"type": classes.dtype.str, "names": names}


def _rebuild_classes(description: Mapping[str, Any]) -> AnyArray:
    names, kind = description["names"], np.dtype(description["type"]).kind
    if len(set(names)) != len(names):
        raise ValueError("classes must have different names")
    if kind == "U":
        return np.array(names, dtype=str)
    if kind == "O":
        classes = np.empty(len(names), dtype=object)
        classes[:] = names
        return classes
    if kind not in "iufb":
        raise ValueError(f"classes cannot be of the type {description['type']}")
    return np.array(names, dtype=description["type"])


def rebuild_csr(parts: Mapping[str, AnyArray], n_columns: int) -> Any:
    """Return a CSR array from its three arrays, checked: a wrong index would leave the memory."""
    data, indices, indptr = (parts[name] for name in _CSR_PARTS)
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or (np.diff(indptr) < 0).any():
        raise ValueError("the indices of a sparse array are not in order")
    if len(indptr) < 1 or indptr[0] != 0 or not data.shape == indices.shape == (indptr[-1],):
        raise ValueError("a sparse array is longer or shorter than it says")
    rebuilt = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    rebuilt.check_format(full_check=True)
    return rebuilt
