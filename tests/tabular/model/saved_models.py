"""Models that the tests of model folders save, and the files that they become."""

from pathlib import Path

from sklearn.compose import ColumnTransformer

from disambig.methods import NCPDClassifier
from disambig.tabular.model.skops_file import read_skops
from tabular.model.model_folders import fitted

QUICK_NETWORK = NCPDClassifier(hidden=8, epochs=4, ramp_epochs=2, random_state=0, device="cpu")
MODELS = {"plknn": fitted("plknn"), "m3pl": fitted("m3pl"), "ncpd": fitted(QUICK_NETWORK)}
FILES = {
    "plknn": ["features.skops", "method.skops", "model.json"],
    "m3pl": ["features.skops", "method.skops", "model.json"],
    "ncpd": ["features.skops", "method.safetensors", "model.json"],
}
REFUSED = "is no model that can be read: "


def read_features(path: Path) -> ColumnTransformer:
    """Return the transformer in a file."""
    return read_skops(path, ColumnTransformer)
