"""The networks that a classifier trains, as its parameters say."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer
from disambig.engine.fast.stack import NetworkStack, Stack
from disambig.engine.module_stack import ModuleStack

if TYPE_CHECKING:
    from disambig.methods.ncpd.estimator import NCPDClassifier

__all__ = ["check_networks", "hidden_layers", "make_networks", "number_of_networks"]


def number_of_networks(method: "NCPDClassifier") -> int:
    """Return how many networks a classifier trains."""
    return method.n_networks if method.cooperation else 1


def hidden_layers(method: "NCPDClassifier") -> tuple[int, ...]:
    """Return the units of every hidden layer."""
    hidden: Any = method.hidden
    if isinstance(hidden, Sequence | np.ndarray) and not isinstance(hidden, str):
        return tuple(hidden)
    return (hidden,)


def check_networks(method: "NCPDClassifier") -> None:
    """Refuse parameters that no networks can be made from."""
    for units in hidden_layers(method):
        if not isinstance(units, Integral) or isinstance(units, bool) or units < 1:
            raise ParameterError(
                "'hidden' must be an integer >= 1 or a list of them. "
                f"Got {method.hidden!r} instead."
            )
    if method.cooperation and method.n_networks == 1:
        raise ParameterError(
            "'n_networks' must be an integer >= 2, because one network has nobody to cooperate "
            "with. Got 1: for a single network say cooperation=False."
        )
    check_integer("n_networks", method.n_networks, minimum=1)
    network = method.network
    if network is not None and (not callable(network) or isinstance(network, nn.Module)):
        raise ParameterError(
            "'network' must be a function of the number of features and of classes that returns a "
            f"torch.nn.Module, called once for every network. Got {network!r}."
        )


def make_networks(
    method: "NCPDClassifier", n_features: int, n_classes: int, seeds: Sequence[int]
) -> Stack:
    """Return untrained networks, one for every seed."""
    if method.network is not None:
        return ModuleStack(method.network, n_features, n_classes, seeds=seeds)
    return NetworkStack(
        n_features,
        n_classes,
        hidden=hidden_layers(method),
        seeds=seeds,
        activation=method.activation,
        dropout=method.dropout,
        batch_norm=method.batch_norm,
    )
