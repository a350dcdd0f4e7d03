"""What tests of studies share: a small table, a store, a log of fits, a way without workers."""

from contextlib import nullcontext

import pytest

from disambig.study.backends import BACKENDS
from study.in_process import InThisProcess
from study.own_methods import LOG_VARIABLE
from study.small_studies import write_table


@pytest.fixture
def table(tmp_path):
    """Return the path of a small table, as CSV."""
    return write_table(tmp_path / "small.csv")


@pytest.fixture
def store(tmp_path):
    """Return a folder for records that is not there yet."""
    return tmp_path / "store"


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Return the path of the file that methods of ours write their fits into."""
    path = tmp_path / "log"
    monkeypatch.setenv(LOG_VARIABLE, str(path))
    return path


@pytest.fixture
def in_this_process(monkeypatch):
    """Let jobs be done here."""
    monkeypatch.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(InThisProcess()))
