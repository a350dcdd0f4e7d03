"""``fit_many``: one method fitted to many sets of rows, side by side where it can."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from disambig._core.parameters import check_integer
from disambig._core.typing import Features, FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier

Method = TypeVar("Method", bound=PartialLabelClassifier)


def fits_at_once(method: PartialLabelClassifier) -> int | None:
    """Return how many tasks it pays to train side by side; None is all that there are."""
    return method._fits_at_once()


def fit_many(
    method: PartialLabelClassifier,
    tasks: Iterable[tuple[Any, Any, int | None]],
    *,
    at_once: int | None = None,
) -> Iterator[PartialLabelClassifier]:
    """Yield a fitted copy of ``method`` for every task, in order.

    For cross-validation and repeated runs. The results equal those of fitting each task alone, up
    to rounding; on a CUDA GPU, networks train all tasks as one stack, many times faster. Tasks with
    different numbers of rows are rounded differently, and over hundreds of epochs such differences
    grow, as between two machines.

    Parameters
    ----------
    method : PartialLabelClassifier
        Copied for every task; it is not changed itself.
    tasks : iterable of (X, y, seed)
        The arguments of ``fit``, and the ``random_state`` of the copy; None keeps that of the
        method. Read one by one, as they are needed.
    at_once : int, optional
        Number of tasks to train side by side, if the method can. By default one on the CPU, and
        all of them on a CUDA GPU.

    See Also
    --------
    disambig.bench.cross_validate : Makes the tasks of a cross-validation and scores them.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.methods import fit_many
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> halves = [slice(0, 30), slice(30, 60)]
    >>> tasks = [(data.X[rows], data.candidates[rows], 0) for rows in halves]
    >>> [len(model.disambiguate()) for model in fit_many(PLKNN(), tasks)]
    [30, 30]
    """
    if at_once is not None:
        check_integer("at_once", at_once, minimum=1)
    method._check_many()
    return _fitted(method, iter(tasks), fits_at_once(method) if at_once is None else at_once)


def _fitted(
    method: PartialLabelClassifier, tasks: Iterator[tuple[Any, Any, int | None]], size: int | None
) -> Iterator[PartialLabelClassifier]:
    while group := list(islice(tasks, size)):
        copies = [_copy(method, seed) for _, _, seed in group]
        yield from fit_copies(copies, [(X, y) for X, y, _ in group])


def fit_copies(copies: Sequence[Method], data: Sequence[tuple[Any, Any]]) -> Sequence[Method]:
    """Fit copies of one method, each to its own ``(X, y)``, side by side where it can; return them.

    They may differ in their seeds, and in what belongs to a single fit.
    """
    checked = [each._begin_fit(X, y) for each, (X, y) in zip(copies, data, strict=True)]
    confidences = type(copies[0])._fit_side_by_side(copies, checked) if copies else []
    for each, (_, candidates), confidence in zip(copies, checked, confidences, strict=True):
        each._end_fit(candidates, confidence)
    return copies


def judge_by_others(
    tables: Sequence[tuple[PartialLabelClassifier, Features, CandidateLabels, IntArray]],
) -> list[FloatArray]:
    """Return the probabilities of the rows of every table, by copies trained without their fold.

    A table is a method, features, sets and the fold of every row. Rows of the fold -1 are always
    trained on, and their probabilities are NaN. All methods are copies of one.
    """
    judges = []
    data = []
    held_out = []
    for method, X, candidates, folds in tables:
        for fold in range(folds.max() + 1):
            judges.append(copy.copy(method))  # a clone would not know that it is a judge
            data.append((X[folds != fold], candidates[folds != fold]))
            held_out.append((X, folds == fold))
    fit_copies(judges, data)
    said = [judge.predict_proba(X[rows]) for judge, (X, rows) in zip(judges, held_out, strict=True)]
    judged: list[FloatArray] = []
    for _, _, candidates, folds in tables:
        judged.append(np.full(candidates.shape, np.nan))
        for fold in range(folds.max() + 1):
            judged[-1][folds == fold] = said.pop(0)
    return judged


def _copy(method: PartialLabelClassifier, seed: int | None) -> PartialLabelClassifier:
    copied: PartialLabelClassifier = clone(method)
    if seed is not None and "random_state" in copied.get_params():
        copied.set_params(random_state=seed)
    return copied
