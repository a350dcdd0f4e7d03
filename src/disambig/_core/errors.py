"""The errors that the package raises, and how rows, callers and extras are named in them."""

import importlib
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disambig._core.messages import did_you_mean


class DisambigError(Exception):
    """Base of every error disambig raises on purpose.

    Most of them are also the built-in error that callers know, such as ``ValueError``.

    Examples
    --------
    >>> from disambig import DisambigError, load_dataset
    >>> try:
    ...     load_dataset("glas")
    ... except DisambigError as error:
    ...     print(str(error).partition(" Known")[0])
    There is no dataset called 'glas'. Did you mean 'glass'?
    """


class CandidateError(DisambigError, ValueError):
    """Candidate sets that are malformed, or do not fit what they are used with."""


class ParameterError(DisambigError, ValueError):
    """A parameter outside its allowed values."""


class DatasetFormatError(DisambigError, ValueError):
    """A data file whose content is not what its format promises."""


class DatasetNotFoundError(DisambigError, FileNotFoundError):
    """A dataset whose file is not where it was looked for."""


class HashMismatchError(DisambigError, ValueError):
    """A file that is not the one its card describes."""


class DownloadError(DisambigError, OSError):
    """A download that failed, or could not be unpacked."""


class ModelFileError(DisambigError, ValueError):
    """A file that does not hold the model or checkpoint that it should."""


class TableError(DisambigError, ValueError):
    """A table, or a column of one, that cannot be used as it is."""


class StudyError(DisambigError, ValueError):
    """A study whose description is wrong or cannot be carried out."""


class ClusterError(DisambigError, OSError):
    """A cluster that cannot be reached, or was lost."""


class RecordError(DisambigError, ValueError):
    """A damaged record of a job."""


class MissingExtraError(DisambigError, ImportError):
    """An optional library that is needed and not installed."""


class TrainingError(DisambigError, ArithmeticError):
    """A training that diverged, or numbers that a solver cannot handle."""


class UnknownNameError(DisambigError, ValueError):
    """A name that is not in a catalogue."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        hint = did_you_mean(name, names)
        super().__init__(f"There is no {kind} called {name!r}.{hint} Known: {', '.join(names)}.")
        self._arguments = (kind, name, names)

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str]]]:
        # Exceptions cross process borders by pickling, with the arguments of __init__.
        return type(self), self._arguments


def describe_rows(bad: NDArray[np.bool_]) -> str:
    """Say how many rows are marked in ``bad`` and which one is first."""
    rows = np.flatnonzero(bad)
    if rows.size == 1:
        return f"1 sample, at row {rows[0]}"
    return f"{rows.size} samples, first at row {rows[0]}"


_PACKAGE = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line of the first caller that is not part of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def import_extra(module: str, *, extra: str) -> Any:
    """Return a module; if it is missing or broken, say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"This needs {module}, which cannot be imported ({error}). "
            f"Install it: pip install 'disambig[{extra}]'."
        ) from error
    except Exception as error:  # libraries that are built for other versions of each other
        raise MissingExtraError(
            f"This needs {module}, which is installed and fails when it is imported ({error}). It "
            "may not fit the version of a library that it uses: install versions that belong "
            f"together, such as those of pip install 'disambig[{extra}]' in a new environment."
        ) from error
