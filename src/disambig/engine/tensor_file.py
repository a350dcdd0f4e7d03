"""Tensors and what describes them, in a file of the kind that all methods use."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from disambig._core.array_file import read_arrays, write_arrays

__all__ = ["read_tensors", "write_tensors"]


def write_tensors(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    tensors: Mapping[str, Tensor],
    description: Mapping[str, Any],
) -> None:
    """Write a file of the given kind and version; an old one is replaced in one move."""
    # Each tensor needs memory of its own, in order.
    alone = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    write_arrays(path, kind, version, alone, description, framework="torch")


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
    return read_arrays(
        path,
        kind,
        version,
        entries=entries,
        framework="torch",
        are_finite=torch.isfinite if finite else None,
    )
