"""Fitted models that the tests of NCPD+ share; none of them changes what it is given."""

import pytest

from methods.ncpd.examples import X, Y
from methods.ncpd_plus.plus_examples import EVERY_PART, quick_mix, quick_single


@pytest.fixture(scope="session")
def mix():
    return quick_mix().fit(X, Y)


@pytest.fixture(scope="session")
def single():
    return quick_single(**EVERY_PART).fit(X, Y)
