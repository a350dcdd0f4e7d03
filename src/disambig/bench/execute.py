"""Run jobs: whatever happens becomes a record."""

import os
import platform
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

from sklearn.base import clone
from threadpoolctl import threadpool_limits

from disambig._core.errors import ParameterError
from disambig._version import __version__
from disambig.bench.record import Job, Predictions, Record
from disambig.bench.trial import Choice, Trial, choose_parameters, evaluate, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fit_many

__all__ = [
    "Outcome",
    "describe_environment",
    "execute",
    "failure",
    "forget_peak_memory",
    "one_thread",
    "peak_memory_mb",
]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numerical libraries use one thread inside the block."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    with threadpool_limits(limits=1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)


try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]  # Windows: the peak of memory stays unknown

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
_PEAK = "VmHWM:"


def describe_environment() -> dict[str, Any]:
    """Return versions and machine as plain values."""
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "cuda": _cuda_card(),
    }


def forget_peak_memory() -> None:
    """Let the peak start from what is held now, where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # then the peak is that of the whole life of the process


def peak_memory_mb() -> float | None:
    """Return the most memory the process held since the peak was forgotten, if that is known."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(_PEAK))
    except (OSError, StopIteration):
        if resource is None:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 1024


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cuda_card() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return str(torch.cuda.get_device_name())


Outcome = tuple[Record, Predictions | None]
# Limits of threads and the peak of memory belong to the process, and a worker may have threads.
_ONE_AT_A_TIME = Lock()


def execute(dataset: PartialLabelDataset, jobs: Sequence[Job]) -> list[Outcome]:
    """Run jobs that differ in their split only, side by side where their method can.

    An error becomes the record of a failed job; it never reaches the caller.
    """
    try:
        # Before threads are limited: making a method may load the library whose threads they are.
        method = _method_of(jobs[0])
        with _ONE_AT_A_TIME, one_thread():
            return _run(dataset, jobs, method)
    except KeyboardInterrupt:
        raise
    # One failing job never stops the others, whatever it raises.
    except BaseException as error:  # noqa: BLE001
        if len(jobs) == 1:
            return [failure(dataset, jobs[0], error)]
        return [outcome for job in jobs for outcome in execute(dataset, [job])]


def failure(dataset: PartialLabelDataset, job: Job, error: BaseException) -> Outcome:
    """Return what is kept of a job that went wrong."""
    lines = traceback.format_exception(error)
    described = {
        "type": type(error).__name__,
        "message": str(error) or repr(error),
        "traceback": "".join(lines),
    }
    return Record(**_facts(dataset, job), status="failed", error=described), None


def _method_of(job: Job) -> PartialLabelClassifier:
    if job.version != __version__:
        raise ParameterError(
            f"The job was made by disambig {job.version}, and this is {__version__}. Install the "
            "same version on all machines."
        )
    return job.make_method()


@dataclass(frozen=True)
class _Fit:
    """A fitted method and how it came about."""

    method: PartialLabelClassifier
    seconds: dict[str, float]
    choice: Choice | None = None
    side_by_side: int = 1
    by_epoch: list[float] | None = None


def _run(
    dataset: PartialLabelDataset, jobs: Sequence[Job], method: PartialLabelClassifier
) -> list[Outcome]:
    forget_peak_memory()
    trials = [make_trial(dataset, job.split, job.corruption) for job in jobs]
    if jobs[0].stands_alone:
        fits = [_fit_alone(job, method, trial) for job, trial in zip(jobs, trials, strict=True)]
    else:
        fits = _fit_together(method, trials)
    return [
        _judged(dataset, job, trial, fit)
        for job, trial, fit in zip(jobs, trials, fits, strict=True)
    ]


def _fit_together(method: PartialLabelClassifier, trials: Sequence[Trial]) -> list[_Fit]:
    started = perf_counter()
    fitted = list(fit_many(method, [trial.task(method) for trial in trials]))
    each = (perf_counter() - started) / len(trials)
    return [_Fit(one, {"fit": each}, side_by_side=len(trials)) for one in fitted]


def _fit_alone(job: Job, method: PartialLabelClassifier, trial: Trial) -> _Fit:
    seconds, choice = {}, None
    if job.grid and job.selection:
        started = perf_counter()
        choice = choose_parameters(method, job.grid, trial, job.selection)
        seconds["choose"] = perf_counter() - started
        method = clone(method).set_params(**choice.parameters)
    if job.by_epoch:
        # The method is given nothing to stop by, so it can only watch. Of plain labels, its
        # covering rate is the accuracy.
        watched = (trial.test.X, trial.test.true_labels)
        method = clone(method).set_params(validation=watched, early_stopping=None)
    started = perf_counter()
    fitted = next(fit_many(method, [trial.task(method)]))
    seconds["fit"] = perf_counter() - started
    by_epoch = fitted.history_["validation_covering_rate"].tolist() if job.by_epoch else None
    return _Fit(fitted, seconds, choice, by_epoch=by_epoch)


def _judged(dataset: PartialLabelDataset, job: Job, trial: Trial, fit: _Fit) -> Outcome:
    started = perf_counter()
    probabilities = fit.method.predict_proba(trial.test.X)
    seconds = fit.seconds | {"predict": perf_counter() - started}
    record = Record(
        **_facts(dataset, job),
        status="done",
        metrics=vars(evaluate(fit.method, trial, probabilities)),
        by_epoch=fit.by_epoch,
        chosen=fit.choice.parameters if fit.choice else None,
        choices=[list(scored) for scored in fit.choice.scores] if fit.choice else [],
        seconds=seconds,
        side_by_side=fit.side_by_side,
        peak_memory_mb=peak_memory_mb(),
    )
    classes = fit.method.classes_
    return record, Predictions.from_probabilities(trial.test.numbers, probabilities, classes)


def _facts(dataset: PartialLabelDataset, job: Job) -> dict[str, Any]:
    return {
        "key": job.key,
        "job": job.identity,
        "dataset": dataset.name,
        "environment": describe_environment(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
