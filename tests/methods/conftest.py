"""Fixtures that the tests of NCPD share."""

import pytest

from methods.ncpd.examples import X, Y, quick


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(X, Y)


@pytest.fixture
def path(tmp_path, fitted):
    """A file that a model was saved to."""
    fitted.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"
