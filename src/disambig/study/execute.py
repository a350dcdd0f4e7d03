"""Run jobs: fit, judge, and say what happened, whatever happens."""

import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from threading import Lock
from time import perf_counter
from typing import Any

from sklearn.base import clone

from disambig._core.errors import ParameterError
from disambig._version import __version__
from disambig.datasets.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.many import fit_many
from disambig.study.environment import (
    describe_environment,
    forget_peak_memory,
    peak_memory_mb,
)
from disambig.study.evaluation import evaluate
from disambig.study.job import Job
from disambig.study.predictions import Predictions
from disambig.study.record import Record
from disambig.study.selection import Choice, choose_parameters
from disambig.study.threads import one_thread
from disambig.study.trial import Trial, make_trial

__all__ = ["Outcome", "execute", "failure"]

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
        metrics=asdict(evaluate(fit.method, trial, probabilities)),
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
