"""Fingerprints of files, of values, and of the code that a result depends on."""

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from disambig._core.errors import HashMismatchError

__all__ = [
    "check_file_digest",
    "code_fingerprint",
    "file_digest",
    "fingerprint_of",
    "has_digest",
    "sha256_hex",
]


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


# Nothing in these modules can change the result of a method.
_WITHOUT_EFFECT = frozenset(
    f"disambig.{name}" for name in ("_core.errors", "_core.messages", "_core.typing", "_version")
)


@functools.cache
def code_fingerprint(target: type | ModuleType) -> str:
    """Return a hash of the code that a class or a module depends on.

    That is the module itself, or those of the class and its bases, and all modules of disambig
    and of the target's own package that they import, directly or not. Imports are read from the
    source, those inside functions included; those under ``TYPE_CHECKING`` do not count. Comments,
    docstrings and formatting do not change the hash. Other libraries do not count either, nor
    does what is reached only as an attribute after ``import package``.

    Parameters
    ----------
    target : class or module
        Modules without a source file, such as compiled ones, are left out.
    """
    if isinstance(target, ModuleType):
        home, modules = target.__name__, [target.__name__]
    else:
        home, modules = target.__module__, [base.__module__ for base in target.__mro__]
    roots = {name: _root(sys.modules[name]) for name in ("disambig", home.partition(".")[0])}
    hashes: dict[str, str] = {}
    while modules:
        module = modules.pop()
        if module in hashes or module in _WITHOUT_EFFECT:
            continue
        file = _source_file(module, roots)
        if file is not None:
            hashes[module], imports = _read_module(module, file)
            modules += [_home_of(name, package, roots) for package, name in imports]
    return fingerprint_of(hashes)


def _root(module: ModuleType) -> Path | None:
    """Return the folder of a top-level package, or the file of a top-level module."""
    if hasattr(module, "__path__"):
        return Path(next(iter(module.__path__)))
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file)


def _source_file(module: str, roots: Mapping[str, Path | None]) -> Path | None:
    """Return the file of a module that is in one of the packages, or None."""
    top, *names = module.split(".")
    root = roots.get(top)
    if root is None:
        return None
    path = root.joinpath(*names)
    files = (path, path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in files if file.suffix == ".py" and file.is_file()), None)


def _home_of(name: str | None, module: str, roots: Mapping[str, Path | None]) -> str:
    """Return the module that ``from module import name`` takes the name from."""
    file = _source_file(module, roots)
    if name is None or file is None:
        return module
    if _source_file(f"{module}.{name}", roots) is not None:
        return f"{module}.{name}"
    # A package whose names are imported on first use lists them in its stub.
    stub = file.with_suffix(".pyi")
    sources = _read_module(module, stub)[1] if stub.is_file() else []
    return next((source for source, known in sources if known == name), module)


@functools.cache
def _read_module(module: str, file: Path) -> tuple[str, list[tuple[str, str | None]]]:
    """Return the hash of a file's code, and its imports: a module, and a name from it or None."""
    code: list[str] = []
    imports: list[tuple[str, str | None]] = []
    package = module if file.stem == "__init__" else module.rpartition(".")[0]

    def visit(node: Any) -> None:
        if isinstance(node, list):
            code.append("[")
            for item in node:
                if not _has_no_effect(item):
                    visit(item)
            code.append("]")
        elif isinstance(node, ast.AST):
            code.append(f"{type(node).__name__}(")
            for field, value in ast.iter_fields(node):
                # Fields that newer versions of Python add are empty in older code.
                if value is not None and value != [] and field not in ("ctx", "kind"):
                    code.append(f"{field}=")
                    visit(value)
            code.append(")")
            imports.extend(_imports(node, package))
        else:
            code.append(f"{node!r},")

    visit(ast.parse(file.read_bytes()))
    return sha256_hex("".join(code).encode("utf-8", "backslashreplace")), imports


def _has_no_effect(statement: object) -> bool:
    """Tell whether a statement is a docstring, or is there for type checkers only."""
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return False


def _imports(node: ast.AST, package: str) -> Iterator[tuple[str, str | None]]:
    """Yield what an import statement in a module of ``package`` names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, None
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            yield module, alias.name
