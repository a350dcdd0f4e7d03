"""How long a fit will take, known before it starts."""

import warnings
from typing import Any, TypeVar

from sklearn.base import clone

from disambig.methods.base import PartialLabelClassifier

# These belong to the fit that somebody waits for, not to one that is only measured.
_FOLLOWERS = {"callbacks": None, "checkpoint": None, "verbose": 0}

Method = TypeVar("Method", bound=PartialLabelClassifier)


def estimate_fit_seconds(method: PartialLabelClassifier, X: Any, y: Any) -> float:
    """Return about how many seconds a fit will take on this machine, before it starts.

    A small part of the work is done and measured: of a network method some training steps, of
    any other fits to a few of the rows, of which it is seen how they grow. That takes about a
    twentieth of the fit and seldom more than a second. The method is not changed and not fitted,
    and a fit after it gives the same bits. Early stopping is not foreseen: the estimate is for all
    epochs.

    Parameters
    ----------
    method : PartialLabelClassifier
        What is to be fitted.
    X : array-like of shape (n_samples, n_features)
        Features, as ``fit`` takes them.
    y : CandidateLabels, boolean mask, sparse mask, or plain labels
        Candidate sets, as ``fit`` takes them.

    See Also
    --------
    disambig.tabular.FitListener : Hears of the estimate for all models of a table.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.methods import estimate_fit_seconds
    >>> data = make_partial_label_dataset(500, 4, 3, random_state=0)
    >>> estimate_fit_seconds(PLKNN(), data.X, data.candidates) < 60
    True
    """
    probe = without_followers(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will say it, about all rows
        X, candidates = probe._begin_fit(X, y)
        with probe._threads():
            return float(probe._estimate_seconds(X, candidates))


def without_followers(method: Method) -> Method:
    """Return an unfitted copy that nobody follows and that writes no files."""
    copy: Method = clone(method)
    parameters = copy.get_params(deep=False)
    copy.set_params(**{n: value for n, value in _FOLLOWERS.items() if n in parameters})
    return copy
