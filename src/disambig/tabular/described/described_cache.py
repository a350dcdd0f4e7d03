"""Numbers of cells, kept in a folder by the content of the cells: never computed twice.

A file holds some cells with their numbers, is written once and named by what is in it, so several
processes can share a folder. A file that is damaged counts as missing: its cells are computed
again. The folder can be deleted at any time.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from disambig._core.array_file import read_arrays, write_arrays
from disambig._core.errors import ModelFileError, TableError, warn_caller
from disambig._core.files import DISK_ERRORS
from disambig._core.fingerprint import sha256_hex
from disambig._core.temporaries import sweep
from disambig._core.typing import AnyArray
from disambig.tabular.described.describers import Describer

_KIND, _VERSION = "file of described cells", 1
_KEY_BYTES = 32
_NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}\.safetensors")


class DescribedCache:
    """The numbers that one describer has given to contents, by their SHA-256."""

    def __init__(self, folder: str | os.PathLike[str], describer: Describer) -> None:
        self._folder = Path(folder)
        self._describer = describer
        self._name = sha256_hex(f"{describer.name} {describer.fingerprint}".encode())
        if os.path.lexists(self._folder) and not self._folder.is_dir():
            raise TableError(
                f"The numbers of images and texts are kept in the folder {os.fspath(folder)!r}, "
                "and there is something else. Move it away."
            )

    def load(self) -> dict[bytes, AnyArray]:
        """Return what is kept: the numbers of every content, by its hash."""
        found: dict[bytes, AnyArray] = {}
        if self._folder.is_dir():
            sweep(self._folder, lambda name: _NAME.fullmatch(name) is not None)
            for path in sorted(self._folder.glob(f"{self._name[:16]}-*.safetensors")):
                found.update(self._read(path))
        return found

    def keep(self, described: Mapping[bytes, AnyArray]) -> None:
        """Keep numbers by the hash of their content; warn where they cannot be written."""
        if not described:
            return
        keys = np.frombuffer(b"".join(described), dtype=np.uint8).reshape(-1, _KEY_BYTES)
        arrays: dict[str, AnyArray] = {"keys": keys, "numbers": np.stack(list(described.values()))}
        digest = _digest(arrays)
        path = self._folder / f"{self._name[:16]}-{digest[:16]}.safetensors"
        about = {"describer": self._describer.name, "whose": self._name, "digest": digest}
        try:
            write_arrays(path, _KIND, _VERSION, arrays, about)
        except OSError as error:
            if error.errno in DISK_ERRORS:
                raise
            warn_caller(
                f"Numbers of images and texts cannot be kept in {os.fspath(self._folder)!r}, and "
                f"will be computed again next time: {error.strerror or error}."
            )

    def _read(self, path: Path) -> dict[bytes, AnyArray]:
        try:
            arrays, about = read_arrays(path, _KIND, _VERSION, entries=("whose", "digest"))
        except (ModelFileError, OSError):
            return {}
        if set(arrays) != {"keys", "numbers"}:
            return {}
        keys, numbers = arrays["keys"], arrays["numbers"]
        fits = (
            keys.dtype == np.uint8
            and numbers.dtype == np.float32
            and keys.shape == (len(numbers), _KEY_BYTES)
            and numbers.shape == (len(keys), self._describer.width)
            and about["whose"] == self._name
            and about["digest"] == _digest(arrays)
        )
        if not fits:
            return {}
        return {key.tobytes(): row for key, row in zip(keys, numbers, strict=True)}


def _digest(arrays: Mapping[str, AnyArray]) -> str:
    return sha256_hex(arrays["keys"].tobytes(), arrays["numbers"].tobytes())
