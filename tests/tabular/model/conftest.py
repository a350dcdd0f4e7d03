"""Fitted models, in folders and in files.

Saving one takes longer than most tests of it, so it is done once; every test has a copy of its
own to damage.
"""

import shutil
from pathlib import Path

import pytest

from disambig.tabular.model.model_folder import save_model
from disambig.tabular.model.skops_file import write_skops
from tabular.model.saved_models import MODELS


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the models by their names, and the parts of one on their own."""
    place = tmp_path_factory.mktemp("saved")
    for name, model in MODELS.items():
        save_model(model, place / name)
    model = MODELS["plknn"]
    write_skops(model.transformer, place / "features.skops")
    write_skops(model.method, place / "method.skops", finite=True)
    return place


@pytest.fixture
def folder(tmp_path: Path, saved: Path) -> Path:
    """Return a folder with a model."""
    return Path(shutil.copytree(saved / "plknn", tmp_path / "model"))


@pytest.fixture
def features(tmp_path: Path, saved: Path) -> Path:
    """Return a file with a transformer."""
    return Path(shutil.copy(saved / "features.skops", tmp_path))


@pytest.fixture
def method(tmp_path: Path, saved: Path) -> Path:
    """Return a file with a method."""
    return Path(shutil.copy(saved / "method.skops", tmp_path))
