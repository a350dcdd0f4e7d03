"""One job of a study, and the name that its record goes by."""

import hashlib
import inspect
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from disambig._version import __version__
from disambig.datasets.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.catalogue import get_method
from disambig.methods.many import fits_at_once
from disambig.study.selection import Selection
from disambig.study.split import Split
from disambig.study.trial import ControlledCorruption

__all__ = ["Job", "data_fingerprint", "side_by_side"]


@dataclass(frozen=True)
class Job:
    """One method on one split of one dataset: all that its result depends on.

    Attributes
    ----------
    method : str
        A name from the catalogue, or ``package.module:Class``.
    parameters : dict
        What the method is made with; plain values.
    grid : dict of lists
        Parameters to choose from, by ``selection``; empty if there is nothing to choose.
    selection : Selection or None
        How to choose; None without a grid.
    data : str
        Fingerprint of the dataset's content, whatever its file is called.
    corruption : ControlledCorruption or None
        Makes the candidate sets; None where the dataset has its own.
    split : Split
        The rows held out, and the seed of everything.
    by_epoch : bool
        Whether held-out accuracy is followed over the epochs of the training.
    """

    method: str
    data: str
    split: Split
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    selection: Selection | None = None
    corruption: ControlledCorruption | None = None
    by_epoch: bool = False
    version: str = __version__

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything the result depends on, as plain values."""
        return asdict(self) | {"code": _own_code(self.method)}

    @cached_property
    def key(self) -> str:
        """Name of the job's record: a hash of its identity."""
        return _hash(self.identity)

    @cached_property
    def family(self) -> str:
        """What it has in common with the same job on other splits."""
        return _hash(self.identity | {"split": None})

    @property
    def stands_alone(self) -> bool:
        """Whether it takes more than a fit, so that it cannot share one with other splits."""
        return bool(self.grid) or self.by_epoch

    def make_method(self) -> PartialLabelClassifier:
        """Return the method with its parameters, not fitted."""
        return get_method(self.method)(**self.parameters)


def side_by_side(job: Job) -> int | None:
    """Return how many splits it pays to run together, on this machine; None is all there are."""
    return fits_at_once(job.make_method())


def data_fingerprint(dataset: PartialLabelDataset) -> str:
    """Return a hash of features, candidate sets, weights, classes and true labels."""
    rows, columns = dataset.candidates.pairs()
    weights = dataset.candidates.weights
    parts = [
        np.ascontiguousarray(dataset.X, dtype="<f8"),
        np.ascontiguousarray(rows, dtype="<i8"),
        np.ascontiguousarray(columns, dtype="<i8"),
        np.empty(0) if weights is None else dataset.candidates.values_of(weights).astype("<f8"),
    ]
    names = [dataset.X.shape, dataset.candidates.classes.tolist()]
    if dataset.true_labels is not None:
        names.append(dataset.true_labels.tolist())
    digest = hashlib.sha256(repr(names).encode())
    for part in parts:
        digest.update(part.tobytes())
    return digest.hexdigest()


def _hash(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _own_code(method: str) -> str | None:
    """Return a hash of the file of a method from elsewhere: our version says nothing about it."""
    if ":" not in method:
        return None
    source = inspect.getsourcefile(get_method(method))
    if source is None:  # compiled
        return None
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()
