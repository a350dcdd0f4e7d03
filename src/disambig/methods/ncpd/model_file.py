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
from disambig.engine.history import History
from disambig.engine.stack import Stack
from disambig.engine.tensor_file import plain, read_tensors, write_tensors
from disambig.methods.ncpd.networks import hidden_layers, make_networks, number_of_networks
from disambig.methods.scaling import FeatureScaler

if TYPE_CHECKING:
    from disambig.methods.ncpd.estimator import NCPDClassifier

__all__ = ["read_model", "write_model"]

_KIND = "NCPD model"
_VERSION = 1
# Parameters that say how a fit is run, not what it gave; some of them are code.
_NOT_KEPT = (
    "callbacks", "checkpoint", "device", "early_stopping", "network", "validation"
)  # fmt: skip
_NETWORKS, _SCALER, _CONFIDENCE = "networks.", "scaler.", "confidence."

Method = TypeVar("Method", bound="NCPDClassifier")


def write_model(method: "NCPDClassifier", path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier."""
    if not isinstance(method._scaler, FeatureScaler):
        raise ParameterError(
            "A model can be saved if its scaling is one of disambig's own, given by name or as a "
            f"FeatureScaler. Got {type(method._scaler).__name__}, which is code: scale the "
            "features yourself, fit with scaling='none', and save that."
        )
    parameters = method._fitted_with
    kept = {name: plain(value) for name, value in parameters.items() if name not in _NOT_KEPT}
    confidence = sparse.csr_array(method.candidate_confidence_)
    arrays = {
        **{_SCALER + name: value for name, value in method._scaler.to_arrays().items()},
        _CONFIDENCE + "data": confidence.data,
        _CONFIDENCE + "indices": confidence.indices,
        _CONFIDENCE + "indptr": confidence.indptr,
    }
    networks = method._networks.state_dict()
    write_tensors(
        path,
        _KIND,
        _VERSION,
        {
            **{_NETWORKS + name: value for name, value in networks.items()},
            **{name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()},
        },
        {
            "disambig": __version__,
            "parameters": {**kept, "scaling": method._scaler.kind},
            "own_network": parameters["network"] is not None,
            "classes": _described_classes(method.classes_),
            "n_features": method.n_features_in_,
            "feature_names": _listed(getattr(method, "feature_names_in_", None)),
            "history": method.history_.to_dict(),
        },
    )


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
    tensors, description = read_tensors(path, _KIND, _VERSION, finite=network is None)
    if description.get("own_network") and network is None:
        raise ParameterError(
            f"{os.fspath(path)!r} holds networks of your own making, and code is not kept in a "
            "file. Give the function that makes them: load(path, network=...)."
        )
    try:
        with ordinary_tensors():
            return _rebuilt(cls, tensors, description, device, network)
    except (
        AttributeError, KeyError, MemoryError, RuntimeError, TypeError, ValueError
    ) as error:  # fmt: skip
        raise ModelFileError(
            f"{os.fspath(path)!r} is no {_KIND} that can be read: what it says does not fit "
            f"together ({error}). Write it again."
        ) from error


def _rebuilt(
    cls: type[Method],
    tensors: dict[str, Tensor],
    description: dict[str, Any],
    device: str,
    network: Callable[[int, int], Any] | None,
) -> Method:
    parameters: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in description["parameters"].items()
        if name not in _NOT_KEPT
    }
    method = cls(**parameters, device=device, network=network)
    method._check_parameters()
    method.classes_ = _rebuilt_classes(description["classes"])
    method.n_features_in_ = description["n_features"]
    if description["feature_names"] is not None:
        method.feature_names_in_ = np.array(description["feature_names"], dtype=object)
        if method.feature_names_in_.shape != (method.n_features_in_,):
            raise ValueError(f"{method.n_features_in_} features need as many names")
    method.history_ = History(description["history"])
    method._fitted_on_sparse = False
    method._fitted_with = method.get_params(deep=False)
    scaler = {name: value.numpy() for name, value in _named(tensors, _SCALER).items()}
    method._scaler = FeatureScaler.from_arrays(method.scaling, scaler)
    if method._scaler.n_features_in_ != method.n_features_in_:
        raise ValueError(f"{method.n_features_in_} features need as many scales")
    method._networks = _rebuilt_networks(method, _named(tensors, _NETWORKS))
    confidence = {name: value.numpy() for name, value in _named(tensors, _CONFIDENCE).items()}
    parts = confidence["data"], confidence["indices"], confidence["indptr"]
    rows = len(confidence["indptr"]) - 1
    rebuilt = sparse.csr_array(parts, shape=(rows, len(method.classes_)))
    rebuilt.check_format(full_check=True)
    if (rebuilt.data < 0).any():
        raise ValueError("a confidence is negative")
    method.candidate_confidence_ = rebuilt
    return method


def _rebuilt_networks(method: "NCPDClassifier", state: dict[str, Tensor]) -> Stack:
    count = number_of_networks(method)
    if method.network is None:
        # Before memory is taken for what the file says, it must be what the file holds.
        sizes = (method.n_features_in_, *hidden_layers(method), len(method.classes_))
        expected = [(count, *ends) for ends in pairwise(sizes)]
        found = [tuple(v.shape) for name, v in state.items() if name.endswith(".weight")]
        if sorted(expected) != sorted(found):
            raise ValueError(f"weights of the shapes {expected} are needed, and there are {found}")
        if any((v < 0).any() for name, v in state.items() if name.endswith(".variance")):
            raise ValueError("a variance is negative")
    seeds = [0] * count
    networks = make_networks(method, method.n_features_in_, len(method.classes_), seeds)
    networks.load_state_dict(state)
    return networks


def _named(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


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
