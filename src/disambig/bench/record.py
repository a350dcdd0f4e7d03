"""What is kept of a job: its key, its scores, its predictions."""

import hashlib
import inspect
import io
import json
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from disambig._core.errors import RecordError
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig._version import __version__
from disambig.bench.trial import ControlledCorruption, Selection, Split
from disambig.candidates.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import get_method
from disambig.methods.side_by_side import fits_at_once

__all__ = ["Job", "Predictions", "Record", "data_fingerprint", "side_by_side"]


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


@dataclass(frozen=True)
class Record:
    """What is kept of a job.

    Attributes
    ----------
    key : str
        Name of the job.
    job : dict
        Identity of the job: all that the result depends on.
    dataset : str
        Name of the dataset, for people.
    status : {"done", "failed"}
        Whether there is a result.
    metrics : dict
        Every metric by its name; empty if it failed.
    by_epoch : list of float or None
        Held-out accuracy after every epoch, where that was asked for.
    chosen : dict or None
        Parameters that were chosen from the grid.
    choices : list
        Every combination of the grid with its score.
    seconds : dict
        Time of ``choose``, ``fit`` and ``predict``. Of folds trained side by side each has its
        share of the time; ``side_by_side`` of them.
    peak_memory_mb : float
        Most memory the process held while it worked on the job.
    environment : dict
        Versions and machine.
    finished : str
        When, in UTC.
    predictions : str or None
        Hash of the file with the predictions.
    error : dict or None
        Type, message and traceback of what went wrong.
    """

    key: str
    job: dict[str, Any]
    dataset: str
    status: Literal["done", "failed"]
    environment: dict[str, Any]
    finished: str
    metrics: dict[str, float] = field(default_factory=dict)
    by_epoch: list[float] | None = None
    chosen: dict[str, Any] | None = None
    choices: list[Any] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    side_by_side: int = 1
    peak_memory_mb: float | None = None
    predictions: str | None = None
    error: dict[str, str] | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return self.status == "done"

    def to_json(self) -> str:
        """Return the record as text, with a seal over its content."""
        content = asdict(self)
        return json.dumps(content | {"seal": _seal(content)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a record; refuse one that is cut, changed or something else."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise RecordError(f"It is not JSON: {error}.") from None
        if not isinstance(content, dict) or content.pop("seal", None) != _seal(content):
            raise RecordError("Its content does not fit its seal.")
        if set(content) != {field.name for field in fields(cls)}:
            raise RecordError("It has other fields than a record of this version.")
        return cls(**content)


def _seal(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a method said about the held-out rows.

    Attributes
    ----------
    rows : ndarray of int
        Numbers of the rows in the dataset.
    predicted : ndarray of int
        Column of the predicted class.
    probability : ndarray of float
        How probable the method found it.
    classes : ndarray of str
        Names of the columns.
    """

    rows: IntArray
    predicted: IntArray
    probability: FloatArray
    classes: AnyArray

    @classmethod
    def from_probabilities(
        cls, rows: IntArray, probabilities: FloatArray, classes: AnyArray
    ) -> Self:
        """Keep the most probable class of every row."""
        predicted = probabilities.argmax(axis=1)
        return cls(
            rows=rows.astype(np.int32),
            predicted=predicted.astype(np.int32),
            probability=probabilities.max(axis=1).astype(np.float32),
            # As texts: an array of objects could only be pickled.
            classes=np.array([str(name) for name in classes.tolist()]),
        )

    def to_bytes(self) -> bytes:
        """Return them as a compressed NumPy archive."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **vars(self))
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read them back; nothing is unpickled."""
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return cls(**{name: archive[name] for name in archive.files})
