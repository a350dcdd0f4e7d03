"""Run jobs in a worker: whatever happens becomes a record."""

import os
import platform
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

from disambig._core.errors import ParameterError
from disambig._core.processes import at_most_threads
from disambig._version import __version__
from disambig.bench.evaluate import Predictions, compute_metrics, metric_code
from disambig.bench.record import Job, Record, changed_modules
from disambig.bench.trial import Trial, TrialFit, fit_alone, fit_together
from disambig.candidates.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.metrics.registry import METRICS

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]  # Windows: the peak of memory stays unknown

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
_PEAK = "VmHWM:"
JobOutput = tuple[Record, Predictions | None]
# Limits of threads and the peak of memory belong to the process, and a worker may have threads.
_ONE_AT_A_TIME = Lock()


def execute_all(dataset: PartialLabelDataset, batches: Sequence[Sequence[Job]]) -> list[JobOutput]:
    """Run several batches of jobs, one after the other, each as ``execute`` does."""
    return [outcome for jobs in batches for outcome in execute(dataset, jobs)]


def execute(dataset: PartialLabelDataset, jobs: Sequence[Job]) -> list[JobOutput]:
    """Run jobs that differ in their split only, side by side where their method can.

    An error becomes the record of a failed job; it never reaches the caller.
    """
    try:
        # Before threads are limited: making a method may load the library whose threads they are.
        method = _method_of(jobs[0])
        with _ONE_AT_A_TIME, at_most_threads(1):
            return _run(dataset, jobs, method)
    except KeyboardInterrupt:
        raise
    # One failing job never stops the others, whatever it raises.
    except BaseException as error:  # noqa: BLE001
        if len(jobs) == 1:
            return [failure(dataset, jobs[0], error)]
        return [outcome for job in jobs for outcome in execute(dataset, [job])]


def failure(dataset: PartialLabelDataset, job: Job, error: BaseException) -> JobOutput:
    """Return what is kept of a job that went wrong."""
    facts = {
        "type": type(error).__name__,
        "message": str(error) or repr(error),
        "traceback": "".join(traceback.format_exception(error)),
    }
    return Record(**_facts(dataset, job), status="failed", error=facts), None


def _method_of(job: Job) -> PartialLabelClassifier:
    differing = changed_modules(job.code, job.find_code())
    if differing:
        raise ParameterError(
            "Every machine needs the code that the study was started with, and this process has "
            f"other code of {', '.join(differing)}. Install the same version everywhere, or, if "
            "files were edited meanwhile, run the study again."
        )
    return job.make_method()


def _run(
    dataset: PartialLabelDataset, jobs: Sequence[Job], method: PartialLabelClassifier
) -> list[JobOutput]:
    reset_peak_memory()
    trials = [job.trial_on(dataset) for job in jobs]
    if jobs[0].stands_alone:
        fits = [
            fit_alone(method, trial, grid=job.grid, selection=job.selection, by_epoch=job.by_epoch)
            for job, trial in zip(jobs, trials, strict=True)
        ]
    else:
        fits = fit_together(method, trials)
    return [
        _evaluate(dataset, job, trial, fit)
        for job, trial, fit in zip(jobs, trials, fits, strict=True)
    ]


def _evaluate(dataset: PartialLabelDataset, job: Job, trial: Trial, fit: TrialFit) -> JobOutput:
    started = perf_counter()
    probabilities = fit.classifier.predict_proba(trial.test.X)
    seconds = fit.seconds | {"predict": perf_counter() - started}
    predictions = Predictions.from_classifier(fit.classifier, trial, probabilities)
    record = Record(
        **_facts(dataset, job),
        status="done",
        metrics=compute_metrics(trial, predictions),
        metric_code={name: metric_code(name) for name in METRICS},
        by_epoch=fit.by_epoch,
        chosen=fit.choice.parameters if fit.choice else None,
        choices=[list(scored) for scored in fit.choice.scores] if fit.choice else [],
        seconds=seconds,
        side_by_side=fit.side_by_side,
        peak_memory_mb=peak_memory_mb(),
    )
    return record, predictions


def _facts(dataset: PartialLabelDataset, job: Job) -> dict[str, Any]:
    return {
        "key": job.key,
        "job": job.content,
        "code": dict(job.code),
        "dataset": dataset.name,
        "environment": describe_environment(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


# The machine -------------------------------------------------------------------------------------


def describe_environment() -> dict[str, Any]:
    """Return versions and machine as plain values."""
    return {
        "disambig": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "cuda": _cuda_card(),
    }


def reset_peak_memory() -> None:
    """Reset the peak to what is held now, where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # then the peak is that of the whole process


def peak_memory_mb() -> float | None:
    """Return the most memory that the process held since the peak was reset, if that is known."""
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
