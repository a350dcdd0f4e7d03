import json

import pytest

from disambig._core.errors import DisambigError, MissingExtraError
from disambig._core.optional import import_extra


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
    ],
)
def test_a_module_that_is_there_and_broken_says_why(tmp_path, monkeypatch, source, reason):
    (tmp_path / "half_installed.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match=f"needs half_installed, .*{reason}"):
        import_extra("half_installed", extra="x")
