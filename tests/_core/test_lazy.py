import importlib

import pytest

import disambig


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'disambig' has no attribute 'nonsense'"):
        disambig.nonsense  # noqa: B018


def test_a_subpackage_is_found_by_its_name():
    assert disambig.__getattr__("candidates") is importlib.import_module("disambig.candidates")
