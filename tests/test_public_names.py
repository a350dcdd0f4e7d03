"""Public names stand in the stubs of their packages and are imported on first use."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import disambig

ROOT = Path(disambig.__file__).parent
STUBS = sorted(ROOT.rglob("*.pyi"))
PACKAGES = [".".join(stub.parent.relative_to(ROOT.parent).parts) for stub in STUBS]


def test_the_public_packages_have_stubs():
    public = ("bench", "candidates", "datasets", "methods", "metrics", "tabular", "web")
    assert ["disambig", *(f"disambig.{name}" for name in public)] == PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_can_be_imported_and_is_listed(name):
    package = importlib.import_module(name)
    assert package.__doc__
    for public in package.__all__:
        assert getattr(package, public) is not None
        assert public in dir(package)


@pytest.mark.parametrize("stub", STUBS, ids=PACKAGES)
def test_no_module_has_the_name_of_something_else_that_is_public(stub):
    # An imported module becomes an attribute of its package, in place of the name.
    modules = {path.stem for path in stub.parent.iterdir()}
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        assert isinstance(statement, ast.ImportFrom)
        if statement.module is not None:
            assert not modules & {alias.name for alias in statement.names}


@pytest.mark.parametrize("stub", STUBS, ids=PACKAGES)
def test_type_checkers_see_every_name_of_a_stub(stub):
    # In a stub only "import x as x" makes x public.
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        assert all(alias.name == alias.asname for alias in statement.names)


@pytest.mark.parametrize("name", ["candidates", "datasets", "methods", "metrics", "bench"])
def test_subpackages_are_attributes_without_being_imported_by_name(name):
    code = f"import disambig; print(disambig.{name}.__name__)"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == f"disambig.{name}"
    assert name in dir(disambig)
    assert disambig.__getattr__(name) is importlib.import_module(f"disambig.{name}")
