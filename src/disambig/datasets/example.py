"""The example table: silhouettes of vehicles with ambiguous labels."""

from typing import TYPE_CHECKING

import numpy as np

from disambig.candidates.generate import corrupt_controlled
from disambig.datasets.catalogue import load_dataset

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["example_tables"]

_AMBIGUOUS_SHARE, _FALSE_LABELS = 0.7, 1
_NEW_ROWS, _CHECKED_ROWS = 100, 100
_SEED = 0


def example_tables() -> "dict[str, pd.DataFrame]":
    """Return a table to learn from and one to predict, by file name.

    ``label`` holds one or two labels of which one is right, ``checked`` the right one for a few
    rows.
    """
    import pandas as pd  # slow to import, and needed here only

    data = load_dataset("vehicle")
    truth = np.asarray(data.true_labels)
    frame = pd.DataFrame(data.X, columns=data.feature_names).map("{:g}".format)
    frame.insert(0, "vehicle", [f"V{number:03}" for number in range(1, len(frame) + 1)])
    generator = np.random.default_rng(_SEED)
    order = generator.permutation(len(frame))
    new, known = np.sort(order[:_NEW_ROWS]), np.sort(order[_NEW_ROWS:])
    candidates = corrupt_controlled(
        truth[known], p=_AMBIGUOUS_SHARE, r=_FALSE_LABELS, random_state=generator
    )
    checked = np.full(len(known), "", dtype=object)
    rechecked = generator.choice(len(known), _CHECKED_ROWS, replace=False)
    checked[rechecked] = truth[known][rechecked]
    ambiguous = frame.iloc[known].assign(label=candidates.to_strings(), checked=checked)
    return {
        "vehicles.csv": ambiguous.reset_index(drop=True),
        "new-vehicles.csv": frame.iloc[new].reset_index(drop=True),
    }
