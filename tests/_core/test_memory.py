import os

import pytest

from disambig._core import memory
from disambig._core.memory import machine_memory, memory_for_work


@pytest.fixture
def limits(tmp_path, monkeypatch):
    files = [tmp_path / "new", tmp_path / "old"]
    monkeypatch.setattr(memory, "_LIMITS", [str(file) for file in files])
    return files


@pytest.fixture
def eight_pages(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 8}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)


def test_memory_is_that_of_the_machine_where_nothing_limits_it(limits, eight_pages):
    assert machine_memory() == 8 * 4096
    assert memory_for_work() == 2 * 4096
    limits[0].write_text("max\n")
    assert machine_memory() == 8 * 4096


def test_a_container_may_have_less_but_not_more(limits, eight_pages):
    limits[1].write_text(f"{2**63}\n")
    assert machine_memory() == 8 * 4096
    limits[0].write_text("4096\n")
    assert machine_memory() == 4096


def test_memory_that_no_system_tells_is_taken_to_be_that_of_a_usual_machine(limits, monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert machine_memory() == 8 * 10**9
