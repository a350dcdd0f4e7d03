"""Metrics that need no true labels, and scikit-learn scorers of them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_same_length
from disambig._core.typing import AnyArray, FloatArray, Label
from disambig.candidates.checks import (
    as_list,
    check_probabilities,
    known_columns_of,
)
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.target import as_candidates


def covering_rate(
    candidates: CandidateLabels,
    predicted: Iterable[Label],
    *,
    classes: Iterable[Label] | None = None,
    sample_weight: Iterable[float] | None = None,
) -> float:
    """Return the share of predictions that are in the candidate set.

    With one label per set this is the accuracy. Otherwise it is an upper bound of the accuracy,
    provided that every set contains the true label.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    predicted : iterable of labels
        One prediction per row.
    classes : iterable of labels, optional
        Names of the columns, if ``candidates`` is a mask without names.
    sample_weight : iterable of numbers, optional
        How much every row counts; by default all count the same.

    See Also
    --------
    approximated_accuracy : Rewards confident predictions inside large sets.
    covering_rate_scorer : For scikit-learn's grid search.
    accuracy : Where true labels are known.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import covering_rate
    >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "fox|cat", "fox"])
    >>> covering_rate(y, ["cat", "dog", "dog", "fox"])
    0.75
    """
    sets, guesses = as_candidates(candidates, classes=classes), as_list(predicted)
    check_same_length(candidate_sets=len(sets), predictions=len(guesses))
    if sample_weight is None:
        return float(sets.contains(guesses).mean())
    weights = np.asarray(as_list(sample_weight), dtype=float)
    check_same_length(predictions=len(guesses), weights=len(weights))
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ParameterError(
            "'sample_weight' must hold finite numbers, none below 0 and one above. "
            f"Got them from {weights.min():g} to {weights.max():g}."
        )
    return float(np.average(sets.contains(guesses), weights=weights))


def approximated_accuracy(
    candidates: CandidateLabels,
    probabilities: Any,
    *,
    classes: Iterable[Label] | None = None,
) -> float:
    r"""Return the mean share of the candidates' probability that goes to the prediction.

    With the prediction :math:`\hat y_i` of row i, its candidates :math:`S_i` and probabilities
    :math:`p_{ij}`, this is

    .. math:: \frac{1}{n} \sum_{i: \hat y_i \in S_i} \frac{p_{i \hat y_i}}{\sum_{j \in S_i} p_{ij}}

    A prediction outside its set counts zero. Unlike the covering rate, this rewards confident
    predictions inside large sets.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    probabilities : array-like of shape (n_samples, n_columns)
        Predicted class probabilities.
    classes : iterable of labels, optional
        Names of the columns of ``probabilities``; by default the classes of ``candidates``.

    See Also
    --------
    covering_rate : Counts every prediction inside its set as one.
    approximated_accuracy_scorer : For scikit-learn's grid search.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import approximated_accuracy
    >>> y = CandidateLabels.from_strings(["cat|dog", "fox"])
    >>> approximated_accuracy(y, [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]])
    0.375
    """
    sets = as_candidates(candidates, classes=classes)
    matrix, names = check_probabilities(probabilities, sets.classes if classes is None else classes)
    check_same_length(candidate_sets=len(sets), probabilities=len(matrix))
    best = matrix.argmax(axis=1)
    covered = sets.contains(names[best])
    total = _set_probabilities(sets, matrix, names)
    highest = matrix[np.arange(len(matrix)), best]
    # A covered prediction has a probability above zero, and so has its set.
    shares = np.divide(highest, total, out=np.zeros(len(matrix)), where=covered)
    return float(shares.mean())


def set_log_likelihood(
    candidates: CandidateLabels,
    probabilities: Any,
    *,
    classes: Iterable[Label] | None = None,
) -> float:
    r"""Return the mean logarithm of the probability given to the candidate sets, at most 0.

    With the candidates :math:`S_i` of row i and its probabilities :math:`p_{ij}`, this is

    .. math:: \frac{1}{n} \sum_i \log \left( \sum_{j \in S_i} p_{ij} \right)

    With one label per set it is minus the log loss. Probabilities of a set count as 2.2e-16 at
    least, so that a single one cannot decide alone.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    probabilities : array-like of shape (n_samples, n_columns)
        Predicted class probabilities.
    classes : iterable of labels, optional
        Names of the columns of ``probabilities``; by default the classes of ``candidates``.

    See Also
    --------
    covering_rate : Looks at predictions only.
    set_log_likelihood_scorer : For scikit-learn's grid search.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import set_log_likelihood
    >>> y = CandidateLabels.from_strings(["cat|dog", "fox"])
    >>> round(set_log_likelihood(y, [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]), 4)
    -0.6931
    """
    sets = as_candidates(candidates, classes=classes)
    matrix, names = check_probabilities(probabilities, sets.classes if classes is None else classes)
    check_same_length(candidate_sets=len(sets), probabilities=len(matrix))
    of_sets = _set_probabilities(sets, matrix, names)
    return float(np.log(np.clip(of_sets, np.finfo(float).eps, 1)).mean())


def _set_probabilities(sets: CandidateLabels, matrix: FloatArray, names: AnyArray) -> AnyArray:
    """Return the probability of every set; candidates that are no column have none."""
    rows, columns = sets.pairs()
    known = known_columns_of(sets.classes, names)[columns]
    of_candidates = np.where(known >= 0, matrix[rows, known], 0)
    return np.bincount(rows, weights=of_candidates, minlength=len(matrix))


def covering_rate_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of predictions inside the candidate sets ``y``.

    Parameters
    ----------
    estimator : PartialLabelClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Features of held-out rows.
    y : CandidateLabels, or anything a method accepts as ``y``
        Their candidate sets.

    See Also
    --------
    approximated_accuracy_scorer : Rewards confident predictions inside large sets.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import covering_rate_scorer
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> search = GridSearchCV(
    ...     PLKNN(), {"n_neighbors": [1, 5]}, scoring=covering_rate_scorer, cv=2
    ... )
    >>> sorted(search.fit(data.X, data.candidates).best_params_)
    ['n_neighbors']
    """
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_)


def approximated_accuracy_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of the candidates' probability that goes to the predictions.

    Parameters
    ----------
    estimator : PartialLabelClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Features of held-out rows.
    y : CandidateLabels, or anything a method accepts as ``y``
        Their candidate sets.

    See Also
    --------
    covering_rate_scorer : Counts every prediction inside its set as one.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import approximated_accuracy_scorer
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> scores = cross_val_score(
    ...     PLKNN(), data.X, data.candidates, scoring=approximated_accuracy_scorer, cv=3
    ... )
    >>> scores.shape
    (3,)
    """
    return approximated_accuracy(y, estimator.predict_proba(X), classes=estimator.classes_)


def set_log_likelihood_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the mean logarithm of the probability given to the candidate sets ``y``.

    With plain labels as ``y`` it is scikit-learn's "neg_log_loss".

    Parameters
    ----------
    estimator : PartialLabelClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Features of held-out rows.
    y : CandidateLabels, or anything a method accepts as ``y``
        Their candidate sets.

    See Also
    --------
    covering_rate_scorer : Looks at predictions only.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from disambig import EMClassifier
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import set_log_likelihood_scorer
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> X, y = data.X, data.candidates
    >>> scores = cross_val_score(
    ...     EMClassifier(), X, y, scoring=set_log_likelihood_scorer, cv=3
    ... )
    >>> scores.shape
    (3,)
    """
    return set_log_likelihood(y, estimator.predict_proba(X), classes=estimator.classes_)
