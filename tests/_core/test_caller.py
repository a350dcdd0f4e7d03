import inspect
import warnings

import pytest

from disambig._core import errors as caller
from disambig._core.errors import warn_caller


def from_inside(module, depth):
    """Return a function of a module of that name that warns from so many calls deep."""
    space = {"__name__": module, "warn_caller": warn_caller}
    exec("def warn(depth):\n    warn(depth - 1) if depth else warn_caller('look')", space)
    return lambda: space["warn"](depth)


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_the_line_outside_the_package_is_named(depth):
    warn = from_inside("disambig.methods.some", depth)
    with pytest.warns(UserWarning, match="look") as caught:
        warn()
    assert caught[0].filename == __file__


def test_a_package_whose_name_only_begins_alike_is_outside():
    warn = from_inside("disambiguous", 0)
    with pytest.warns(UserWarning, match="look") as caught:
        warn()
    assert caught[0].filename == "<string>"


def test_without_anybody_outside_the_outermost_line_is_named(monkeypatch):
    monkeypatch.setattr(caller, "_is_inside", lambda module: True)
    outermost = inspect.stack()[-1].filename
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_caller("look")
    assert caught[0].filename == outermost
