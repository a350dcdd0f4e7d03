"""Arrays in files without a name: what memory cannot hold, and is gone after its use."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.typing import AnyArray


def scratch_array(shape: tuple[int, ...], dtype: Any, folder: Path | None) -> AnyArray:
    """Return an array of zeros whose numbers the system may keep on disk.

    Its file lies in the folder, or among temporary files where nothing can be written to that, and
    has no name: it is gone as soon as nobody uses the array, whatever happens to this process.
    """
    dtype = np.dtype(dtype)
    size = max(1, int(np.prod(shape, dtype=np.int64))) * dtype.itemsize
    if folder is None or not os.access(folder, os.W_OK):
        folder = Path(tempfile.gettempdir())
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            # Now, with an error: later a full disk would end the process.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        except OSError as error:
            raise ParameterError(
                f"Rows that stay on disk need {size / 2**20:,.0f} MB more in {os.fspath(folder)!r} "
                f"({error.strerror}). Make room there."
            ) from error
        flat = np.memmap(file, dtype=dtype, mode="r+", shape=(size // dtype.itemsize,))
    count = int(np.prod(shape, dtype=np.int64))
    array: AnyArray = flat[:count].reshape(shape)
    return array
