"""The file beside a report from which the report can be made again."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from disambig._core.errors import ParameterError, StudyError
from disambig._core.parsing import parse_json, read_small_file
from disambig.bench.entries import Settings
from disambig.bench.settings import Study, given_settings, resolve_data_paths, validation_message

STUDY_FILE = "study.json"
_LARGEST = 10_000_000  # bytes; the largest study is a tenth of that


@dataclass(frozen=True)
class ReportedStudy:
    """What a report was made from."""

    study: Study
    command: str | None = None  # that ran it
    missing: tuple[str, ...] = ()  # datasets that were not available, each with how to get it
    has_published: bool = False  # whether the paper's figures are shown beside ours


class _Content(Settings):
    """The content of the file."""

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


def is_study_file(path: Path) -> bool:
    """Tell whether a file was written beside a report, by whatever version."""
    try:
        content = parse_json(read_small_file(path, ValueError, largest=_LARGEST), ValueError)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and {"study", "command", "missing"} <= set(content)


def read_study_file(folder: str | os.PathLike[str]) -> ReportedStudy:
    """Read what the report in a folder was made from.

    Parameters
    ----------
    folder : path
        A folder with the results of a study.
    """
    path = Path(folder) / STUDY_FILE

    def refuse(problem: str) -> StudyError:
        return StudyError(
            f"{path} does not describe a study. Run 'disambig study' again.\n{problem}"
        )

    try:
        text = read_small_file(path, refuse, largest=_LARGEST)
    except FileNotFoundError:
        raise StudyError(
            f"There is no {path}. Name a folder that 'disambig study' or 'disambig reproduce' "
            "wrote, or the TOML file of a study."
        ) from None
    found = parse_json(text, refuse)
    try:
        content = _Content.model_validate(found)
        resolve_data_paths(content.study, Path(folder))
        _refuse_code(content.study.get("methods"), path)
        study = Study(**content.study)
    except (ValidationError, StudyError) as error:
        problem = validation_message(error) if isinstance(error, ValidationError) else str(error)
        raise refuse(problem) from None
    return ReportedStudy(study, content.command, tuple(content.missing), content.published)


def _refuse_code(methods: Any, path: Path) -> None:
    """Refuse methods from other modules: results may be from anybody, so they run no code."""
    for entry in methods if isinstance(methods, list) else []:
        name = entry.get("name") if isinstance(entry, dict) else entry
        if isinstance(name, str) and ":" in name:
            raise ParameterError(
                f"{path} names the method {name!r}, which is code outside disambig. A folder of "
                "results is read without running such code. If you trust it, give the TOML file "
                "of the study instead."
            )


def _relative(path: str, folder: str | os.PathLike[str]) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        return path  # on another drive of Windows
