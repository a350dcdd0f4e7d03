"""A job, the key of all that its result depends on, and the record of its result."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, ValidationError, create_model

from disambig._core.errors import RecordError
from disambig._core.fingerprint import code_hashes, sha256_hex
from disambig._core.parsing import parse_json
from disambig.bench.entries import Settings
from disambig.bench.evaluate import Predictions
from disambig.bench.folds import Split
from disambig.bench.settings import validation_message
from disambig.bench.trial import (
    ControlledCorruption,
    GridSelection,
    Trial,
    fit_alone,
    fit_together,
    leave_out_of_training,
    make_trial,
    thin_out_training,
)
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.groups import group_numbers
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import get_method
from disambig.methods.side_by_side import fits_at_once


@dataclass(frozen=True)
class Job:
    """One method on one split of one dataset: all that its result depends on, but for the code."""

    method: str  # a name from the catalogue, or package.module:Class
    data: str  # fingerprint of the dataset's content, whatever its file is called
    split: Split  # the rows held out, and the seed of everything
    parameters: dict[str, Any] = field(default_factory=dict)  # plain values
    grid: dict[str, list[Any]] = field(default_factory=dict)  # parameters to choose from
    selection: GridSelection | None = None  # how to choose; None without a grid
    corruption: ControlledCorruption | None = None  # None: the sets of the dataset are used
    by_epoch: bool = False  # whether held-out accuracy is followed over the epochs
    miss: float = 0.0  # share of the training sets that the truth is left out of
    # How many times as many training rows the largest class keeps as the smallest; 1: all rows.
    imbalance: float = 1.0

    @cached_property
    def code(self) -> Mapping[str, str]:
        """Hashes of the code that the result depends on, by module.

        It travels with the job, so that a worker can compare it with the code that it has.
        """
        return self.find_code()

    def find_code(self) -> Mapping[str, str]:
        """Return ``code`` as it is in this process, now."""
        method = get_method(self.method)
        fit = fit_alone if self.stands_alone else fit_together
        misses = (leave_out_of_training,) if self.miss else ()
        thinned = (thin_out_training,) if self.imbalance > 1 else ()
        hashes = code_hashes(method, make_trial, *misses, *thinned, fit, Predictions)
        source = inspect.getsourcefile(method) if ":" in self.method else None
        if source is None:
            return hashes
        # What a file from elsewhere does beyond its definitions is not known: all of it counts.
        whole = sha256_hex(Path(source).read_bytes())[:16]
        return {**hashes, method.__module__: whole}

    @cached_property
    def content(self) -> dict[str, Any]:
        """The job as plain values."""
        return _without_what_is_off(asdict(self))

    @cached_property
    def recipe(self) -> str:
        """Hash of everything but the code."""
        return recipe_of(self.content)

    @cached_property
    def key(self) -> str:
        """Name of the job's record: its recipe, and a hash of its code."""
        return f"{self.recipe}-{_hash(dict(self.code))[:12]}"

    @cached_property
    def family(self) -> str:
        """What it has in common with the same job on other splits."""
        return _hash(self.content | {"split": None})

    @property
    def stands_alone(self) -> bool:
        """Whether it takes more than a fit, so that it cannot share one with other splits."""
        return bool(self.grid) or self.by_epoch

    def trial_on(self, dataset: PartialLabelDataset) -> Trial:
        """Return what its method meets: the split, the candidate sets and the seeds."""
        trial = make_trial(dataset, self.split, self.corruption)
        if self.imbalance > 1:
            trial = thin_out_training(trial, self.split, self.imbalance)
        return leave_out_of_training(trial, self.split, self.miss) if self.miss else trial

    def make_method(self) -> PartialLabelClassifier:
        """Return the method with its parameters, not fitted."""
        return get_method(self.method)(**self.parameters)


def changed_modules(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the modules whose code differs between two ``code`` of jobs or records."""
    return sorted({name for name, _ in set(before.items()) ^ set(after.items())})


def recipe_of(job: Mapping[str, Any]) -> str:
    """Return the recipe of a job that is given as plain values, as a record has it."""
    content = {field.name: job.get(field.name) for field in fields(Job)}
    return _hash(_without_what_is_off(content))[:24]


def _without_what_is_off(content: dict[str, Any]) -> dict[str, Any]:
    """Leave out what came later where it does nothing, so that keys and records stay the same."""
    nothing = {"miss": (None, 0.0), "imbalance": (None, 1.0)}
    return {name: value for name, value in content.items() if value not in nothing.get(name, ())}


def side_by_side(job: Job) -> int | None:
    """Return how many splits it pays to run together, on this machine; None is all there are."""
    return fits_at_once(job.make_method())


def data_fingerprint(dataset: PartialLabelDataset) -> str:
    """Return a hash of features, candidate sets, weights, classes, true labels and groups.

    Without groups as version 0.1.0 had it, or its records would not be recognised.
    """
    candidates = dataset.candidates
    rows, columns = candidates.pairs()
    weights = candidates.weights
    names = [dataset.X.shape, candidates.classes.tolist()]
    if dataset.true_labels is not None:
        names.append(dataset.true_labels.tolist())
    grouped: tuple[bytes, ...] = ()
    if candidates.groups is not None:
        numbers = group_numbers(candidates.groups, len(candidates))
        grouped = (b"groups", numbers.astype("<i8").tobytes(), repr(candidates.promise).encode())
    return sha256_hex(
        repr(names).encode(),
        np.ascontiguousarray(dataset.X, dtype="<f8").tobytes(),
        rows.astype("<i8").tobytes(),
        columns.astype("<i8").tobytes(),
        b"" if weights is None else candidates.values_of(weights).astype("<f8").tobytes(),
        *grouped,
    )


def _hash(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256_hex(text.encode())


# Whatever a file says, sums of these are numbers too.
_HUGE = 1e12
_Amount = Annotated[float, Field(ge=0, le=_HUGE)]
_Share = Annotated[float, Field(ge=0, le=1)]


def _not_huge(metrics: dict[str, float]) -> dict[str, float]:
    for name, value in metrics.items():
        if abs(value) > _HUGE:  # NaN is allowed: a metric may be undefined for some predictions
            raise ValueError(f"{name[:60]!r} must be a number of usual size; got {value}")
    return metrics


@dataclass(frozen=True)
class Record:
    """What is kept of a job; one that is read from a file has values of these types."""

    key: str
    job: dict[str, Any]  # as plain values
    dataset: str  # its name, for people
    status: Literal["done", "failed"]
    environment: dict[str, Any]  # versions and machine
    finished: str  # when, in UTC
    # Hashes of the code that the result depends on, by module; version 0.1.0 did not keep them.
    code: dict[str, str] = field(default_factory=dict)
    # Every metric by its name, and a hash of the code that computed it; empty if the job failed.
    metrics: Annotated[dict[str, float], AfterValidator(_not_huge)] = field(default_factory=dict)
    metric_code: dict[str, str] = field(default_factory=dict)
    # Held-out accuracy, where that was asked for.
    by_epoch: Annotated[list[_Share], Field(min_length=1)] | None = None
    chosen: dict[str, Any] | None = None  # parameters, from the grid
    choices: list[Any] = field(default_factory=list)  # all of the grid, each with its score
    # Of choose, fit and predict. Folds trained side by side share the time equally.
    seconds: dict[str, _Amount] = field(default_factory=dict)
    side_by_side: Annotated[int, Field(ge=1)] = 1  # how many folds were trained together
    peak_memory_mb: _Amount | None = None  # of the process while it worked on the job
    predictions: str | None = None  # hash of their file
    error: dict[str, str] | None = None  # type, message and traceback

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return self.status == "done"

    @property
    def version(self) -> str | None:
        """Version of disambig that made it."""
        return self.environment.get("disambig") or self.job.get("version")

    def to_json(self) -> str:
        """Return the record as JSON, with a seal over its content."""
        content = asdict(self)
        return json.dumps(content | {"seal": _seal(content)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a record; refuse one that is cut, changed or something else."""
        content = parse_json(text, lambda reason: RecordError(f"{reason[0].upper()}{reason[1:]}."))
        if not isinstance(content, dict) or content.pop("seal", None) != _seal(content):
            raise RecordError("Its content does not fit its seal.")
        try:
            _Content.model_validate(content)
            recipe_of(content["job"])
        except ValidationError as error:
            raise RecordError(
                f"It has other content than a record. {validation_message(error)}"
            ) from None
        except ValueError as error:  # a job with numbers that JSON does not have
            raise RecordError(
                f"It is the record of something that is not a job: {error}."
            ) from None
        return cls(**content)


# Types and ranges of a record, checked before one is made: whoever writes a file can seal it.
_FIELDS: dict[str, Any] = {
    one.name: (one.type, ... if one.default is one.default_factory else None)
    for one in fields(Record)
}
_Content = create_model("_Content", __base__=Settings, **_FIELDS)


def _seal(content: dict[str, Any]) -> str:
    return sha256_hex(json.dumps(content, sort_keys=True).encode())
