"""Objects of scikit-learn and of ours in a file that nothing is unpickled from."""

import os
import warnings
from pathlib import Path
from typing import Any, TypeVar

from disambig._core.errors import ModelFileError, ParameterError
from disambig._core.files import write_atomically
from disambig.tabular.model.skops_audit import allowed_names, check_archive

__all__ = ["one_line", "read_skops", "write_skops"]

_LONGEST_REASON = 200

Kept = TypeVar("Kept")


def write_skops(kept: Any, path: str | os.PathLike[str], *, finite: bool = False) -> None:
    """Write an object and its parts; refuse what ``read_skops`` would refuse.

    Parameters
    ----------
    kept : object
        A fitted transformer, or a fitted method.
    path : path
        Where to; a file that is there is replaced.
    finite : bool, default=False
        Whether all its numbers must be finite.
    """
    import skops.io  # slow to import

    try:
        content = skops.io.dumps(kept)
        check_archive(content, type(kept), finite=finite)
    except Exception as error:  # parts of the user may raise anything
        raise ParameterError(
            f"{type(kept).__name__} can be saved if its parts are disambig's own, or the few of "
            f"scikit-learn that it uses by itself. What would be written is refused: "
            f"{one_line(error)}. Leave out parts of your own, such as an estimator or a scaling."
        ) from error
    with write_atomically(path) as temporary:
        temporary.write_bytes(content)


def read_skops(path: str | os.PathLike[str], expected: type[Kept], *, finite: bool = False) -> Kept:
    """Return the object in a file; nothing in the file is run, whoever wrote it.

    Parameters
    ----------
    path : path
        The file.
    expected : type
        Of the object: this one, none derived from it.
    finite : bool, default=False
        Whether all its numbers must be finite.
    """
    import skops.io  # slow to import
    from sklearn.exceptions import InconsistentVersionWarning

    if not Path(path).is_file():
        raise ModelFileError(f"There is no file {os.fspath(path)!r}. Check the path.")
    try:
        # Read once, so that what is looked through is what is made.
        content = Path(path).read_bytes()
        check_archive(content, expected, finite=finite)
        with warnings.catch_warnings():
            # The folder of a model says so once, not every part.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            kept: Kept = skops.io.loads(content, trusted=allowed_names(expected))
    except Exception as error:  # a damaged file may make its readers raise anything
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be read: {one_line(error)}. It is damaged, or was not "
            "written by disambig: give another, or write it again."
        ) from error
    return kept


def one_line(error: Exception) -> str:
    """Return what an exception says, in one line that fits into a message."""
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    return first if len(first) <= _LONGEST_REASON else f"{first[:_LONGEST_REASON]}..."
