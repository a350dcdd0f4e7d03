"""Let runners that share a store share the work: a job is claimed while it is worked on."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from disambig._core.errors import StudyError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows: runners may do a job twice, nothing worse

__all__ = ["Claims"]


class Claims:
    """Claims of one process on the jobs of a store.

    One byte of one file stands for a job, and a claim is a lock on that byte. The system lets go of
    the locks of a process that dies, however it dies, so no claim outlives its owner.

    Parameters
    ----------
    folder : path
        Folder of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "claims.lock"

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StudyError(
                f"Records need a folder that can be written to, and {self._path.parent} is none: "
                f"{error.strerror}. Choose another folder."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def take(self, key: str) -> bool:
        """Claim a job; return whether it is ours."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_of(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks: a job may be done twice there
            return True
        return True

    def release(self, key: str) -> None:
        """Give up the claim on a job."""
        if fcntl is not None:
            with suppress(OSError):  # without locks there is none to give up
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte_of(key))


def _byte_of(key: str) -> int:
    # Beyond 2**62 the offsets of some systems end.
    return int(key[:15], 16)
