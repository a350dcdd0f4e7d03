"""Tensors and what describes them, in one file that nothing is unpickled from.

A safetensors file holds numbers only; the description travels in its header as JSON.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from disambig._core.errors import ModelFileError
from disambig._core.files import written_atomically

__all__ = ["plain", "read_tensors", "write_tensors"]

_KEY = "disambig"
# Half precision and integers of all sizes are what modules of the user may bring.
_TYPES = {
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
}  # fmt: skip


def write_tensors(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    tensors: Mapping[str, Tensor],
    description: Mapping[str, Any],
) -> None:
    """Write a file of the given kind and version; an old one is replaced in one move."""
    from safetensors.torch import save  # only those who keep files need it

    header = json.dumps({**description, "kind": kind, "version": version})
    # Each tensor needs memory of its own, in order.
    plain = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    with written_atomically(path) as temporary:
        # Its own way of writing files leaves them readable by nobody else.
        temporary.write_bytes(save(plain, metadata={_KEY: header}))


def read_tensors(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    *,
    entries: Sequence[str] = (),
    finite: bool = True,
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the description of a file.

    Parameters
    ----------
    path : path
        Of the file.
    kind, version : str, int
        What it must be.
    entries : sequence of str
        What the description must have.
    finite : bool, default=True
        Whether all numbers must be finite. Modules of the user may hold others, such as a mask.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ModelFileError(f"There is no file {os.fspath(path)!r}. Check the path.")
    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(_KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _refused(path, kind, f"it is damaged or something else ({error})") from error
    try:
        description = json.loads(header) if header is not None else None
    except (ValueError, RecursionError) as error:
        raise _refused(path, kind, f"its header is damaged ({error})") from error
    if not isinstance(description, dict) or "kind" not in description:
        raise _refused(path, kind, "it was not written by disambig")
    if description["kind"] != kind:
        raise _refused(path, kind, f"it is a {description['kind']}")
    if description.get("version") != version:
        raise _refused(
            path,
            kind,
            f"it has the version {description.get('version')}, and this disambig reads {version}",
        )
    missing = [entry for entry in entries if entry not in description]
    if missing:
        raise _refused(path, kind, f"it does not say {', '.join(missing)}")
    if not {value.dtype for value in tensors.values()} <= _TYPES:
        raise _refused(path, kind, "it holds numbers of a type that disambig does not write")
    if finite and not all(torch.isfinite(value).all() for value in tensors.values()):
        raise _refused(path, kind, "it holds numbers that are not finite")
    return tensors, description


def plain(value: Any) -> Any:
    """Return parameters as JSON can write them; None for what is neither number, text nor list."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(member) for member in value]
    return value if isinstance(value, str | int | float | None) else None


def _refused(path: str | os.PathLike[str], kind: str, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(path)!r} is no {kind} that can be read: {reason}. "
        "Give a file that disambig wrote as one, or write it again."
    )
