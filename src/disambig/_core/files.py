"""Write files so that a reader sees the old content or the new, never half of it."""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["FAULTS_OF_THE_DISK", "written_atomically"]

# A full or broken disk is no fault of the name that was given.
FAULTS_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to; on success it takes the place of ``path``.

    If the block fails, the temporary file goes and ``path`` is left as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because a rename is atomic only inside one file system. The suffix
    # stays, because some writers choose the format by it.
    temporary = target.with_name(f".{target.stem}-{uuid.uuid4().hex}{target.suffix}")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)  # who may read it does not change
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
