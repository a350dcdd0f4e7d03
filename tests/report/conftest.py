"""What tests of reports share."""

import pytest

from disambig.report import make_report
from report.small_reports import (
    result_of,
    small,
)
from study.small_studies import write_table


@pytest.fixture(scope="session")
def plain():
    """Return a report that several tests look at: two methods on one dataset with its own sets."""
    return make_report(result_of(small("plknn", "sure", about="What there is to know.\n")))


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "small.csv")


@pytest.fixture
def data(table):
    return {"path": str(table), "truth": "truth"}
