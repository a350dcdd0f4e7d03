"""Fingerprints of files, of values, and of the code that a result depends on."""

import ast
import functools
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from disambig._core.errors import HashMismatchError

# Of an array, taken into a fingerprint at a time.
_MOST_NUMBERS = 2**20


def sha256_hex(*chunks: bytes) -> str:
    """Return the SHA-256 of the chunks, one after the other, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def file_digest(content: bytes, kind: str) -> str:
    """Return ``kind:digest`` of ``content``; the kinds are ``sha256`` and ``git-blob``."""
    if kind == "git-blob":
        # The name git gives to a file: a digest of its length and its content.
        header = f"blob {len(content)}\0".encode()
        return f"git-blob:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"
    return f"sha256:{sha256_hex(content)}"


def has_digest(content: bytes, expected: str) -> bool:
    """Tell whether the digest of ``content`` is the ``expected`` one, or all of several are."""
    known = expected.split()
    return bool(known) and all(file_digest(content, one.partition(":")[0]) == one for one in known)


def check_file_digest(content: bytes, expected: str, path: Path | str, advice: str) -> None:
    """Refuse ``content`` whose digest is not the ``expected`` one, or one of several is not."""
    for one in expected.split():
        found = file_digest(content, one.partition(":")[0])
        if found != one:
            raise HashMismatchError(
                f"{path} is not the known file. Needed {one}, got {found}. {advice}"
            )


def file_state(path: Path) -> list[Any]:
    """Return what tells a file from others, and from what it was before, without reading it.

    The time of the last change of its state is there because the other time can be set back:
    tools that unpack or copy files do so.
    """
    state = path.stat()
    return [str(path.resolve()), state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def fingerprint_of(*values: Any) -> str:
    """Return a hash of values, in their order.

    Arrays of numbers count by shape and values, not by how they are stored. Anything with a
    method ``fingerprint_parts`` counts by the values that this returns, and anything with a shape
    and ``blocks()`` as the array that these are the rows of. Everything else must be
    what ``json`` can write; NumPy scalars, tuples and arrays of strings may be inside.
    """
    return sha256_hex(*(chunk for value in values for chunk in _chunks(value)))


def _chunks(value: Any) -> Iterator[bytes]:
    """Yield what a value is hashed by, with its kind and its length, so that none run together."""
    if hasattr(value, "fingerprint_parts"):
        parts = value.fingerprint_parts()
        yield f"parts {len(parts)};".encode()
        for part in parts:
            yield from _chunks(part)
        return
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        kind = "<f8" if value.dtype.kind == "f" else "<i8"
        yield f"array {kind} {value.shape};".encode()
        # In parts: a copy of all might not fit into memory.
        rows = np.atleast_1d(value)
        most = max(1, _MOST_NUMBERS // max(1, math.prod(rows.shape[1:])))
        for first in range(0, len(rows), most):
            yield np.ascontiguousarray(rows[first : first + most], dtype=kind).tobytes()
        return
    if hasattr(value, "blocks"):
        # Numbers that are read from a file: the same as if they were in an array.
        yield f"array <f8 {value.shape};".encode()
        for block in value.blocks():
            yield np.ascontiguousarray(block, dtype="<f8").tobytes()
        return
    text = json.dumps(value, sort_keys=True, default=_as_list).encode()
    yield f"json {len(text)};".encode()
    yield text


def _as_list(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    kind = type(value).__name__
    raise TypeError(f"Cannot take the fingerprint of a {kind}: give plain values or arrays.")


# The code that a result depends on ---------------------------------------------------------------

# Messages, types, files: nothing in these modules can change the result of a method.
_WITHOUT_EFFECT = frozenset(
    f"disambig._core.{name}"
    for name in ("array_file", "errors", "files", "fingerprint", "messages", "typing")
) | {"disambig._version", "disambig.methods.saving", "disambig.methods.networks.model_file"}


def code_fingerprint(*targets: Any) -> str:
    """Return one hash of the code that classes, functions or modules depend on."""
    return fingerprint_of(code_hashes(*targets))


@functools.cache
def code_hashes(*targets: Any) -> Mapping[str, str]:
    """Return a hash for every module that targets depend on, of what they reach in it.

    A target is a class or a function, or a module, which stands for all that is in it. It reaches
    the statements that define it and, from there, every name that these use: defined in the same
    module or imported, inside functions too, from disambig or from a package that a target is from.
    So a function that is added to a module changes nothing for those who do not call it. Comments,
    docstrings and formatting do not count, nor do imports under ``TYPE_CHECKING``, other libraries,
    code without a source file, and what is found by name at run time.
    """
    waiting: list[tuple[str, str | None]] = [
        (target.__name__, None)
        if isinstance(target, ModuleType)
        else (target.__module__, target.__qualname__.partition(".")[0])
        for target in targets
    ]
    packages = ["disambig", *(module.partition(".")[0] for module, _ in waiting)]
    folders = {name: _folder(sys.modules[name]) for name in packages}
    reached: dict[str, set[str]] = {}
    seen = set(waiting)
    while waiting:
        module, name = waiting.pop()
        file = _source_file(module, folders)
        if file is None or module in _WITHOUT_EFFECT:
            continue
        for statement in _reached_by(name, _read_module(module, file, file.stat().st_mtime_ns)):
            reached.setdefault(module, set()).add(statement.code)
            uses: set[tuple[str, str | None]] = {(module, used) for used in statement.names}
            uses |= {_home_of(source, used, folders) for source, used in statement.imports}
            waiting += uses - seen
            seen |= uses
    return {
        module: sha256_hex(*sorted(code.encode() for code in codes))[:16]
        for module, codes in sorted(reached.items())
    }


def _folder(module: ModuleType) -> Path | None:
    """Return the folder of a top-level package, or the file of a top-level module."""
    if hasattr(module, "__path__"):
        return Path(next(iter(module.__path__)))
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file)


def _source_file(module: str, folders: Mapping[str, Path | None]) -> Path | None:
    """Return the file of a module that is in one of the packages, or None."""
    top, *names = module.split(".")
    folder = folders.get(top)
    if folder is None:
        return None
    path = folder.joinpath(*names)
    files = (path, path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in files if file.suffix == ".py" and file.is_file()), None)


def _home_of(
    module: str, name: str | None, folders: Mapping[str, Path | None]
) -> tuple[str, str | None]:
    """Return the module and the name in it that ``from module import name`` finds."""
    file = _source_file(module, folders)
    if name is None or file is None:
        return module, None
    if _source_file(f"{module}.{name}", folders) is not None:
        return f"{module}.{name}", None
    # A package whose names are imported on first use lists them in its stub.
    stub = file.with_suffix(".pyi")
    if stub.is_file():
        for statement in _read_module(module, stub, stub.stat().st_mtime_ns):
            if name in statement.binds and statement.imports:
                return _home_of(*statement.imports[0], folders)
    return module, name


@dataclass(frozen=True)
class _Statement:
    """A top-level statement: what it says, binds, uses and imports."""

    code: str
    binds: frozenset[str]
    names: frozenset[str]
    imports: tuple[tuple[str, str | None], ...]
    only_defines: bool  # nothing else happens when it is run


def _reached_by(name: str | None, statements: Sequence[_Statement]) -> list[_Statement]:
    """Return what defines a name, and what runs on import; all for None or an unknown name."""
    is_unknown = not any(name in one.binds for one in statements)
    return [one for one in statements if is_unknown or name in one.binds or not one.only_defines]


@functools.cache
def _read_module(module: str, file: Path, changed_ns: int) -> list[_Statement]:  # noqa: ARG001
    """Return the statements of a module, read again when the file has changed."""
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    tree = _CodeAlone().visit(ast.parse(file.read_bytes()))
    found = [_read_statement(node, package) for node in tree.body]
    bound = frozenset[str]().union(*(one.binds for one in found))
    # Of the names used, only those of the module itself are followed.
    return [replace(one, names=one.names & bound) for one in found]


class _CodeAlone(ast.NodeTransformer):
    """Drops docstrings and what only type checkers see; splits imports into one for each name."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt]:
        self.generic_visit(node)
        is_for_types = ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        return node.orelse if is_for_types else node

    def visit_Import(self, node: ast.Import) -> list[ast.Import]:
        return [ast.Import([alias]) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.ImportFrom]:
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DEFINITIONS = (*_SCOPES, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)


def _read_statement(statement: ast.stmt, package: str) -> _Statement:
    nodes = list(ast.walk(statement))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    imports = [
        _read_import(node, package)
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    if isinstance(statement, _SCOPES):
        binds = {statement.name}
    else:
        binds = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        binds |= {node.name for node in nodes if isinstance(node, _SCOPES)}
        binds |= {name for name, _ in imports}
    return _Statement(
        code=_dump(statement),
        binds=frozenset(binds),
        names=frozenset(node.id for node in names),
        imports=tuple(source for _, source in imports),
        # Not a loop, a call, x.y = z, or an import of everything.
        only_defines=isinstance(statement, _DEFINITIONS) and bool(binds - {"*"}),
    )


def _read_import(
    node: ast.Import | ast.ImportFrom, package: str
) -> tuple[str, tuple[str, str | None]]:
    """Return the name that an import binds, and its module and its name there or None."""
    (alias,) = node.names
    if isinstance(node, ast.Import):
        return alias.asname or alias.name.partition(".")[0], (alias.name, None)
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1] if node.level else []
    module = ".".join([*above, *([node.module] if node.module else [])])
    return alias.asname or alias.name, (module, None if alias.name == "*" else alias.name)


def _dump(node: Any) -> str:
    if isinstance(node, list):
        return f"[{''.join(map(_dump, node))}]"
    if not isinstance(node, ast.AST):
        return f"{node!r},"
    # Unlike ast.dump, the same in all versions: fields that newer ones add are empty here.
    fields = (
        f"{field}={_dump(value)}"
        for field, value in ast.iter_fields(node)
        if value is not None and value != [] and field not in ("ctx", "kind")
    )
    return f"{type(node).__name__}({''.join(fields)})"
