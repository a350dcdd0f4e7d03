"""What an attack is: a folder made hostile by a file that somebody made up to do harm."""

import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bombs import pack_zip

Make = Callable[[Path], object]
ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m"
MARKUP = "<script>owned()</script><img src=x onerror=owned()>[bold red]x[/]"


@dataclass(frozen=True)
class Attack:
    """A folder made hostile.

    Attributes
    ----------
    reader : str
        The name of the reader that meets it: every command of it is run.
    name : str
        What it is.
    make : callable
        Changes the folder, which is a good one.
    codes : tuple of int, optional
        Exit codes that are right, if not those of the reader: (2,) for what must be refused.
    command : tuple of str, optional
        The only command to run, in the place of those of the reader.
    """

    reader: str
    name: str
    make: Make
    codes: tuple[int, ...] = ()
    command: tuple[str, ...] = ()


def put(file: str, content: bytes | str | Callable[[], bytes]) -> Make:
    """Return a change of a folder: a file with this content."""

    def make(folder: Path) -> None:
        made = content() if callable(content) else content
        encoded = made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made
        target = min(folder.glob(file), default=folder / file)
        target.write_bytes(encoded)

    return make


def change_archive(
    file: str, changes: dict[str, Any], claims: dict[str, int] | None = None
) -> Make:
    """Return a change of members of an archive: new content, or a function of the old."""

    def make(folder: Path) -> None:
        path = folder / file
        with zipfile.ZipFile(path) as archive:
            members: dict[str, Any] = {name: archive.read(name) for name in archive.namelist()}
        for name, content in changes.items():
            if callable(content):
                content = content() if name not in members else content(members[name])
            members[name] = content
        path.write_bytes(pack_zip(members, claims))

    return make


class Payload:
    """What makes a file wherever it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, ("marker",)
