"""Read JSON and TOML that anybody may have written, within limits of size and depth."""

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

# How deep lists and tables may lie in each other. Ours are less than ten deep.
DEEPEST = 64
# Makes the error of the caller from what is wrong, a clause such as "it is not JSON".
Refuse = Callable[[str], Exception]


def read_small_file(path: str | os.PathLike[str], refuse: Refuse, *, largest: int) -> bytes:
    """Return the content of a file that is at most so many bytes long.

    A folder, a device or a pipe is refused: reading one may never end. A file that is not there
    raises ``FileNotFoundError``.
    """
    path = Path(path)
    content = b""
    try:
        size, is_file = path.stat().st_size, path.is_file()
        if is_file and size <= largest:
            with path.open("rb") as file:
                content = file.read(size + 1)  # as much memory as asked for is taken at once
                if len(content) > size:  # it has grown
                    content += file.read(largest - size)
            size = len(content)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise refuse(f"it cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if not is_file:
        raise refuse("it is not a file, but a folder, a pipe or a device")
    if size > largest:
        raise refuse(f"it has {size:,} bytes, and the limit is {largest:,}")
    return content


def parse_json(text: str | bytes, refuse: Refuse, *, constants: bool = True) -> Any:
    """Return the value that JSON stands for, in which no key is there twice.

    ``constants`` says whether NaN and Infinity, which Python writes, are read as well.
    """
    constant = None if constants else _no_constant
    try:
        value = json.loads(
            _decoded(text), object_pairs_hook=without_repeats, parse_constant=constant
        )
    except RecursionError:
        raise refuse(_TOO_DEEP) from None
    except ValueError as error:  # also for an integer of thousands of digits
        raise refuse(f"it is not JSON: {error}") from None
    if is_too_deep(value):
        raise refuse(_TOO_DEEP)
    return value


def parse_toml(text: str | bytes, refuse: Refuse) -> dict[str, Any]:
    """Return the tables that TOML stands for."""
    try:
        text = _decoded(text)
        is_endless = _has_endless_key(text)
        tables = {} if is_endless else tomllib.loads(text)
    except RecursionError:
        raise refuse(_TOO_DEEP) from None
    except ValueError as error:
        raise refuse(f"it is not TOML: {error}") from None
    if is_endless:
        raise refuse(f"a key in it has more than {DEEPEST} parts, and the limit is {DEEPEST}")
    if is_too_deep(tables):
        raise refuse(_TOO_DEEP)
    return tables


_TOO_DEEP = f"lists and tables in it lie more than {DEEPEST} deep, and the limit is {DEEPEST}"


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1:,} is not text in UTF-8") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a value of JSON; write null where nothing is known")


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object that pairs of keys and values make up; refuse a key that is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name[:60]!r} is there twice")
    return found


def is_too_deep(value: Any) -> bool:
    """Tell how deep a value goes level by level: recursion is what is to be avoided."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


# What may hold a dot that is not part of a key, and what separates keys from one another. Every
# alternative matches without going back, so that a search takes time in proportion to the text.
_TOML_PIECE = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""+)?'
    r"|'''(?:[^']|'(?!''))*+(?:'''+)?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+"
    r"|[=,\n\[\]{}.]",
    re.DOTALL,
)


def _has_endless_key(text: str) -> bool:
    """Tell whether a dotted key has so many parts that tomllib would take minutes over it."""
    dots = 0
    for match in _TOML_PIECE.finditer(text):
        piece = match[0]
        if piece == ".":
            dots += 1
            if dots >= DEEPEST:
                return True
        elif piece in "=,\n[]{}":
            dots = 0
    return False
