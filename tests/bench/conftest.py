"""What tests of studies and reports share: a small table, a store, a log of fits, a report."""

from contextlib import nullcontext

import pytest

from bench.in_process import InThisProcess
from bench.small_reports import result_of, small
from bench.small_studies import write_table
from bench.study_methods import LOG_VARIABLE
from disambig.bench import make_report
from disambig.bench.backends import BACKENDS


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


@pytest.fixture(scope="session")
def plain():
    """Return a report that several tests look at: two methods on one dataset with its own sets."""
    return make_report(result_of(small("plknn", "sure", about="What there is to know.\n")))


@pytest.fixture
def data(table):
    return {"path": str(table), "truth": "truth"}
