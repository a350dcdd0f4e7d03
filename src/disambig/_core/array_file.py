"""Named arrays and a JSON description in one file, from which nothing is ever run.

A safetensors file holds numbers only; the description travels in its header as JSON.
"""

import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from operator import methodcaller
from pathlib import Path
from typing import Any, Literal

import numpy as np

from disambig._core.errors import ModelFileError
from disambig._core.files import write_atomically
from disambig._core.messages import printable
from disambig._core.parsing import parse_json

_KEY = "disambig"
# As safetensors calls them. Half precision is for modules of the user; numpy has no BF16.
_TYPES = {"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL"}

# What files of fitted methods are called, and how they are laid out now.
MODEL_KIND, MODEL_VERSION = "model", 2


def write_arrays(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    arrays: Mapping[str, Any],
    description: Mapping[str, Any],
    *,
    framework: Literal["numpy", "torch"] = "numpy",
) -> None:
    """Write a file of the given kind and version; an old one is replaced in one move.

    The description is anything that JSON can write; the framework is that of the arrays, among
    which there may be arrays of NumPy.
    """
    save = import_module(f"safetensors.{framework}").save
    header = json.dumps({**description, "kind": kind, "version": version})
    # What is written is memory as it lies: every array needs some of its own, in order.
    if framework == "numpy":
        arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    else:
        as_tensor = import_module("torch").as_tensor
        tensors = {name: as_tensor(array).detach().cpu() for name, array in arrays.items()}
        arrays = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
    with write_atomically(path) as temporary:
        # Not by save_file, which makes files that only their owner may read.
        temporary.write_bytes(save(dict(arrays), metadata={_KEY: header}))


def read_arrays(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    *,
    entries: Sequence[str] = (),
    framework: Literal["numpy", "torch"] = "numpy",
    finite: bool = True,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and the description of a file of the given kind and version.

    The description must have certain entries. All numbers must be finite, unless modules of the
    user are in the file: these may hold others, such as a mask.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ModelFileError(f"There is no file {os.fspath(path)!r}. Check the path.")
    types = _TYPES | ({"BF16"} if framework == "torch" else set())
    try:
        with safe_open(path, framework=framework) as file:
            description = _read_description(file.metadata() or {}, path, kind)
            _check_description(description, path, kind, version, entries)
            found = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118  # no mapping
            if not set(found.values()) <= types:
                raise refused(path, kind, "it holds numbers of a type that disambig does not write")
            arrays = {name: file.get_tensor(name) for name in found}
    except ModelFileError:
        raise
    # A shape can be too large for an array even where it holds nothing.
    except (SafetensorError, ValueError) as error:
        reason = printable(error)  # it may quote the file
        raise refused(path, kind, f"it is damaged or something else ({reason})") from error
    # Libraries rely on a boolean being 0 or 1 when they count, and write where they have counted.
    as_bytes = import_module(framework).uint8
    booleans = [arrays[name].view(as_bytes) for name, type_ in found.items() if type_ == "BOOL"]
    if any((array > 1).any() for array in booleans):
        raise refused(path, kind, "it holds booleans that are neither true nor false")
    is_finite = np.isfinite if framework == "numpy" else methodcaller("isfinite")
    if finite and not all(is_finite(array).all() for array in arrays.values()):
        raise refused(path, kind, "it holds numbers that are not finite")
    return arrays, description


def _read_description(metadata: Mapping[str, str], path: str | os.PathLike[str], kind: str) -> Any:
    return parse_json(
        metadata.get(_KEY, "null"),
        lambda reason: refused(path, kind, f"its header is damaged ({reason})"),
    )


def _check_description(
    description: Any,
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    entries: Sequence[str],
) -> None:
    if not isinstance(description, dict) or "kind" not in description:
        raise refused(path, kind, "it was not written by disambig")
    if description["kind"] != kind:
        raise refused(path, kind, f"it is a {printable(description['kind'], 60)}")
    if description.get("version") != version:
        found = printable(description.get("version"), 60)
        raise refused(path, kind, f"it has the version {found}, and this disambig reads {version}")
    missing = [entry for entry in entries if entry not in description]
    if missing:
        raise refused(path, kind, f"it does not say {', '.join(missing)}")


def take_part(arrays: dict[str, Any], part: str) -> dict[str, Any]:
    """Remove the arrays whose names begin with ``part.``, and return them by the rest of these."""
    names = [name for name in arrays if name.startswith(f"{part}.")]
    return {name.removeprefix(f"{part}."): arrays.pop(name) for name in names}


def plain(value: Any) -> Any:
    """Return a value as JSON can write it; None for what is not a number, a string or a list."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(member) for member in value]
    return value if isinstance(value, str | int | float | None) else None


def refused(path: str | os.PathLike[str], kind: str, reason: str) -> ModelFileError:
    """Return the error that a file is not what it should be."""
    return ModelFileError(
        f"{os.fspath(path)!r} is not a {kind} that disambig can read: {reason}. "
        "Give a file that disambig wrote as one, or write it again."
    )
