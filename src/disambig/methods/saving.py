"""Save a fitted method as one file of arrays and JSON, and load it again.

A method declares once what it has learned: by attribute, the type and shape of an array. Writing,
reading and checking follow from that.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from disambig._core.array_file import (
    MODEL_KIND,
    MODEL_VERSION,
    plain,
    read_arrays,
    refused,
    take_part,
    write_arrays,
)
from disambig._core.errors import ModelFileError, ParameterError
from disambig._core.typing import AnyArray
from disambig._version import __version__
from disambig.methods.scaling import FeatureScaler

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
    _framework: ClassVar[Literal["numpy", "torch"]] = "numpy"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted method to one file. Loading it never unpickles anything.

        Parameters
        ----------
        path : path
            The file to write; an existing file is replaced.
        """
        check_is_fitted(self)
        arrays, description = self._to_arrays()
        arrays |= _flat(_CONFIDENCE, sparse.csr_array(self.candidate_confidence_))
        names = getattr(self, "feature_names_in_", None)
        description |= {
            "disambig": __version__,
            "method": self.card.name,
            "classes": _describe_classes(self.classes_),
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else names.tolist(),
        }
        write_arrays(
            path, MODEL_KIND, MODEL_VERSION, arrays, description, framework=self._framework
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a fitted method that ``save`` wrote; a file of another method is refused.

        A ``random_state`` that was not an integer is not kept.

        Parameters
        ----------
        path : path
            The file. No code in it is run, so files from others are safe to load.
        """
        return cls._rebuilt(path, *cls._read(path))

    @classmethod
    def _read(
        cls, path: str | os.PathLike[str], *, finite: bool = True
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a file of this method holds: arrays by name, and a description."""
        arrays, description = read_arrays(
            path,
            MODEL_KIND,
            MODEL_VERSION,
            entries=("method",),
            framework=cls._framework,
            finite=finite,
        )
        method = description["method"]
        if method != cls.card.name:
            raise ModelFileError(
                f"{os.fspath(path)!r} holds a model of the method {method!r}, and {cls.__name__} "
                f"reads those of {cls.card.name!r}. Load it with the class that wrote it: "
                f"get_method({method!r})."
            )
        return arrays, description

    @classmethod
    def _rebuilt(
        cls,
        path: str | os.PathLike[str],
        arrays: dict[str, Any],
        description: Mapping[str, Any],
        **given: Any,
    ) -> Self:
        """Return the fitted method in a file, with given parameters besides those in the file."""
        try:
            model = cls._with_parameters(description["parameters"], **given)
            model.classes_ = _rebuild_classes(description["classes"])
            model.n_features_in_ = description["n_features"]
            if description["feature_names"] is not None:
                model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
                if model.feature_names_in_.shape != (model.n_features_in_,):
                    raise ValueError(f"{model.n_features_in_} features need as many names")
            confidence = _rebuild_csr(take_part(arrays, _CONFIDENCE), len(model.classes_))
            if confidence.dtype.kind != "f" or not _are_distributions(confidence):
                raise ValueError("the confidences of a row are negative or do not sum to one")
            model.candidate_confidence_ = confidence
            model._from_arrays(arrays, description)
        except Exception as error:  # what was changed by hand may make the parts raise anything
            reason = f"what it says does not fit together ({error})"
            raise refused(path, MODEL_KIND, reason) from error
        return model

    @classmethod
    def _with_parameters(cls, parameters: Mapping[str, Any], **given: Any) -> Self:
        """Return a method with parameters from a file, not fitted."""
        by_class = parameters.get("class_weight")
        if isinstance(by_class, list | tuple):
            parameters = {**parameters, "class_weight": dict(by_class)}
        model = cls(**parameters)
        # As attributes, because a subclass may have fewer parameters.
        model.__dict__.update(given)
        model._check_parameters()
        return model

    def _to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what was learned, arrays by name, and parameters and the like as JSON."""
        if self._learned is None:
            raise ParameterError(
                f"{type(self).__name__} does not declare what it has learned, so it cannot be "
                "saved. Declare it in _learned, as disambig.methods.saving says."
            )
        parameters = plain_parameters(self.get_params(deep=False))
        arrays: dict[str, Any] = {}
        for name, spec in self._learned.items():
            value = getattr(self, name)
            parts: Mapping[str, Any] = {}
            if isinstance(spec, ArraySpec):
                arrays |= _flat(name, value)
            elif isinstance(spec, PartSpec):
                parts = {field: getattr(value, field) for field in spec.arrays}
            else:
                parameters["scaling"] = scaler_kind(value)
                parts = value.to_arrays()
            for field, part in parts.items():
                arrays |= _flat(f"{name}.{field}", part)
        # Those in column order are written transposed: the same bits need it.
        transposed = [name for name, array in arrays.items() if _is_in_column_order(array)]
        arrays |= {name: arrays[name].T for name in transposed}
        return arrays, {
            "parameters": parameters,
            "sparse": self._fitted_on_sparse,
            "transposed": transposed,
        }

    def _from_arrays(self, arrays: dict[str, Any], description: Mapping[str, Any]) -> None:
        """Take what ``_to_arrays`` returned, or raise any exception where it does not fit."""
        self._fitted_on_sparse = bool(description["sparse"])
        kept = _Reader(arrays, description["transposed"])
        n_rows, n_classes = self.candidate_confidence_.shape
        kept.sizes |= {"rows": n_rows, "classes": n_classes, "features": self.n_features_in_}
        for name, spec in (self._learned or {}).items():
            if isinstance(spec, ArraySpec):
                value = kept.take(name, spec)
            elif isinstance(spec, PartSpec):
                fields = spec.arrays.items()
                value = spec.make(**{one: kept.take(f"{name}.{one}", of) for one, of in fields})
            else:
                value = FeatureScaler.from_arrays(self.scaling, take_part(kept.left, name))
                kept.check_size("features", value.n_features_in_)
            setattr(self, name, value)
        if kept.left:
            raise ValueError(f"it has {', '.join(sorted(kept.left))} besides")
        self._after_load()
        # Refuse a method that cannot predict, seen on two made-up rows.
        rows = np.repeat([[0.0], [1.0]], self.n_features_in_, axis=1)
        probabilities = self._predict_proba(
            sparse.csr_array(rows) if self._fitted_on_sparse else rows
        )
        if probabilities.shape != (2, n_classes):
            raise ValueError("there must be one probability for each class")
        if not _are_distributions(probabilities):
            raise ValueError("its probabilities are negative or do not sum to one")

    def _after_load(self) -> None:
        """Make what is not kept from what is, and check what is more than a shape."""


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
            value = _rebuild_csr(take_part(self.left, name), self.sizes[columns])
            self.check_size(rows, value.shape[0], name)
        else:
            value = self.left.pop(name)
            if value.ndim != len(spec.shape):
                raise ValueError(f"{name} must have {len(spec.shape)} dimensions")
            for dimension, size in zip(spec.shape, value.shape, strict=True):
                self.check_size(dimension, size, name)
        if value.dtype.kind not in spec.kinds:
            raise ValueError(f"{name} is of the type {value.dtype}")
        return value if spec.shape else value.item()

    def check_size(self, dimension: str, size: int, name: str = "the scaler") -> None:
        """Refuse another size than that of the same dimension elsewhere."""
        if self.sizes.setdefault(dimension, size) != size:
            raise ValueError(f"{name} has {size} {dimension}, not {self.sizes[dimension]}")


def _flat(name: str, value: Any) -> dict[str, AnyArray]:
    """Return an array or a number by its name, or the three arrays that a CSR array is made of."""
    if sparse.issparse(value):
        return {f"{name}.{part}": getattr(value, part) for part in _CSR_PARTS}
    return {name: np.asarray(value)}


def _is_in_column_order(array: AnyArray) -> bool:
    return array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous


def _are_distributions(rows: Any) -> bool:
    sums = np.asarray(rows.sum(axis=1))
    return bool(rows.min() >= 0 and np.abs(sums - 1).max() <= _TOLERANCE)


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON can write them.

    Weights by class as pairs, because labels may be numbers and names in JSON are strings.
    """
    return {
        name: plain(list(value.items()) if isinstance(value, Mapping) else value)
        for name, value in parameters.items()
    }


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


def _rebuild_csr(parts: Mapping[str, Any], n_columns: int) -> Any:
    """Return a CSR array from its three arrays, checked: a wrong index would leave the memory."""
    data, indices, indptr = (np.asarray(parts[name]) for name in _CSR_PARTS)
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or (np.diff(indptr) < 0).any():
        raise ValueError("the indices of a sparse array are not in order")
    if len(indptr) < 1 or indptr[0] != 0 or not data.shape == indices.shape == (indptr[-1],):
        raise ValueError("a sparse array is longer or shorter than it says")
    rebuilt = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    rebuilt.check_format(full_check=True)
    return rebuilt
