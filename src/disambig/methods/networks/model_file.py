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

from disambig._core.errors import ModelFileError, ParameterError
from disambig._core.typing import AnyArray
from disambig._version import __version__
from disambig.engine.device import ordinary_tensors
from disambig.engine.history import History
from disambig.engine.tensor_file import plain, read_tensors, write_tensors
from disambig.methods.base import MethodCard, PartialLabelClassifier
from disambig.methods.networks.plan import FeatureViews
from disambig.methods.scaling import FeatureScaler

__all__ = ["SavedNetworks", "named"]

_KIND = "model"
_VERSION = 2
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
        names = getattr(self, "feature_names_in_", None)
        head = {
            "method": self.card.name,
            "disambig": __version__,
            "own_network": self._fitted_with["network"] is not None,
            "classes": _described_classes(self.classes_),
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else names.tolist(),
        }
        write_tensors(path, _KIND, _VERSION, tensors, head | description)

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
        tensors, description = read_tensors(
            path, _KIND, _VERSION, entries=("method",), finite=network is None
        )
        if description["method"] != cls.card.name:
            raise ModelFileError(
                f"{os.fspath(path)!r} holds a model of the method {description['method']!r}, and "
                f"{cls.__name__} reads those of {cls.card.name!r}. Load it with the class that "
                f"wrote it: get_method({description['method']!r}).load(path)."
            )
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
            raise ModelFileError(
                f"{os.fspath(path)!r} is not a {_KIND} that can be read: what it says does not fit "
                f"together ({error}). Write it again."
            ) from error

    def _to_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what was learned: tensors by name, and the rest as JSON takes it."""
        kinds = {
            name: _own_kind(scaler)
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
        classifier.classes_ = _rebuilt_classes(description["classes"])
        classifier.n_features_in_ = description["n_features"]
        if description["feature_names"] is not None:
            classifier.feature_names_in_ = np.array(description["feature_names"], dtype=object)
            if classifier.feature_names_in_.shape != (classifier.n_features_in_,):
                raise ValueError(f"{classifier.n_features_in_} features need as many names")
        classifier._from_tensors(tensors, description)
        confidence = {name: value.numpy() for name, value in named(tensors, _CONFIDENCE).items()}
        parts = confidence["data"], confidence["indices"], confidence["indptr"]
        shape = (len(confidence["indptr"]) - 1, len(classifier.classes_))
        rebuilt = sparse.csr_array(parts, shape=shape)
        rebuilt.check_format(full_check=True)
        if (rebuilt.data < 0).any():
            raise ValueError("a confidence is negative")
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


def _own_kind(scaler: Any) -> str:
    """Return the kind of a scaler; refuse one that cannot be written to a file."""
    if not isinstance(scaler, FeatureScaler):
        raise ParameterError(
            "A model can be saved if its scaling is one of disambig's own, given by name or as a "
            f"FeatureScaler. Got {type(scaler).__name__}, which is code: scale the "
            "features yourself, fit with scaling='none', and save that."
        )
    return scaler.kind


def _as_tensor(array: AnyArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def _described_classes(classes: AnyArray) -> dict[str, Any]:
    names = classes.tolist()
    unfit = next((n for n in names if not isinstance(n, str | int | float | bool)), None)
    if unfit is not None:
        raise ParameterError(
            "A model can be saved if its classes are strings, numbers or booleans. "
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
