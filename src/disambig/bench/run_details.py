"""Where, when and how long a study ran, in a file from which it can be reported again."""

import json
import math
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from disambig._core.errors import ParameterError, StudyError
from disambig.bench.entries import Settings
from disambig.bench.formats import Table
from disambig.bench.record import Record
from disambig.bench.run_table import STEPS
from disambig.bench.settings import Study, described, given_settings, place_data
from disambig.bench.store import StudyResult
from disambig.bench.wording import MISSING

__all__ = [
    "STUDY_FILE",
    "ReportedStudy",
    "failure_table",
    "read_study_file",
    "run_details",
    "seconds_table",
    "study_file_text",
]


def run_details(result: StudyResult) -> list[tuple[str, str]]:
    """Return what is to be known of the runs, name and value; where records differ, all values."""
    records = list({record.key: record for _, record in result.jobs()}.values())
    finished = sorted(record.finished for record in records)
    splits = [planned.job.split for planned in result.plan.jobs]
    seeds = sorted({split.seed for split in splits})
    packages = sorted({name for record in records for name in _packages(record)})
    details = [
        ("Protocol", result.plan.study.protocol.sentence),
        ("Seeds", ", ".join(map(str, seeds))),
        ("First record", finished[0]),
        ("Last record", finished[-1]),
        ("disambig", _values(record.job.get("version") for record in records)),
        ("Python", _values(record.environment.get("python") for record in records)),
    ]
    details += [
        (name, _values(_packages(record).get(name) for record in records)) for name in packages
    ]
    details += [
        ("System", _values(_system(record) for record in records)),
        ("Processor", _values(record.environment.get("processor") for record in records)),
        ("Cores", _values(record.environment.get("cores") for record in records)),
        ("Graphics card", _values(record.environment.get("cuda") for record in records)),
    ]
    return [(name, value) for name, value in details if value]


def seconds_table(scores: Any) -> Table:
    """Return how long every method took: on average for each step of a job, and in all.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    """
    rows = []
    for method, own in scores.groupby("method", sort=False):
        steps = [own[f"{step}_seconds"].dropna() for step in STEPS]
        total = math.fsum(seconds.sum() for seconds in steps)
        means = (_seconds(values.mean()) if len(values) else MISSING for values in steps)
        rows.append((str(method), str(len(own)), *means, _seconds(total)))
    return Table(
        title="Seconds by method",
        header=("method", "jobs", "to choose parameters", "to fit", "to predict", "all jobs"),
        rows=tuple(rows),
        notes=(
            "Means over jobs, and their sum. Folds that were trained side by side share the time "
            "of their training.",
        ),
    )


def failure_table(result: StudyResult) -> Table:
    """Return what went wrong, a row for every job that failed."""
    rows = []
    for planned, record in result.failed:
        error = record.error or {}
        kind, message = error.get("type", ""), " ".join(error.get("message", "").split())
        rows.append((planned.title, kind, message))
    return Table("Jobs that failed", ("job", "error", "message"), tuple(rows))


def _packages(record: Record) -> dict[str, Any]:
    packages = record.environment.get("packages")
    return packages if isinstance(packages, dict) else {}


def _system(record: Record) -> str | None:
    """Return the name of the system; which kernel it has changes no result."""
    system = record.environment.get("system")
    return system.partition("-")[0] if isinstance(system, str) else None


def _values(values: Iterable[Any]) -> str:
    """Return the value that all records have; where they differ, each with how many have it."""
    counts = Counter(values)
    if set(counts) == {None}:
        return ""
    named = {"none" if value is None else str(value): n for value, n in counts.most_common()}
    if len(named) == 1:
        return next(iter(named))
    return "; ".join(f"{value} ({n} job{'' if n == 1 else 's'})" for value, n in named.items())


def _seconds(seconds: float) -> str:
    return f"{seconds:,.3f}" if seconds < 10 else f"{seconds:,.0f}"


STUDY_FILE = "study.json"


@dataclass(frozen=True)
class ReportedStudy:
    """What a report was made of.

    Attributes
    ----------
    study : Study
        What was run.
    command : str or None
        By what.
    missing : tuple of str
        Data that was not at hand, each with how to get it.
    has_published : bool
        Whether the figures of the paper are shown beside.
    """

    study: Study
    command: str | None = None
    missing: tuple[str, ...] = ()
    has_published: bool = False


class _Content(Settings):
    """The file as it is."""

    study: dict[str, Any]
    command: str | None
    missing: list[str]
    published: bool


def study_file_text(reported: ReportedStudy, folder: str | os.PathLike[str]) -> str:
    """Return the content of the file; paths of data in it are relative to its folder."""
    content = _Content(
        study=given_settings(reported.study, lambda path: _relative(path, folder)),
        command=reported.command,
        missing=list(reported.missing),
        published=reported.has_published,
    )
    return json.dumps(content.model_dump(), indent=1) + "\n"


def read_study_file(folder: str | os.PathLike[str]) -> ReportedStudy:
    """Read back what the report in a folder was made of.

    Parameters
    ----------
    folder : path
        A folder with the results of a study.
    """
    path = Path(folder) / STUDY_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StudyError(
            f"There is no {path}. Name a folder that 'disambig study' or 'disambig reproduce' "
            "wrote, or the TOML file of a study."
        ) from None
    except OSError as error:
        raise StudyError(
            f"{path} cannot be read: {error.strerror}. Check whether you may read it."
        ) from None
    except UnicodeDecodeError:
        raise StudyError(
            f"{path} needs to be JSON, and is not text. Run 'disambig study' again."
        ) from None
    try:
        content = _Content.model_validate_json(text)
        place_data(content.study, Path(folder))
        _refuse_code(content.study.get("methods"), path)
        study = Study(**content.study)
    except (ValidationError, StudyError) as error:
        problem = described(error) if isinstance(error, ValidationError) else str(error)
        raise StudyError(
            f"{path} does not describe a study. Run 'disambig study' again.\n{problem}"
        ) from None
    return ReportedStudy(study, content.command, tuple(content.missing), content.published)


def _refuse_code(methods: Any, path: Path) -> None:
    """Refuse methods from elsewhere: results may be somebody else's, and are read, not run."""
    for entry in methods if isinstance(methods, list) else []:
        name = entry.get("name") if isinstance(entry, dict) else entry
        if isinstance(name, str) and ":" in name:
            raise ParameterError(
                f"{path} names the method {name!r}, which is code from elsewhere: a folder of "
                "results is read without running any. Give the TOML file of the study instead, if "
                "you trust it."
            )


def _relative(path: str, folder: str | os.PathLike[str]) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        return path  # on another drive of Windows
