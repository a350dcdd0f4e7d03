"""A method to learn from a table with, by its name or as it is."""

from collections.abc import Mapping
from typing import Any

from disambig._core.errors import ParameterError
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.catalogue import get_method

__all__ = ["chosen_method"]

# These are code, files or views of a single fit: whoever trains many models sets them.
_NOT_BY_NAME = ("callbacks", "checkpoint", "checkpoint_every", "network", "verbose")


def chosen_method(
    method: str | PartialLabelClassifier, parameters: Mapping[str, Any] | None = None
) -> PartialLabelClassifier:
    """Return a method that can learn from candidate sets.

    Parameters
    ----------
    method : str or PartialLabelClassifier
        A name from ``all_methods``, or a method with its parameters.
    parameters : mapping, optional
        Parameters of a method that is given by its name.
    """
    made = _named(method, parameters or {}) if isinstance(method, str) else method
    if made.card.reads_true_labels:
        raise ParameterError(
            f"{made.card.name} is trained on true labels, and is there for comparisons alone. "
            "Choose another method; 'disambig methods' lists them."
        )
    return made


def _named(name: str, parameters: Mapping[str, Any]) -> PartialLabelClassifier:
    cls = get_method(name)
    known = [own for own in cls().get_params() if own not in _NOT_BY_NAME]
    unknown = next((own for own in parameters if own not in known), None)
    if unknown is not None:
        raise ParameterError(f"{name} has no parameter {unknown!r}. It has {', '.join(known)}.")
    return cls(**parameters)
