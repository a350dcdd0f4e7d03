"""Predict by saved networks in NumPy: the probabilities of torch, without its import."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import erf, expit, softmax

from disambig._core.array_file import MODEL_KIND, MODEL_VERSION, read_arrays, take_part
from disambig._core.errors import ModelFileError
from disambig._core.typing import AnyArray, FloatArray
from disambig.methods.feature_scales import LARGEST_INPUT, FeatureScale

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

_ROWS_AT_A_TIME = 8192
# Added to the variance of a unit before it is divided by, as in training.
_EPSILON = np.float32(1e-5)


def _relu(x: AnyArray) -> AnyArray:
    active: AnyArray = np.maximum(x, 0)
    return active


def _mish(x: AnyArray) -> AnyArray:
    active: AnyArray = x * np.tanh(np.logaddexp(x, np.float32(0)))
    return active


def _gelu(x: AnyArray) -> AnyArray:
    active: AnyArray = np.float32(0.5) * x * (1 + erf(x * np.float32(0.5**0.5)))
    return active


# Those of the engine, in single precision.
_ACTIVATIONS: dict[str, Callable[[AnyArray], AnyArray]] = {
    "relu": _relu,
    "gelu": _gelu,
    "mish": _mish,
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
}


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of networks side by side: ``(inputs - mean) @ weight * gamma + bias`` in each."""

    weight: AnyArray  # (networks, inputs, outputs)
    bias: AnyArray  # (networks, 1, outputs)
    mean: AnyArray  # (networks, 1, inputs)
    gamma: AnyArray  # (networks, 1, outputs)

    def __call__(self, inputs: AnyArray) -> AnyArray:
        """Return what goes into the activation, or the logits."""
        values: AnyArray = np.matmul(inputs - self.mean, self.weight)
        values *= self.gamma
        values += self.bias
        return values


@dataclass(frozen=True, eq=False)
class Perceptrons:
    """Networks of one training, and how their features are scaled."""

    scales: list[FeatureScale]
    layers: list[Layer]
    activation: str

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Return class probabilities, the mean over the networks."""
        views = np.hstack([scale.apply(X) for scale in self.scales])
        values = views.clip(-LARGEST_INPUT, LARGEST_INPUT).astype(np.float32)[np.newaxis]
        for layer in self.layers[:-1]:
            values = _ACTIVATIONS[self.activation](layer(values))
        logits = self.layers[-1](values).astype(np.float64)
        mean: FloatArray = softmax(logits, axis=-1).mean(axis=0)
        return mean


@dataclass(frozen=True, eq=False)
class NetworkPredictor:
    """A fitted method on networks that predicts, and does nothing else.

    Its probabilities are those of the method to rounding, in single precision.
    """

    classes_: AnyArray
    n_features_in_: int
    members: list[tuple[float, Perceptrons]]  # with their weights

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return class probabilities; ``X`` are finite numbers."""
        parts = [self._mix(X[n : n + _ROWS_AT_A_TIME]) for n in range(0, len(X), _ROWS_AT_A_TIME)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def _mix(self, X: FloatArray) -> FloatArray:
        total: FloatArray = sum(
            (weight * member.probabilities(X) for weight, member in self.members),
            start=np.zeros((len(X), len(self.classes_))),
        )
        return total / sum(weight for weight, _ in self.members)


def read_predictor(
    path: str | os.PathLike[str], method: str, classes: AnyArray
) -> NetworkPredictor | None:
    """Return the networks in a file, or None: the method can then load it, or say what is wrong.

    Perceptrons can be read here, networks of somebody's own cannot.

    Parameters
    ----------
    path : path
        What ``save`` of a method has written.
    method : str
        The name of that method.
    classes : ndarray
        The classes that it should have.
    """
    try:
        arrays, description = read_arrays(
            path, MODEL_KIND, MODEL_VERSION, entries=("own_network", "method")
        )
        n_features = description["n_features"]
        if (description["method"], description["classes"]["names"]) != (method, classes.tolist()):
            return None
        parts = [(1.0, arrays, description)]
        if "members" in description:
            scores, described = dict(description["selection"]), dict(description["members"])
            weights = {name: of["weight"] for name, of in scores.items() if of["weight"] > 0}
            if set(weights) != set(described):
                return None
            parts = [(weights[name], take_part(arrays, name), of) for name, of in described.items()]
        if abs(sum(weight for weight, _, _ in parts) - 1) > 1e-6:
            return None
        # What is not a number here would be one nowhere.
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            members = [(weight, _perceptrons(part, of)) for weight, part, of in parts]
            if any(of.n_features != n_features for _, member in members for of in member.scales):
                return None
            networks = NetworkPredictor(classes, n_features, members)
            networks.predict_proba(np.zeros((1, n_features)))
    except (ModelFileError, ArithmeticError, KeyError, TypeError, ValueError):
        return None
    return networks


def predictor_of(method: "PartialLabelClassifier") -> NetworkPredictor | None:
    """Return the networks of a fitted method, or None; by way of a file, which holds all of it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "method.safetensors")
        method.save(path)
        return read_predictor(path, method.card.name, method.classes_)


def _perceptrons(arrays: dict[str, AnyArray], description: Mapping[str, Any]) -> Perceptrons:
    """Return networks from their arrays; raise ``ValueError`` for what is not one of ours."""
    activation = description["parameters"]["activation"]
    if description["own_network"] or activation not in _ACTIVATIONS:
        raise ValueError("these networks need torch")
    views, state = take_part(arrays, "views"), take_part(arrays, "networks")
    scales = []
    for number in range(len({name.partition(".")[0] for name in views})):
        learned = take_part(views, str(number))
        scales.append(
            FeatureScale.from_arrays("quantile" if "quantiles_" in learned else "none", learned)
        )
    hidden = range(len({name.split(".")[1] for name in state if name.startswith("hidden.")}))
    parts = [take_part(state, f"hidden.{number}") for number in hidden]
    layers = [_layer(part) for part in [*parts, take_part(state, "output")]]
    if views or state or not scales:
        raise ValueError("perceptrons have these parts, and no others")
    if len({len(layer.weight) for layer in layers}) != 1:
        raise ValueError("every layer needs as many networks")
    return Perceptrons(scales, layers, activation)


def _layer(arrays: dict[str, AnyArray]) -> Layer:
    weight, bias = arrays["weight"], arrays["bias"]
    n_networks, n_inputs, n_outputs = weight.shape
    of_inputs, of_outputs = (n_networks, 1, n_inputs), (n_networks, 1, n_outputs)
    # Other shapes might be stretched to fit.
    for name, array in arrays.items():
        expected = {"weight": weight.shape, "input_mean": of_inputs}.get(name, of_outputs)
        if array.shape != expected or array.dtype.kind != "f":
            raise ValueError(f"{name} has another shape or type")
    mean = arrays.get("input_mean", np.zeros(of_inputs, dtype=weight.dtype))
    gamma = np.ones_like(bias)
    if "gamma" in arrays:
        if (arrays["variance"] < 0).any():
            raise ValueError("a variance is negative")
        gamma = arrays["gamma"] / np.sqrt(arrays["variance"] + _EPSILON)
    return Layer(weight, bias, mean, gamma)
