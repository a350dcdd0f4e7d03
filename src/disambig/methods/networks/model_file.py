"""A fitted classifier in one file: numbers and JSON, nothing that could run."""

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from disambig._core.array_file import plain, read_arrays, refused, write_arrays
from disambig._core.errors import ParameterError
from disambig._core.typing import AnyArray
from disambig.engine.device import ordinary_tensors
from disambig.engine.history import History
from disambig.methods.base import MethodCard, PartialLabelClassifier
from disambig.methods.networks.plan import FeatureViews
from disambig.methods.saving import (
    MODEL_KIND,
    MODEL_VERSION,
    check_confidence,
    check_same_method,
    rebuild_csr,
    scaler_kind,
)

# Parameters that say how a fit is run, not what it gave; some of them are code.
_NOT_KEPT = frozenset(
    {"callbacks", "checkpoint", "device", "early_stopping", "network", "validation"}
)
_NETWORKS, _VIEWS, _CONFIDENCE = "networks.", "views.", "confidence."


class SavedNetworks(PartialLabelClassifier):
    """A classifier on networks that can be written to a file and read again.

    ``_to_tensors`` and ``_from_tensors`` take it apart and put it together; everything else is the
    same for all of them.
    """

    card: ClassVar[MethodCard]
    device: str
    network: Callable[[int, int], Any] | None
    history_: History
    _networks: Any
    _views: FeatureViews
    _fitted_with: dict[str, Any]

    @abstractmethod
    def _network_count(self) -> int: ...

    @abstractmethod
    def _hidden_layers(self) -> tuple[int, ...]: ...

    @abstractmethod
    def _scalings(self) -> dict[str, Any]: ...

    @abstractmethod
    def _make_networks(self, n_features: int, n_classes: int, seeds: Sequence[int]) -> Any: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file, from which nothing is ever unpickled.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced.
        """
        check_is_fitted(self)
        tensors, description = self._to_tensors()
        confidence = sparse.csr_array(self.candidate_confidence_)
        for name in ("data", "indices", "indptr"):
            tensors[_CONFIDENCE + name] = _as_tensor(getattr(confidence, name))
        head = self._description() | {"own_network": self._fitted_with["network"] is not None}
        write_arrays(
            path, MODEL_KIND, MODEL_VERSION, tensors, head | description, framework="torch"
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        network: Callable[[int, int], Any] | None = None,
    ) -> Self:
        """Return the classifier that ``save`` wrote; a file of another method is refused.

        How it was fitted is not kept: ``validation``, ``early_stopping``, ``checkpoint`` and
        ``callbacks`` are at their defaults, and so is a ``random_state`` that was not an integer.

        Parameters
        ----------
        path : path
            The file.
        device : str, default="auto"
            Where to compute from now on.
        network : callable, optional
            What was given as ``network`` before; code is not kept in the file.
        """
        # What is wrong with the call is not the fault of the file.
        cls(device=device, network=network)._check_parameters()
        tensors, description = read_arrays(
            path,
            MODEL_KIND,
            MODEL_VERSION,
            entries=("method",),
            framework="torch",
            finite=network is None,
        )
        check_same_method(cls, path, description)
        if description.get("own_network") and network is None:
            raise ParameterError(
                f"{os.fspath(path)!r} holds networks of your own making, and code is not kept in a "
                "file. Give the function that makes them: load(path, network=...)."
            )
        try:
            with ordinary_tensors():
                return cls._rebuilt(tensors, description, device, network)
        except (
            AttributeError, KeyError, MemoryError, OverflowError, RuntimeError, TypeError,
            ValueError,
        ) as error:  # fmt: skip
            reason = f"what it says does not fit together ({error})"
            raise refused(path, MODEL_KIND, reason) from error

    def _to_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what was learned: tensors by name, and the rest as JSON takes it."""
        kinds = {
            name: scaler_kind(scaler)
            for name, scaler in zip(self._scalings(), self._views.scalers, strict=True)
        }
        tensors = {_NETWORKS + name: value for name, value in self._networks.state_dict().items()}
        tensors |= {_VIEWS + name: _as_tensor(a) for name, a in self._views.to_arrays().items()}
        return tensors, {
            "parameters": self._kept_parameters() | kinds,
            "history": self.history_.to_dict(),
        }

    def _from_tensors(self, tensors: dict[str, Tensor], description: dict[str, Any]) -> None:
        """Take back what ``_to_tensors`` returned; parameters, classes and features are known."""
        self.history_ = History(description["history"])
        arrays = {name: value.numpy() for name, value in named(tensors, _VIEWS).items()}
        self._views = FeatureViews.from_arrays(list(self._scalings().values()), arrays)
        if self._views.n_features_in_ != self.n_features_in_:
            raise ValueError(f"{self.n_features_in_} features need as many scales")
        n_inputs = self._views.transform(np.zeros((1, self.n_features_in_))).shape[1]
        state, count = named(tensors, _NETWORKS), self._network_count()
        if self.network is None:
            # Before memory is taken for what the file says, it must be what the file holds.
            sizes = (n_inputs, *self._hidden_layers(), len(self.classes_))
            _check_network_state(state, [(count, *ends) for ends in pairwise(sizes)])
        networks = self._make_networks(n_inputs, len(self.classes_), [0] * count)
        networks.load_state_dict(state)
        self._networks = networks

    def _kept_parameters(self) -> dict[str, Any]:
        """Return the parameters that it was fitted with, as far as a file can hold them."""
        fitted_with = self._fitted_with.items()
        return {name: plain(value) for name, value in fitted_with if name not in _NOT_KEPT}

    @classmethod
    def _with_parameters(
        cls, kept: dict[str, Any], device: str, network: Callable[[int, int], Any] | None
    ) -> Self:
        """Return a classifier with parameters from a file, not fitted."""
        parameters: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in kept.items()
            if name not in _NOT_KEPT
        }
        classifier = cls(**parameters, device=device, network=network)
        classifier._check_parameters()
        classifier._fitted_on_sparse = False
        classifier._fitted_with = classifier.get_params(deep=False)
        return classifier

    @classmethod
    def _rebuilt(
        cls,
        tensors: dict[str, Tensor],
        description: dict[str, Any],
        device: str,
        network: Callable[[int, int], Any] | None,
    ) -> Self:
        classifier = cls._with_parameters(description["parameters"], device, network)
        classifier._restore_description(description)
        classifier._from_tensors(tensors, description)
        confidence = {name: value.numpy() for name, value in named(tensors, _CONFIDENCE).items()}
        rebuilt = rebuild_csr(confidence, len(classifier.classes_))
        check_confidence(rebuilt)
        classifier.candidate_confidence_ = rebuilt
        return classifier


def named(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _check_network_state(state: dict[str, Tensor], expected: list[tuple[int, ...]]) -> None:
    found = [tuple(v.shape) for name, v in state.items() if name.endswith(".weight")]
    if sorted(expected) != sorted(found):
        raise ValueError(f"weights of the shapes {expected} are needed, and there are {found}")
    if any((v < 0).any() for name, v in state.items() if name.endswith(".variance")):
        raise ValueError("a variance is negative")


def _as_tensor(array: AnyArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
