"""Fingerprints of files, of values, and of the code that a result depends on."""

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from disambig._core.errors import HashMismatchError


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
    """Tell whether the digest of ``content`` is the ``expected`` one."""
    return file_digest(content, expected.partition(":")[0]) == expected


def check_file_digest(content: bytes, expected: str, path: Path | str, advice: str) -> None:
    """Refuse ``content`` whose digest is not the ``expected`` one."""
    if not has_digest(content, expected):
        found = file_digest(content, expected.partition(":")[0])
        raise HashMismatchError(
            f"{path} is not the known file. Needed {expected}, got {found}. {advice}"
        )


def fingerprint_of(*values: Any) -> str:
    """Return a hash of values, in their order.

    Arrays of numbers count by shape and values, not by how they are stored. Anything with a
    method ``fingerprint_parts`` counts by the values that this returns. Everything else must be
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
        yield np.ascontiguousarray(value, dtype=kind).tobytes()
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
    """Return a hash of the code that classes, functions or modules depend on.

    Parameters
    ----------
    *targets : class, function or module
        Of disambig or of any other package. See ``code_hashes``.
    """
    return fingerprint_of(code_hashes(*targets))


@functools.cache
def code_hashes(*targets: Any) -> Mapping[str, str]:
    """Return a hash for every module that targets depend on, of what they reach in it.

    A target reaches the statements that define it and, from there, every name that these use:
    defined in the same module or imported, inside functions too, from disambig or from a package
    that a target is from. So a function that is added to a module changes nothing for those who do
    not call it. Comments, docstrings and formatting do not count, nor do imports under
    ``TYPE_CHECKING``, other libraries, and what is found by name at run time.

    Parameters
    ----------
    *targets : class, function or module
        A module stands for all that is in it. Code without a source file, such as compiled code,
        is left out.
    """
    homes = {target.__name__ if _is_module(target) else target.__module__ for target in targets}
    folders = {
        name: _folder(sys.modules[name])
        for name in ("disambig", *(home.partition(".")[0] for home in homes))
    }
    reached: dict[str, dict[str, None]] = {}
    waiting: list[tuple[str, str | None]] = [
        (target.__name__, None)
        if _is_module(target)
        else (target.__module__, target.__qualname__.partition(".")[0])
        for target in targets
    ]
    seen = set(waiting)
    while waiting:
        module, name = waiting.pop()
        file = _source_file(module, folders)
        if file is None or module in _WITHOUT_EFFECT:
            continue
        for statement in _read_module(module, file).reached_by(name):
            reached.setdefault(module, {})[statement.code] = None
            uses: set[tuple[str, str | None]] = {(module, used) for used in statement.names}
            uses |= {_home_of(source, used, folders) for source, used in statement.imports}
            waiting += uses - seen
            seen |= uses
    return {
        module: sha256_hex(*sorted(code.encode() for code in codes))[:16]
        for module, codes in sorted(reached.items())
    }


def _is_module(target: Any) -> bool:
    return isinstance(target, ModuleType)


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
        for statement in _read_module(module, stub).statements:
            if name in statement.binds and statement.imports:
                return _home_of(*statement.imports[0], folders)
    return module, name


@dataclass(frozen=True)
class _Statement:
    """A top-level statement: what it says, binds, uses and imports. An import has one name."""

    code: str
    binds: frozenset[str]
    names: frozenset[str]
    imports: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class _Source:
    statements: tuple[_Statement, ...]

    def reached_by(self, name: str | None) -> list[_Statement]:
        """Return what defines a name, and what runs on import; all for None or an unknown name."""
        if not any(name in statement.binds for statement in self.statements):
            return list(self.statements)
        return [
            statement
            for statement in self.statements
            if name in statement.binds or not statement.binds
        ]


@functools.cache
def _read_module(module: str, file: Path) -> _Source:
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    found = []
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, source in _imports(node, package):
                code = f"import {source} as {name}"
                found.append(_Statement(code, frozenset([name]), frozenset(), (source,)))
        elif not _has_no_effect(node):
            found.append(_read_statement(node, package))
    bound = frozenset[str]().union(*(statement.binds for statement in found))
    # Of the names used, only those of the module itself are followed.
    return _Source(tuple(replace(one, names=one.names & bound) for one in found))


def _read_statement(statement: ast.stmt, package: str) -> _Statement:
    code: list[str] = []
    binds: set[str] = set()
    names: set[str] = set()
    imports: list[tuple[str, str | None]] = []

    def visit(node: Any, *, is_top: bool) -> None:
        if isinstance(node, list):
            code.append("[")
            for item in node:
                if not _has_no_effect(item):
                    visit(item, is_top=is_top)
            code.append("]")
        elif isinstance(node, ast.AST):
            note(node, is_top=is_top)
            is_top &= not isinstance(node, _SCOPES)
            code.append(f"{type(node).__name__}(")
            for field, value in ast.iter_fields(node):
                # Fields that newer versions of Python add are empty in older code.
                if value is not None and value != [] and field not in ("ctx", "kind"):
                    code.append(f"{field}=")
                    visit(value, is_top=is_top)
            code.append(")")
        else:
            code.append(f"{node!r},")

    def note(node: ast.AST, *, is_top: bool) -> None:
        if isinstance(node, ast.Name):
            (binds if is_top and isinstance(node.ctx, ast.Store) else names).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for bound, source in _imports(node, package):
                imports.append(source)
                if is_top:
                    binds.add(bound)
        elif is_top and isinstance(node, _SCOPES) and not isinstance(node, ast.Lambda):
            binds.add(node.name)

    visit(statement, is_top=True)
    text = "".join(code).encode("utf-8", "backslashreplace").decode()
    return _Statement(text, frozenset(binds), frozenset(names), tuple(imports))


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _has_no_effect(statement: object) -> bool:
    """Tell whether a statement is a docstring, or is there for type checkers only."""
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return False


def _imports(
    node: ast.Import | ast.ImportFrom, package: str
) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Yield the names that an import binds, each with its module and its name there or None."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], (alias.name, None)
        return
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    module = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        yield alias.asname or alias.name, (module, None if alias.name == "*" else alias.name)
