import ast
import inspect
import subprocess
import sys

import pytest

import disambig
import disambig.methods


@pytest.mark.parametrize("package", [disambig, disambig.methods])
def test_every_public_name_can_be_imported_and_is_listed(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)


@pytest.mark.parametrize("package", [disambig, disambig.methods])
def test_the_names_for_type_checkers_are_the_public_ones(package):
    tree = ast.parse(inspect.getsource(package))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name for node in block.body for alias in node.names}
    assert typed == set(package.__all__) - {"__version__"}


@pytest.mark.parametrize("name", ["candidates", "datasets", "methods", "metrics", "bench"])
def test_subpackages_are_attributes_without_being_imported_by_name(name):
    code = f"import disambig; print(disambig.{name}.__name__)"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == f"disambig.{name}"
    assert disambig.__getattr__(name) is sys.modules[f"disambig.{name}"]
    assert name in dir(disambig)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'disambig' has no attribute 'nonsense'"):
        disambig.nonsense  # noqa: B018
