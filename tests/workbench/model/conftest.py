"""A fitted model, in a folder and in files."""

from pathlib import Path

import pytest

from disambig.workbench.model.model_folder import save_model
from disambig.workbench.model.skops_file import write_skops
from workbench.model.saved_models import MODELS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Save a model."""
    save_model(MODELS["plknn"], tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Write a transformer."""
    write_skops(MODELS["plknn"].transformer, tmp_path / "features.skops")
    return tmp_path / "features.skops"


@pytest.fixture
def method(tmp_path: Path) -> Path:
    """Write a method."""
    write_skops(MODELS["plknn"].method, tmp_path / "method.skops", finite=True)
    return tmp_path / "method.skops"
