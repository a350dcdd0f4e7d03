"""Errors, warnings that name the caller's line, and missing extras."""

import inspect
import json
import pickle
import warnings

import numpy as np
import pytest

from disambig._core import errors
from disambig._core import errors as caller
from disambig._core.errors import DisambigError, MissingExtraError, import_extra, warn_caller


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.CandidateError, ValueError),
        (errors.ParameterError, ValueError),
        (errors.DatasetFormatError, ValueError),
        (errors.HashMismatchError, ValueError),
        (errors.UnknownNameError, ValueError),
        (errors.DatasetNotFoundError, FileNotFoundError),
        (errors.DownloadError, OSError),
    ],
)
def test_errors_are_ours_and_a_builtin(error, builtin):
    assert issubclass(error, errors.DisambigError)
    assert issubclass(error, builtin)


def test_unknown_name_suggests_a_close_one_and_lists_all():
    error = errors.UnknownNameError("dataset", "glas", ["vehicle", "glass"])
    assert str(error) == (
        "There is no dataset called 'glas'. Did you mean 'glass'? Known: glass, vehicle."
    )


def test_unknown_name_suggests_nothing_when_nothing_is_close():
    assert "Did you mean" not in str(errors.UnknownNameError("dataset", "qqq", ["glass"]))


def test_unknown_name_survives_pickling():
    error = errors.UnknownNameError("method", "plkn", ["plknn"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_describe_rows_names_the_first_of_several():
    marked = np.array([False, False, True, True])
    assert errors.describe_rows(marked) == "2 samples, first at row 2"


def test_describe_rows_names_the_only_one():
    assert errors.describe_rows(np.array([False, True])) == "1 sample, at row 1"


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


def test_a_module_that_is_there_is_returned():
    assert import_extra("json", extra="anything") is json


def test_a_submodule_is_returned_itself():
    assert import_extra("json.decoder", extra="anything") is json.decoder


def test_a_module_that_is_missing_is_told_with_the_extra_that_brings_it():
    message = (
        r"This needs no_such_module, which cannot be imported "
        r"\(No module named 'no_such_module'\). Install it: pip install 'disambig\[cluster\]'."
    )
    with pytest.raises(MissingExtraError, match=message) as caught:
        import_extra("no_such_module", extra="cluster")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, DisambigError)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import what_it_needs", "No module named 'what_it_needs'"),
        (
            "from json import what_older_versions_had",
            "cannot import name 'what_older_versions_had'",
        ),
        ("raise RuntimeError('operator x::y does not exist')", "operator x::y .*belong together"),
    ],
)
def test_a_module_that_is_there_and_broken_says_why(tmp_path, monkeypatch, source, reason):
    (tmp_path / "half_installed.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match=f"needs half_installed, .*{reason}"):
        import_extra("half_installed", extra="x")
