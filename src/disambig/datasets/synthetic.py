"""Synthetic data of any shape, and the example table."""

from typing import TYPE_CHECKING

import numpy as np

from disambig._core.parameters import RandomState, check_integer, check_real, make_generator
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.generate import corrupt_controlled, corrupt_to_average
from disambig.datasets.catalogue import load_dataset

if TYPE_CHECKING:
    import pandas as pd

# Of the example table.
_AMBIGUOUS_SHARE, _FALSE_LABELS = 0.7, 1
_NEW_ROWS, _CHECKED_ROWS = 100, 100
_SEED = 0


def make_partial_label_dataset(
    n_samples: int = 1000,
    n_features: int = 20,
    n_classes: int = 5,
    *,
    average_candidates: float = 2.0,
    overlap: float = 0.5,
    random_state: RandomState = None,
) -> PartialLabelDataset:
    """Make a synthetic dataset: one Gaussian cloud per class, sets of a given average size.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        Number of samples, features and classes; classes are about equally frequent.
    average_candidates : float, default=2.0
        Mean size of a candidate set. Sizes differ by at most one, and false labels are drawn
        uniformly.
    overlap : float, default=0.5
        Spread of a class, in units of half the typical distance between two class centres: two
        classes are confused with probability Phi(-1 / overlap), none at 0, 16 % at 1.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    load_dataset : Real data, by name or from a file.
    disambig.candidates.corrupt_to_average : Makes such sets from your own labels.

    Examples
    --------
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(
    ...     100, 5, 4, average_candidates=2.5, random_state=0
    ... )
    >>> data.X.shape, data.candidates.shape
    ((100, 5), (100, 4))
    >>> bool(data.candidates.contains(data.true_labels).all())
    True
    """
    check_integer("n_samples", n_samples, minimum=1)
    check_integer("n_features", n_features, minimum=1)
    check_integer("n_classes", n_classes, minimum=2)
    check_real("overlap", overlap, minimum=0)
    generator = make_generator(random_state)
    centres = generator.standard_normal((n_classes, n_features))
    true_labels = generator.permutation(np.arange(n_samples) % n_classes)
    # Two standard normal centres are sqrt(2 d) apart on average.
    spread = overlap * np.sqrt(2 * n_features) / 2
    X = generator.standard_normal((n_samples, n_features))
    X *= spread
    X += centres[true_labels]
    return PartialLabelDataset(
        name="synthetic",
        X=X,
        candidates=corrupt_to_average(
            true_labels,
            average_candidates=average_candidates,
            classes=range(n_classes),
            random_state=generator,
        ),
        true_labels=true_labels,
        feature_names=[f"x{column}" for column in range(n_features)],
    )


def example_tables() -> "dict[str, pd.DataFrame]":
    """Return an example table to learn from, and one to predict, by file name.

    The column ``label`` holds one or two candidate labels, ``checked`` the true label of some rows.

    See Also
    --------
    disambig.tabular.fit_table : Trains a model on such a table.
    disambig.tabular.clean_table : Chooses a label for every row.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> tables = example_tables()
    >>> list(tables)
    ['vehicles.csv', 'new-vehicles.csv']
    >>> tables["vehicles.csv"]["label"].head(3).tolist()
    ['van', 'saab|van', 'bus|van']
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
