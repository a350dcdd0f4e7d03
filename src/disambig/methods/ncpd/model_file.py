"""A fitted classifier in one file: numbers and JSON, nothing that could run."""

import os
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from disambig._core.errors import ModelFileError, ParameterError
from disambig._core.typing import AnyArray
from disambig._version import __version__
from disambig.engine.device import ordinary_tensors
from disambig.engine.fast.stack import Stack
from disambig.engine.history import History
from disambig.engine.tensor_file import plain, read_tensors, write_tensors
from disambig.methods.ncpd.fitting import network_inputs
from disambig.methods.ncpd.networks import hidden_layers, make_networks, number_of_networks
from disambig.methods.scaling import FeatureScaler

if TYPE_CHECKING:
    from disambig.methods.ncpd.estimator import NCPDClassifier

__all__ = [
    "described",
    "kept_parameters",
    "named",
    "own_kind",
    "read_model",
    "rebuild",
    "rebuilt_parameters",
    "write_model",
]

_VERSION = 1
# Parameters that say how a fit is run, not what it gave; some of them are code.
_NOT_KEPT = (
    "callbacks", "checkpoint", "device", "early_stopping", "network", "validation"
)  # fmt: skip
_NETWORKS, _SCALER, _CONFIDENCE = "networks.", "scaler.", "confidence."

Method = TypeVar("Method", bound="NCPDClassifier")


def write_model(method: "NCPDClassifier", path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier."""
    confidence = sparse.csr_array(method.candidate_confidence_)
    tensors, description = method._described()
    write_tensors(
        path,
        method._file_kind,
        _VERSION,
        {
            **tensors,
            _CONFIDENCE + "data": _as_tensor(confidence.data),
            _CONFIDENCE + "indices": _as_tensor(confidence.indices),
            _CONFIDENCE + "indptr": _as_tensor(confidence.indptr),
        },
        {
            "disambig": __version__,
            "own_network": method._fitted_with["network"] is not None,
            "classes": _described_classes(method.classes_),
            "n_features": method.n_features_in_,
            "feature_names": _listed(getattr(method, "feature_names_in_", None)),
            **description,
        },
    )


def described(method: "NCPDClassifier") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return what one training has left behind: tensors by name, and the rest as JSON takes it."""
    kinds = method._scaling_kinds()
    tensors = {
        **{_NETWORKS + name: value for name, value in method._networks.state_dict().items()},
        **{_SCALER + name: _as_tensor(a) for name, a in method._scaler.to_arrays().items()},
    }
    return tensors, {
        "parameters": kept_parameters(method) | kinds,
        "history": method.history_.to_dict(),
    }


def kept_parameters(method: "NCPDClassifier") -> dict[str, Any]:
    """Return the parameters that a method was fitted with, as far as a file can hold them."""
    parameters = method._fitted_with.items()
    return {name: plain(value) for name, value in parameters if name not in _NOT_KEPT}


def own_kind(scaler: Any) -> str:
    """Return the kind of a scaler; refuse one that cannot be written to a file."""
    if not isinstance(scaler, FeatureScaler):
        raise ParameterError(
            "A model can be saved if its scaling is one of disambig's own, given by name or as a "
            f"FeatureScaler. Got {type(scaler).__name__}, which is code: scale the "
            "features yourself, fit with scaling='none', and save that."
        )
    return scaler.kind


def read_model(
    cls: type[Method],
    path: str | os.PathLike[str],
    *,
    device: str,
    network: Callable[[int, int], Any] | None,
) -> Method:
    """Return the classifier in a file, fitted."""
    # What is wrong with the call is not the fault of the file.
    cls(device=device, network=network)._check_parameters()
    tensors, description = read_tensors(path, cls._file_kind, _VERSION, finite=network is None)
    if description.get("own_network") and network is None:
        raise ParameterError(
            f"{os.fspath(path)!r} holds networks of your own making, and code is not kept in a "
            "file. Give the function that makes them: load(path, network=...)."
        )
    try:
        with ordinary_tensors():
            return _rebuilt(cls, tensors, description, device, network)
    except (
        AttributeError, KeyError, MemoryError, OverflowError, RuntimeError, TypeError, ValueError
    ) as error:  # fmt: skip
        raise ModelFileError(
            f"{os.fspath(path)!r} is no {cls._file_kind} that can be read: what it says does not "
            f"fit together ({error}). Write it again."
        ) from error


def _rebuilt(
    cls: type[Method],
    tensors: dict[str, Tensor],
    description: dict[str, Any],
    device: str,
    network: Callable[[int, int], Any] | None,
) -> Method:
    method = rebuilt_parameters(cls, description, device, network)
    method.classes_ = _rebuilt_classes(description["classes"])
    method.n_features_in_ = description["n_features"]
    if description["feature_names"] is not None:
        method.feature_names_in_ = np.array(description["feature_names"], dtype=object)
        if method.feature_names_in_.shape != (method.n_features_in_,):
            raise ValueError(f"{method.n_features_in_} features need as many names")
    method._rebuild(tensors, description)
    confidence = {name: value.numpy() for name, value in named(tensors, _CONFIDENCE).items()}
    parts = confidence["data"], confidence["indices"], confidence["indptr"]
    rows = len(confidence["indptr"]) - 1
    rebuilt = sparse.csr_array(parts, shape=(rows, len(method.classes_)))
    rebuilt.check_format(full_check=True)
    if (rebuilt.data < 0).any():
        raise ValueError("a confidence is negative")
    method.candidate_confidence_ = rebuilt
    return method


def rebuilt_parameters(
    cls: type[Method],
    description: dict[str, Any],
    device: str,
    network: Callable[[int, int], Any] | None,
) -> Method:
    """Return a classifier with the parameters in a description, not fitted."""
    parameters: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in description["parameters"].items()
        if name not in _NOT_KEPT
    }
    method = cls(**parameters, device=device, network=network)
    method._check_parameters()
    method._fitted_on_sparse = False
    method._fitted_with = method.get_params(deep=False)
    return method


def rebuild(
    method: "NCPDClassifier", tensors: dict[str, Tensor], description: dict[str, Any]
) -> None:
    """Give a classifier that knows its classes and features what ``described`` returned."""
    method.history_ = History(description["history"])
    scaler = {name: value.numpy() for name, value in named(tensors, _SCALER).items()}
    method._scaler = method._rebuilt_scaler(scaler)
    if method._scaler.n_features_in_ != method.n_features_in_:
        raise ValueError(f"{method.n_features_in_} features need as many scales")
    method._networks = _rebuilt_networks(method, named(tensors, _NETWORKS))


def _rebuilt_networks(method: "NCPDClassifier", state: dict[str, Tensor]) -> Stack:
    count = number_of_networks(method)
    n_inputs = network_inputs(method._scaler, np.zeros((1, method.n_features_in_))).shape[1]
    if method.network is None:
        # Before memory is taken for what the file says, it must be what the file holds.
        sizes = (n_inputs, *hidden_layers(method), len(method.classes_))
        expected = [(count, *ends) for ends in pairwise(sizes)]
        found = [tuple(v.shape) for name, v in state.items() if name.endswith(".weight")]
        if sorted(expected) != sorted(found):
            raise ValueError(f"weights of the shapes {expected} are needed, and there are {found}")
        if any((v < 0).any() for name, v in state.items() if name.endswith(".variance")):
            raise ValueError("a variance is negative")
    seeds = [0] * count
    networks = make_networks(method, n_inputs, len(method.classes_), seeds)
    networks.load_state_dict(state)
    return networks


def named(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _as_tensor(array: AnyArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def _described_classes(classes: AnyArray) -> dict[str, Any]:
    names = classes.tolist()
    unfit = next((n for n in names if not isinstance(n, str | int | float | bool)), None)
    if unfit is not None:
        raise ParameterError(
            "A model can be saved if its classes are texts, numbers or booleans. "
            f"Got {unfit!r}: rename the classes."
        )
    return {"type": classes.dtype.str, "names": names}


def _rebuilt_classes(description: dict[str, Any]) -> AnyArray:
    names, kind = description["names"], np.dtype(description["type"]).kind
    if len(set(names)) != len(names):
        raise ValueError("every class needs a name of its own")
    if kind == "U":
        return np.array(names, dtype=str)
    if kind == "O":
        classes = np.empty(len(names), dtype=object)
        classes[:] = names
        return classes
    if kind not in "iufb":
        raise ValueError(f"classes cannot be of the type {description['type']}")
    return np.array(names, dtype=description["type"])


def _listed(names: AnyArray | None) -> list[str] | None:
    return None if names is None else names.tolist()
