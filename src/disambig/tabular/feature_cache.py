"""Features of a table that stays on disk, in a file of single precision that is made once."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.cache_folder import free_bytes, made_file, mark_as_used, ready_folder
from disambig._core.errors import TableError
from disambig._core.files import write_atomically
from disambig._core.fingerprint import fingerprint_of
from disambig._version import __version__
from disambig.tabular.columns.transformer import FeatureTransformer
from disambig.tabular.columns.values_on_disk import ValuesOnDisk
from disambig.tabular.files.content import describe_size
from disambig.tabular.listener import FitListener

_LARGEST = np.finfo(np.float32).max


def features_on_disk(
    transformer: FeatureTransformer, values: ValuesOnDisk, listener: FitListener | None = None
) -> Any:
    """Return the features of rows that stay on disk, memory-mapped; made if they are not there."""
    found = kept_features(transformer, values)
    if found is not None:
        return found
    path, shape = _path_of(transformer, values), (len(values), transformer.n_features)
    ready_folder()
    _check_room(path.parent, shape)
    _write(path, shape, transformer, values, listener or FitListener())
    return np.load(path, mmap_mode="r")


def kept_features(transformer: FeatureTransformer, values: ValuesOnDisk) -> Any:
    """Return the features if they are in a file, memory-mapped, or None."""
    path = _path_of(transformer, values)
    found = _mapped(path, (len(values), transformer.n_features))
    if found is not None:
        mark_as_used(path)
    return found


def remove_features(transformer: FeatureTransformer, values: ValuesOnDisk) -> None:
    """Remove the file of features that are not needed again; who uses it meanwhile keeps it."""
    with suppress(OSError):
        _path_of(transformer, values).unlink(missing_ok=True)


def _path_of(transformer: FeatureTransformer, values: ValuesOnDisk) -> Path:
    arrays = transformer.to_arrays()
    fingerprint = fingerprint_of(
        __version__,
        values.fingerprint,
        transformer.state.model_dump_json(),
        sorted(arrays),
        *(arrays[name] for name in sorted(arrays)),
    )
    return made_file(fingerprint, ".npy")


def _mapped(path: Path, shape: tuple[int, int]) -> Any:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or something else has its name
        return None
    fits = found.shape == shape and found.dtype == np.float32 and found.flags.c_contiguous
    return found if fits else None


def _write(
    path: Path,
    shape: tuple[int, int],
    transformer: FeatureTransformer,
    values: ValuesOnDisk,
    listener: FitListener,
) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with write_atomically(path, sweep_first=False) as temporary, temporary.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for start, block in values.blocks():
            features = np.clip(transformer.transform(block), -_LARGEST, _LARGEST)
            # As a file, not as mapped memory: what is written counts as memory of the process.
            stream.write(np.ascontiguousarray(features, dtype="<f4").data)
            listener.on_rows_done("Writing features", start + len(block), len(values))


def _check_room(folder: Path, shape: tuple[int, int]) -> None:
    """Refuse what would fill the disk, before anything is written."""
    needed = 4 * shape[0] * shape[1]
    free = free_bytes(folder)
    if needed > free:
        raise TableError(
            f"The features of {shape[0]:,} rows take {describe_size(needed)} on disk. "
            f"{os.fspath(folder)!r} has {describe_size(free)} left. Make room, name another "
            "folder by the variable XDG_CACHE_HOME, or leave columns out (--ignore)."
        )
