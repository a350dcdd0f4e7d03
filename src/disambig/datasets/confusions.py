"""What a network says of rows that it was not trained on: which classes look alike where."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.parameters import RandomState, check_integer, spawn_seeds
from disambig._core.typing import FloatArray, Label
from disambig.candidates.build import parts_from_labels
from disambig.candidates.groups import deal_rows
from disambig.tabular.files.arrays import as_features

# A small network in double precision: the same numbers wherever it runs, but for the last digits.
_HIDDEN, _EPOCHS, _ROWS = 64, 60, 32


def held_out_probabilities(
    X: Any,
    labels: Iterable[Label],
    *,
    classes: Iterable[Label] | None = None,
    n_folds: int = 5,
    random_state: RandomState = None,
) -> FloatArray:
    """Return the class probabilities of a network, for rows that it was not trained on.

    To make candidate sets of, by ``corrupt_by_instance`` or ``corrupt_by_confusion``. The network
    is scikit-learn's ``MLPClassifier`` with a hidden layer of 64 units, on standardised features.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    labels : iterable of labels
        The true label of every sample.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    n_folds : int, default=5
        Each row is judged by a network that was trained on the other folds.
    random_state : int, generator or None, default=None
        Seed of folds and networks.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)
        A class that some folds do not have is impossible to the network of the others.

    See Also
    --------
    disambig.candidates.corrupt_by_instance : Makes candidate sets of them.

    Examples
    --------
    >>> from disambig.candidates import corrupt_by_instance
    >>> from disambig.datasets import held_out_probabilities, load_dataset
    >>> vehicle = load_dataset("vehicle")
    >>> X, truth = vehicle.X[:200], vehicle.true_labels[:200]
    >>> probabilities = held_out_probabilities(X, truth, random_state=0)
    >>> y = corrupt_by_instance(truth, probabilities, random_state=0)
    >>> bool(y.contains(truth).all())
    True
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = as_features(X, "X")
    parts = parts_from_labels(labels, classes)
    truth = parts.mask.indices.astype(np.int64)
    check_integer("n_folds", n_folds, minimum=2, maximum=len(truth))
    fold_seed, *seeds = spawn_seeds(random_state, 1 + n_folds)
    folds = deal_rows(len(truth), None, n_folds, fold_seed)
    probabilities = np.zeros((len(truth), len(parts.classes)))
    for number, seed in enumerate(seeds):
        held = folds == number
        known = np.unique(truth[~held])
        if len(known) == 1:
            probabilities[np.ix_(held, known)] = 1
            continue
        learner = MLPClassifier(
            _HIDDEN,
            batch_size=min(_ROWS, len(truth) - int(held.sum())),
            max_iter=_EPOCHS,
            random_state=seed,
        )
        network = make_pipeline(StandardScaler(), learner)
        with warnings.catch_warnings():
            # That it might learn for longer is no news: confusions are what it is wanted for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(X[~held], truth[~held])
        probabilities[np.ix_(held, known)] = network.predict_proba(X[held])
    return probabilities
