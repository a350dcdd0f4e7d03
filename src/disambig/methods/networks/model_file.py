"""Save networks beside what every method saves, and load them again."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np
from torch import Tensor

from disambig._core.array_file import take_part
from disambig._core.errors import ParameterError
from disambig.engine.device import ordinary_tensors
from disambig.engine.history import History
from disambig.methods.networks.plan import FeatureViews
from disambig.methods.saving import SaveLoadMixin, plain_parameters, scaler_kind

# Parameters that say how a fit is run, not what it gave; some of them are code.
_NOT_KEPT = frozenset(
    {"callbacks", "checkpoint", "device", "early_stopping", "network", "validation"}
)
_LONGEST_SIDE, _MOST_DIMENSIONS = 1_000_000, 8


class SavedNetworks(SaveLoadMixin):
    """``save`` and ``load`` of ``NetworkClassifier``."""

    # Modules of the user may hold numbers of types that NumPy does not have.
    _framework: ClassVar[Literal["numpy", "torch"]] = "torch"
    network: Callable[[Any, int], Any] | None
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
    def _make_networks(
        self, n_features: int | tuple[int, ...], n_classes: int, seeds: Sequence[int]
    ) -> Any: ...

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        network: Callable[[Any, int], Any] | None = None,
    ) -> Self:
        """Load a classifier that ``save`` wrote; a file of another method is refused.

        How it was fitted is not kept: ``validation``, ``early_stopping``, ``checkpoint`` and
        ``callbacks`` are at their defaults, and so is a ``random_state`` that was not an integer.

        Parameters
        ----------
        path : path
            The file. No code in it is run, so files from others are safe to load.
        device : str, default="auto"
            Device to use from now on.
        network : callable, optional
            The ``network`` that the classifier was made with; the file does not contain code.
        """
        # What is wrong with the call is not the fault of the file.
        cls._with_parameters({}, device=device, network=network)
        tensors, description = cls._read(path, finite=network is None)
        if description.get("own_network") and network is None:
            raise ParameterError(
                f"{os.fspath(path)!r} holds networks made by your own code, which is not kept in a "
                "file. Give the function that makes them: load(path, network=...)."
            )
        with ordinary_tensors():
            return cls._rebuilt(path, tensors, description, device=device, network=network)

    @classmethod
    def _with_parameters(cls, parameters: Mapping[str, Any], **given: Any) -> Self:
        kept = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in parameters.items()
            if name not in _NOT_KEPT
        }
        classifier = super()._with_parameters(kept, **given)
        classifier._fitted_on_sparse = False
        classifier._fitted_with = classifier.get_params(deep=False)
        return classifier

    def _fit_description(self) -> dict[str, Any]:
        """Return the parameters that it was fitted with and how that went, as JSON takes it."""
        kept = {name: v for name, v in self._fitted_with.items() if name not in _NOT_KEPT}
        return {
            "parameters": plain_parameters(kept),
            "history": self.history_.to_dict(),
            "own_network": self._fitted_with.get("network") is not None,
        }

    def _to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        description = self._fit_description()
        kinds = [scaler_kind(scaler) for scaler in self._views.scalers]
        for name, kind in zip(self._scalings(), kinds, strict=True):
            if name in description["parameters"]:  # a subclass may leave it out
                description["parameters"][name] = kind
        if self._views.row_shape is not None:
            description["row_shape"] = list(self._views.row_shape)
        state = self._networks.state_dict()
        tensors = {f"networks.{name}": value for name, value in state.items()}
        views = {f"views.{name}": array for name, array in self._views.to_arrays().items()}
        return tensors | views, description

    def _from_arrays(self, arrays: dict[str, Any], description: Mapping[str, Any]) -> None:
        self.history_ = History(description["history"])
        scalings = list(self._scalings().values())
        shape = _read_row_shape(description.get("row_shape"), self.n_features_in_)
        self._views = FeatureViews.from_arrays(scalings, take_part(arrays, "views"), shape)
        if self._views.n_features_in_ != self.n_features_in_:
            raise ValueError(f"{self.n_features_in_} features need as many scales")
        n_inputs = self._views.input_shape
        if n_inputs is None:
            n_inputs = self._views.transform(np.zeros((1, self.n_features_in_))).shape[1]
        state, count = take_part(arrays, "networks"), self._network_count()
        if self.network is None:
            # Before memory is taken for what the file says, it must be what the file holds.
            if not isinstance(n_inputs, int):
                raise ValueError("rows of a shape need a network of somebody's own")
            sizes = (n_inputs, *self._hidden_layers(), len(self.classes_))
            _check_network_state(state, [(count, *ends) for ends in pairwise(sizes)])
        self._networks = self._make_networks(n_inputs, len(self.classes_), [0] * count)
        self._networks.load_state_dict(state)


def _read_row_shape(found: Any, n_channels: int) -> tuple[int, ...] | None:
    """Return the shape of rows that are not vectors; refuse what no fit can have written."""
    if found is None:
        return None
    sizes = found if isinstance(found, list) else []
    is_shape = all(type(size) is int and 0 < size <= _LONGEST_SIDE for size in sizes)
    if not is_shape or not 2 <= len(sizes) <= _MOST_DIMENSIONS or sizes[0] != n_channels:
        raise ValueError("its rows cannot have the shape that it says")
    return tuple(sizes)


def _check_network_state(state: Mapping[str, Tensor], expected: list[tuple[int, ...]]) -> None:
    found = [tuple(v.shape) for name, v in state.items() if name.endswith(".weight")]
    if sorted(expected) != sorted(found):
        raise ValueError(f"weights of the shapes {expected} are needed, and there are {found}")
    if any((v < 0).any() for name, v in state.items() if name.endswith(".variance")):
        raise ValueError("a variance is negative")
