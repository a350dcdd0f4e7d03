"""Import the public names of a package on first use, as its stub lists them."""

import ast
import importlib
from collections.abc import Callable
from importlib.util import resolve_name
from pathlib import Path
from typing import Any


def names_from_stub(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package (PEP 562).

    The stub ``__init__.pyi`` has one line for every name: ``from .module import name as name``, or
    ``from . import module as module``. Written here rather than taken from ``lazy_loader``, because
    methods have to run where nothing but NumPy, SciPy, scikit-learn and torch is installed.
    """
    lines = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
    homes = {
        alias.name: resolve_name("." * line.level + (line.module or ""), package)
        for line in lines
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(homes[name]), name)

    return get_attribute, lambda: sorted(homes), sorted(homes)
