"""Shared set-up: real data where it is at hand, and hypothesis without deadlines."""

import os

import pytest
from hypothesis import settings

# A shared machine stalls now and then; that is no failure. The same examples every time, so that
# a red run can be repeated.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests on real data, visibly, where there is none."""
    if os.environ.get("DISAMBIG_DATA"):
        return
    skip = pytest.mark.skip(reason="DISAMBIG_DATA names no folder with the real-world files")
    for item in items:
        if "realdata" in item.keywords:
            item.add_marker(skip)
