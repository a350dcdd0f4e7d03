"""The folder for downloads, and for files that were made of large tables and can be made again.

A file made of a table is named by a hash of all that it depends on. It is complete as soon as it
has its name, so that runs may share it. One that nobody has used for a week is removed when the
next is made.
"""

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from disambig._core.temporaries import sweep

_NAME = re.compile(r"[0-9a-f]{32}\.(npy|parquet)")
_SECONDS_KEPT = 7 * 24 * 60 * 60


def cache_folder() -> Path:
    """Return the folder that this package keeps things in which can be made again."""
    from platformdirs import user_cache_dir  # not needed where nothing is kept

    return Path(user_cache_dir("disambig"))


def made_of_tables() -> Path:
    """Return the folder of the files that were made of tables."""
    return cache_folder() / "tables"


def made_file(fingerprint: str, suffix: str) -> Path:
    """Return where a file is, or will be, that follows from what was hashed."""
    return made_of_tables() / f"{fingerprint[:32]}{suffix}"


def mark_as_used(path: Path) -> None:
    """Let a file stay for another week."""
    with suppress(OSError):  # the folder may be somebody else's
        os.utime(path)


def ready_folder() -> None:
    """Make the folder, and remove what nobody has used for a week.

    A new one is for this user alone: who may not read a table must not read what was made of it.
    """
    folder = made_of_tables()
    with suppress(OSError):  # who writes to it says so
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # What dead processes have left goes as well.
    sweep(folder, lambda name: _NAME.fullmatch(name) is not None)
    with suppress(OSError):
        for path in folder.iterdir():
            is_ours = _NAME.fullmatch(path.name) is not None
            if is_ours and time.time() - path.stat().st_mtime > _SECONDS_KEPT:
                path.unlink(missing_ok=True)


def free_bytes(folder: Path) -> int:
    """Return how much room there is where a folder is, or will be."""
    there = next(above for above in (folder, *folder.parents) if above.exists())
    return shutil.disk_usage(there).free
