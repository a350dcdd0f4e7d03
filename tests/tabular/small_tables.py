"""Tables that are quick to learn from."""

import numpy as np
import pandas as pd
from sklearn.base import clone

from disambig.candidates import CandidateLabels
from disambig.methods import PLKNN, NCPDClassifier, PartialLabelClassifier
from disambig.tabular.columns.values import ColumnPlan
from disambig.tabular.table_model import TableModel, untrained_model

COLOURS = ("red", "green", "blue")


def three_clouds(n_rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return a table of texts, as CSV gives it: two numbers, a colour, sets of two labels."""
    generator = np.random.default_rng(seed)
    kinds = np.arange(n_rows) % 3
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    points = generator.normal(size=(n_rows, 2)) + centres[kinds]
    names = np.array(["cat", "dog", "fox"])
    false = (kinds + generator.integers(1, 3, n_rows)) % 3
    single = generator.random(n_rows) < 0.3
    labels = [
        names[kind] if alone else "|".join(sorted([names[kind], names[other]]))
        for kind, other, alone in zip(kinds, false, single, strict=True)
    ]
    return pd.DataFrame(
        {
            "length": [f"{x:.3f}" for x in points[:, 0]],
            "width": [f"{x:.3f}" for x in points[:, 1]],
            "colour": generator.choice(COLOURS, n_rows),
            "label": labels,
            "truth": names[kinds],
        }
    ).astype(str)


def quick_network(**parameters: object) -> NCPDClassifier:
    settings = {"hidden": 16, "epochs": 6, "ramp_epochs": 3, "batch_size": 32, "random_state": 0}
    return NCPDClassifier(**(settings | parameters))


def fit_model(
    values: pd.DataFrame,
    candidates: CandidateLabels,
    plan: ColumnPlan,
    method: PartialLabelClassifier,
) -> TableModel:
    """Return a model of these rows, the way that a fold of a table gets one."""
    model, features = untrained_model(plan, values, clone(method))
    model.classifier.fit(features, candidates)
    return model


def neighbours() -> PLKNN:
    return PLKNN(n_neighbors=5)


def photos(n_photos: int = 30, seed: int = 0) -> pd.DataFrame:
    """Return faces, two to four different ones in a photo, whose sets are the names below it."""
    generator = np.random.default_rng(seed)
    names = np.array(["ann", "bob", "eve", "joe"])
    centres = 2.0 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    rows = []
    for photo in range(n_photos):
        there = generator.permutation(4)[: generator.integers(2, 5)]
        caption = "|".join(sorted(names[there]))
        for kind in there:
            x, y = centres[kind] + generator.normal(size=2)
            rows.append((f"{x:.3f}", f"{y:.3f}", f"photo {photo}", caption, names[kind]))
    return pd.DataFrame(rows, columns=["x", "y", "photo", "label", "truth"])
