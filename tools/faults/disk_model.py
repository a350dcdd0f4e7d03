"""A disk that keeps what was synced, and what it holds after a power cut.

The content of a file is on the disk as it was when the file was last synced. A name is where it was
when its folder was last synced. A file system may keep more than that, but need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from steps import Step


@dataclass(eq=False)
class File:
    """A file, and its content on the disk."""

    synced: bytes = b""


@dataclass(eq=False)
class Folder:
    """A folder: the names in it now, and those on the disk."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    synced: dict[str, File | Folder] = field(default_factory=dict)


class Disk:
    """What is in a folder, and what of it survives a power cut.

    Parameters
    ----------
    folder : Path
        All that is in it now is on the disk.
    """

    def __init__(self, folder: Path) -> None:
        self.root = _read(folder)

    def apply(self, step: Step, synced: bytes | None) -> None:
        """Follow a step; ``synced`` is the content of the file that it syncs."""
        parent, name = self._parent(step.path), PurePosixPath(step.path).name
        if parent is None:
            return  # a system refuses that too
        node = parent.names.get(name) if name else self.root
        match step.kind:
            case "open" if node is None:
                parent.names[name] = File()
            case "mkdir" if node is None:
                parent.names[name] = Folder()
            case "remove" if isinstance(node, File):
                del parent.names[name]
            case "rmdir" if isinstance(node, Folder) and not node.names:
                del parent.names[name]
            case "sync" if isinstance(node, Folder):
                node.synced = dict(node.names)
            case "sync" if isinstance(node, File) and synced is not None:
                node.synced = synced
            case "rename" | "exchange" if node is not None:
                self._move(parent, name, step)

    def _move(self, parent: Folder, name: str, step: Step) -> None:
        target, new_name = self._parent(step.target), PurePosixPath(step.target).name
        there = None if target is None else target.names.get(new_name)
        is_full = isinstance(there, Folder) and there.names
        if target is None or (step.kind == "rename" and is_full):
            return  # a system refuses that
        target.names[new_name] = parent.names.pop(name)
        if step.kind == "exchange" and there is not None:
            parent.names[name] = there

    def _parent(self, path: str) -> Folder | None:
        folder = self.root
        for part in PurePosixPath(path).parts[:-1]:
            below = folder.names.get(part)
            if not isinstance(below, Folder):
                return None
            folder = below
        return folder

    def after_power_cut(self, *, names_reach_disk: bool) -> dict[str, bytes | None]:
        """Return the files and folders that are left: their content, None for a folder.

        At least what was synced is there. Names may have reached the disk without being synced,
        and before the content of their files did.
        """
        return dict(_walk(self.root, "", names_reach_disk))


def _read(folder: Path) -> Folder:
    names: dict[str, File | Folder] = {
        path.name: _read(path) if path.is_dir() else File(path.read_bytes())
        for path in folder.iterdir()
    }
    return Folder(names, dict(names))


def _walk(folder: Folder, path: str, names_reach_disk: bool) -> Iterator[tuple[str, bytes | None]]:
    for name, node in (folder.names if names_reach_disk else folder.synced).items():
        below = f"{path}{name}"
        if isinstance(node, File):
            yield below, node.synced
        else:
            yield below, None
            yield from _walk(node, f"{below}/", names_reach_disk)


def write_state(state: dict[str, bytes | None], place: Path) -> None:
    """Make a folder that holds what a power cut left."""
    place.mkdir()
    for name, content in state.items():  # a folder comes before what is in it
        if content is None:
            (place / name).mkdir()
        else:
            (place / name).write_bytes(content)
