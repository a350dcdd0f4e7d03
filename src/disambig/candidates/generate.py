"""Make candidate sets from true labels, to test methods where the truth is known.

Every function takes plain labels and a seed and returns ``CandidateLabels`` over the classes
given (by default those that occur). The true label is always in the set, except
where ``leave_out_truth`` takes it out on purpose.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.parameters import RandomState, check_integer, check_real, make_generator
from disambig._core.typing import AnyArray, FloatArray, IntArray, Label, Sparse
from disambig.candidates.build import parts_from_labels
from disambig.candidates.checks import columns_of
from disambig.candidates.labels import CandidateLabels


def corrupt_controlled(
    labels: Iterable[Label],
    *,
    p: float,
    r: int,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Give ``round(p * n)`` samples exactly ``r`` distinct false labels each.

    The controlled protocol of the partial-label literature. The partial samples are drawn without
    replacement, their false labels uniformly among the other classes.

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    p : float
        Share of samples with more than one candidate, from 0 to 1.
    r : int
        False labels in each of those, from 1 to the number of classes minus one.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_to_average : False labels until sets have an average size.
    corrupt_coupled : One false label, often the same for the same class.
    disambig.bench.ControlledCorruption : The same protocol in a study.

    Examples
    --------
    >>> from disambig.candidates import corrupt_controlled
    >>> truth = ["cat", "dog", "fox", "owl"] * 5
    >>> y = corrupt_controlled(truth, p=0.5, r=2, random_state=0)
    >>> sorted(y.sizes.tolist())
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    >>> bool(y.contains(truth).all())
    True
    """
    check_real("p", p, minimum=0, maximum=1)
    truth, names = _true_columns(labels, classes)
    _check_several_classes(names)
    check_integer("r", r, minimum=1, maximum=len(names) - 1)
    generator = make_generator(random_state)
    partial = _draw_share(generator, len(truth), p)
    false = draw_false_labels(generator, truth[partial], r, len(names))
    return _with_truth(truth, names, np.repeat(partial, r), false.ravel())


def corrupt_to_average(
    labels: Iterable[Label],
    *,
    average_candidates: float,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Add false labels to every sample until the sets have a given average size.

    Sizes differ by at most one; their sum is ``round(average_candidates * n)``. False labels are
    uniform among the other classes.

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    average_candidates : float
        Mean size of a set, from 1 to the number of classes.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_controlled : A given number of false labels in a share of the samples.
    corrupt_by_flips : Every false label with one probability.

    Examples
    --------
    >>> from disambig.candidates import corrupt_to_average
    >>> truth = ["cat", "dog", "fox", "owl"] * 5
    >>> y = corrupt_to_average(truth, average_candidates=2.5, random_state=0)
    >>> y.shape, float(y.sizes.mean())
    ((20, 4), 2.5)
    """
    truth, names = _true_columns(labels, classes)
    check_real("average_candidates", average_candidates, minimum=1, maximum=len(names))
    generator = make_generator(random_state)
    n_false = round(average_candidates * len(truth)) - len(truth)
    base, larger = divmod(n_false, max(len(truth), 1))
    order = generator.permutation(len(truth))
    # A full set cannot grow, hence the minimum.
    groups = [(order[:larger], min(base + 1, len(names) - 1)), (order[larger:], base)]
    rows = [np.repeat(group, count) for group, count in groups]
    false = [
        draw_false_labels(generator, truth[group], n, len(names)).ravel() for group, n in groups
    ]
    return _with_truth(truth, names, np.concatenate(rows), np.concatenate(false))


def corrupt_coupled(
    labels: Iterable[Label],
    *,
    p: float,
    epsilon: float,
    coupling: Mapping[Label, Label] | None = None,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Give ``round(p * n)`` samples one false label, often the same one for the same class.

    With probability ``epsilon`` it is the label coupled with the true one, otherwise any other
    false label, uniformly: the higher ``epsilon``, the harder the two are to tell apart.

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    p : float
        Share of samples with more than one candidate, from 0 to 1.
    epsilon : float
        Probability of the coupled label, from 0 to 1.
    coupling : mapping from label to label, optional
        The coupled label of every class. By default each class is coupled with the next one on
        a random circle through all classes.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_controlled : False labels that are drawn uniformly.
    corrupt_by_confusion : False labels that a classifier confuses with the truth.

    Examples
    --------
    >>> from disambig.candidates import corrupt_coupled
    >>> pairs = {"cat": "dog", "dog": "cat", "fox": "dog"}
    >>> y = corrupt_coupled(
    ...     ["cat", "dog", "fox"], p=1, epsilon=1, coupling=pairs, random_state=0
    ... )
    >>> y.to_strings()
    ['cat|dog', 'cat|dog', 'dog|fox']
    """
    check_real("p", p, minimum=0, maximum=1)
    check_real("epsilon", epsilon, minimum=0, maximum=1)
    truth, names = _true_columns(labels, classes)
    if len(names) < 2 or (len(names) == 2 and epsilon < 1):
        raise CandidateError(
            "A coupled label and another false one need at least 3 classes (2 where 'epsilon' "
            f"is 1). Got {len(names)} classes."
        )
    generator = make_generator(random_state)
    partner = _random_circle(generator, len(names))
    if coupling is not None:
        partner = _read_coupling(coupling, names)
    partial = _draw_share(generator, len(truth), p)
    coupled = partner[truth[partial]]
    takes_coupled = generator.random(len(partial)) < epsilon
    other = _draw_outside(generator, truth[partial], coupled, len(names))
    return _with_truth(truth, names, partial, np.where(takes_coupled, coupled, other))


def corrupt_by_flips(
    labels: Iterable[Label],
    *,
    q: float,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Add every false label to every set independently with probability ``q``.

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    q : float
        Probability that a false label is a candidate, from 0 to 1.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_to_average : False labels until sets have an average size.
    corrupt_by_confusion : False labels that a classifier confuses with the truth.

    Examples
    --------
    >>> from disambig.candidates import corrupt_by_flips
    >>> truth = ["cat", "dog", "fox"]
    >>> corrupt_by_flips(truth, q=0, random_state=0).to_strings()
    ['cat', 'dog', 'fox']
    >>> corrupt_by_flips(truth, q=1, random_state=0).to_strings()
    ['cat|dog|fox', 'cat|dog|fox', 'cat|dog|fox']
    """
    check_real("q", q, minimum=0, maximum=1)
    truth, names = _true_columns(labels, classes)
    return _flip(truth, names, (np.full(len(truth), q) for _ in names), random_state)


def corrupt_by_confusion(
    labels: Iterable[Label],
    probabilities: Any,
    *,
    rate: float,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Add the false labels that a classifier confuses with the truth.

    Instance-dependent sets: the probability of a false label is proportional to what the
    classifier gives it on that sample, scaled so that a sample has ``rate * (c - 1)`` false labels
    on average (fewer where a probability would exceed one).

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    probabilities : array-like of shape (n_samples, n_classes)
        Class probabilities from a classifier, columns in the order of the classes. Take them from
        held-out folds, for example ``cross_val_predict(..., method="predict_proba")``.
    rate : float
        Average share of the false labels that enter, from 0 to 1.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_by_instance : The most probable false label always, others in proportion.
    corrupt_by_flips : Every false label with one probability.
    corrupt_coupled : One false label, often the same for the same class.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> from disambig.candidates import corrupt_by_confusion
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> probabilities = cross_val_predict(
    ...     LogisticRegression(), data.X, data.true_labels, method="predict_proba"
    ... )
    >>> truth = data.true_labels
    >>> y = corrupt_by_confusion(truth, probabilities, rate=0.3, random_state=0)
    >>> bool(y.contains(truth).all())
    True
    """
    check_real("rate", rate, minimum=0, maximum=1)
    truth, names = _true_columns(labels, classes)
    _check_several_classes(names)
    confusion = _read_probabilities(probabilities, (len(truth), len(names)))
    confusion[np.arange(len(truth)), truth] = 0
    totals = confusion.sum(axis=1, keepdims=True)
    # Where the classifier is certain, all other classes are equally likely.
    confusion = np.where(totals > 0, confusion, 1.0)
    totals = np.where(totals > 0, totals, len(names) - 1)
    enters = np.minimum(1, rate * (len(names) - 1) * confusion / totals)
    return _flip(truth, names, iter(enters.T), random_state)


def corrupt_by_instance(
    labels: Iterable[Label],
    probabilities: Any,
    *,
    rate: float = 1.0,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Add the false labels that a classifier nearly takes for the truth: of every row its own.

    The instance-dependent protocol of the literature. The probability of a false label is what the
    classifier gives it on that sample, divided by what it gives the most probable false one, times
    ``rate``. With a rate of one the most probable false label is always in the set. Sets of easy
    samples and of hard ones are about as large; ``corrupt_by_confusion`` adds a given number of
    labels instead.

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    probabilities : array-like of shape (n_samples, n_classes)
        Class probabilities from a classifier, columns in the order of the classes.
        ``disambig.datasets.held_out_probabilities`` gives those of a network.
    rate : float, default=1.0
        Probability of the most probable false label, from 0 to 1.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_by_confusion : As many false labels as asked for.
    disambig.datasets.held_out_probabilities : What a network says of rows it has not seen.

    Examples
    --------
    >>> from disambig.candidates import corrupt_by_instance
    >>> probabilities = [[0.8, 0.2, 0.0], [0.1, 0.9, 0.0]]
    >>> corrupt_by_instance(
    ...     ["cat", "dog"], probabilities, classes=["cat", "dog", "fox"], random_state=0
    ... ).to_strings()
    ['cat|dog', 'cat|dog']
    """
    check_real("rate", rate, minimum=0, maximum=1)
    truth, names = _true_columns(labels, classes)
    _check_several_classes(names)
    false = _read_probabilities(probabilities, (len(truth), len(names)))
    false[np.arange(len(truth)), truth] = 0
    largest = false.max(axis=1, keepdims=True)
    # Where the classifier is certain, all other classes are equally likely.
    enters = np.where(largest > 0, false / np.where(largest > 0, largest, 1), 1.0) * rate
    return _flip(truth, names, iter(enters.T), random_state)


def leave_out_truth(
    candidates: CandidateLabels,
    labels: Iterable[Label],
    *,
    rate: float,
    random_state: RandomState = None,
) -> CandidateLabels:
    """Remove the true label from ``round(rate * n)`` sets, as unreliable annotators would.

    Where it was the only candidate, a random false label replaces it.

    Parameters
    ----------
    candidates : CandidateLabels
        Sets that contain the truth.
    labels : iterable of labels
        The true label of every sample.
    rate : float
        Share of samples whose set will not contain the truth, from 0 to 1.
    random_state : int, generator or None, default=None
        Seed.

    See Also
    --------
    corrupt_controlled : Makes sets that contain the truth.

    Examples
    --------
    >>> from disambig.candidates import corrupt_controlled, leave_out_truth
    >>> truth = ["cat", "dog", "fox", "owl"] * 5
    >>> y = corrupt_controlled(truth, p=1, r=1, random_state=0)
    >>> y = leave_out_truth(y, truth, rate=0.2, random_state=0)
    >>> int(y.contains(truth).sum())
    16
    """
    check_real("rate", rate, minimum=0, maximum=1)
    if candidates.weights is not None:
        raise CandidateError(
            "The truth can only be left out of sets without weights. To drop the weights: "
            "CandidateLabels.from_mask(y.to_sparse(), y.classes)."
        )
    truth, names = _true_columns(labels, candidates.classes)
    contained = candidates.contains(names[truth])
    if not contained.all():
        raise CandidateError(
            "The truth can be left out only where it is in the set. "
            f"It is not for {describe_rows(~contained)}."
        )
    _check_several_classes(names)
    generator = make_generator(random_state)
    wrong = _draw_share(generator, len(truth), rate)
    alone = wrong[candidates.sizes[wrong] == 1]
    replacement = draw_false_labels(generator, truth[alone], 1, len(names)).ravel()
    mask = candidates.to_sparse().astype(np.int8)
    mask -= _entries(wrong, truth[wrong], mask.shape)
    mask += _entries(alone, replacement, mask.shape)
    return CandidateLabels.from_mask(mask, names).with_rows_of(candidates)


def draw_false_labels(
    generator: np.random.Generator, truth: IntArray, count: int, n_classes: int
) -> IntArray:
    """Draw ``count`` distinct columns other than the true one for every sample, uniformly.

    Floyd's sampling, for all samples at once: step by step a draw from one more value, and the new
    value itself where the draw is taken already. Nothing of the size n x c is made.
    """
    drawn = np.empty((len(truth), count), dtype=np.int64)
    for position, highest in enumerate(range(n_classes - 1 - count, n_classes - 1)):
        draw = generator.integers(0, highest + 1, size=len(truth))
        taken = (drawn[:, :position] == draw[:, np.newaxis]).any(axis=1)
        drawn[:, position] = np.where(taken, highest, draw)
    # The draws count the false labels only: step over the true one.
    return drawn + (drawn >= np.asarray(truth)[:, np.newaxis])


def _true_columns(
    labels: Iterable[Label], classes: Iterable[Label] | None
) -> tuple[IntArray, AnyArray]:
    parts = parts_from_labels(labels, classes)
    return parts.mask.indices.astype(np.int64), parts.classes


def _check_several_classes(names: AnyArray) -> None:
    if len(names) < 2:
        raise CandidateError(
            f"False labels need at least 2 classes. Got {len(names)}. Name them all in 'classes'."
        )


def _draw_share(generator: np.random.Generator, n_samples: int, share: float) -> IntArray:
    return np.sort(generator.choice(n_samples, size=round(share * n_samples), replace=False))


def _draw_outside(
    generator: np.random.Generator, first: IntArray, second: IntArray, n_classes: int
) -> IntArray:
    """Draw a column other than the two given (which differ) for every sample."""
    draw = generator.integers(0, max(n_classes - 2, 1), size=len(first))
    for taken in np.sort(np.stack([first, second]), axis=0):
        draw = draw + (draw >= taken)
    return draw


def _random_circle(generator: np.random.Generator, n_classes: int) -> IntArray:
    order = generator.permutation(n_classes)
    partner = np.empty(n_classes, dtype=np.int64)
    partner[order] = np.roll(order, -1)
    return partner


def _read_coupling(coupling: Mapping[Label, Label], names: AnyArray) -> IntArray:
    labels = names.tolist()
    missing = next((label for label in labels if label not in coupling), None)
    if missing is not None:
        raise CandidateError(f"'coupling' needs a label for every class. {missing!r} has none.")
    alone = next((label for label in labels if coupling[label] == label), None)
    if alone is not None:
        raise CandidateError(f"A class must be coupled with another one. {alone!r} is with itself.")
    return columns_of([coupling[label] for label in labels], names)


def _read_probabilities(probabilities: Any, shape: tuple[int, int]) -> FloatArray:
    try:
        matrix = np.array(probabilities, dtype=float)
    except (TypeError, ValueError) as error:
        raise CandidateError(f"Probabilities are a matrix of numbers. {error}") from error
    if matrix.shape != shape:
        raise CandidateError(
            f"Probabilities are needed for every sample and class, {shape}. "
            f"Got the shape {matrix.shape}."
        )
    bad = np.asarray(~(np.isfinite(matrix) & (matrix >= 0)).all(axis=1))
    if bad.any():
        raise CandidateError(
            "Probabilities must be finite and not negative. This is not so for "
            f"{describe_rows(bad)}. Give what predict_proba returns."
        )
    return matrix


def _flip(
    truth: IntArray, names: AnyArray, enters: Iterable[FloatArray], random_state: RandomState
) -> CandidateLabels:
    """Let column j enter with the probabilities ``enters[j]``; one column in memory at a time."""
    generator = make_generator(random_state)
    rows = [np.flatnonzero(generator.random(len(truth)) < chance) for chance in enters]
    columns = np.repeat(np.arange(len(names)), [len(column_rows) for column_rows in rows])
    return _with_truth(truth, names, np.concatenate(rows), columns)


def _with_truth(
    truth: IntArray, names: AnyArray, rows: IntArray, false: IntArray
) -> CandidateLabels:
    """Add the false labels to the true ones. A false label that is the truth adds nothing."""
    all_rows = np.concatenate([np.arange(len(truth)), rows])
    mask = _entries(all_rows, np.concatenate([truth, false]), (len(truth), len(names)))
    return CandidateLabels.from_mask(mask.astype(bool), names)


def _entries(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Sparse:
    return sparse.csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape)
