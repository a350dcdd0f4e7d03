"""Annotators weighed beside a method: one is learned from what the other says, in turn."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from disambig._core.errors import CandidateError, ParameterError
from disambig._core.parameters import check_integer, make_generator, spawn_seeds
from disambig._core.typing import FloatArray, IntArray, Label
from disambig.candidates.checks import (
    as_class_array,
    as_list,
    check_hashable,
    columns_of,
    infer_classes,
    is_missing,
)
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.taxonomy import as_collection
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fit_many
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.solvers.annotators import collect_answers


def weigh_annotators(
    items: Iterable[Hashable],
    annotators: Iterable[Hashable],
    labels: Iterable[Any],
    *,
    order: Iterable[Hashable] | None = None,
    classes: Iterable[Label] | None = None,
    X: Any = None,
    method: PartialLabelClassifier | None = None,
    rounds: int | None = None,
    n_folds: int = 5,
    random_state: Any = None,
) -> AnnotatorModel:
    """Learn what annotators are like from a long table of their answers, and from features.

    Without features it is the model of Dawid and Skene, drawn to what is known of everybody where
    somebody gave few answers. With features, a method and annotators are learned in turn: the
    method in folds, from candidate sets that are weighed by annotators; annotators from answers and
    from what the method says of items that it was not trained on.

    Parameters
    ----------
    items, annotators, labels : iterables of the same length
        The columns of the table: which item, by whom, which answer. An answer is a label, a
        collection of labels one of which is meant, or None for "unsure". For "not a cat", give all
        other labels. What one annotator says of an item in several lines is one answer.
    order : iterable of items, optional
        The items in the order of the rows of ``X``; some may have no answer. By default those that
        were asked about, in the order in which they first appear.
    classes : iterable of labels, optional
        All classes in column order. By default the labels that occur, sorted.
    X : array-like of shape (n_items, n_features), optional
        Features of the items.
    method : PartialLabelClassifier, optional
        Learns from the features; needed with ``X``. It is left as it is.
    rounds : int, optional
        How often the method is trained, in folds, and asked. By default once, and twice where most
        items have a single answer.
    n_folds : int, default=5
        Each item is judged by a copy that was trained without its fold.
    random_state : int, generator or None, default=None
        Seed of the folds and of the copies.

    See Also
    --------
    AnnotatorModel : What it returns.
    disambig.tabular.read_answers : Reads the answers from a table.

    Examples
    --------
    >>> import numpy as np
    >>> from disambig import PLKNN, weigh_annotators
    >>> random = np.random.default_rng(0)
    >>> truth = random.integers(0, 3, 150)
    >>> X = random.normal(size=(150, 2)) + 3 * np.eye(3)[truth][:, :2]
    >>> skills = {"Ann": 0.95, "Bob": 0.7, "Eve": 0.33}
    >>> def answer(item, skill):
    ...     return truth[item] if random.random() < skill else random.integers(0, 3)
    >>> rows = [
    ...     (item, name, answer(item, skill))
    ...     for item in range(150)
    ...     for name, skill in skills.items()
    ... ]
    >>> model = weigh_annotators(
    ...     *zip(*rows), order=range(150), X=X, method=PLKNN(), random_state=0
    ... )
    >>> bool((model.choose() == truth).mean() > 0.95)
    True
    >>> {name: quality.is_random for name, quality in model.quality().items()}
    {'Ann': False, 'Bob': False, 'Eve': False}
    >>> y = model.candidates  # train with these
    """
    model = _read(items, annotators, labels, order, classes)
    if X is None:
        return model
    if method is None:
        raise ParameterError("'X' needs a 'method' that learns from it. Got None. Name one.")
    rounds = model.n_rounds if rounds is None else rounds
    check_integer("rounds", rounds, minimum=1)
    check_integer("n_folds", n_folds, minimum=2)
    seed, method_seed = spawn_seeds(random_state, 2)
    judge: PartialLabelClassifier = clone(method)
    if "random_state" in judge.get_params():
        judge.set_params(random_state=method_seed)
    n_items = model.known.log_posterior.shape[0]
    if n_items < n_folds:
        raise CandidateError(
            f"To judge every item by others takes at least {n_folds} items. Got {n_items}. Give "
            "more, lower 'n_folds', or leave 'X' out."
        )
    folds = make_generator(seed).permutation(n_items) % n_folds
    for _ in range(rounds):
        model = model.given(_out_of_fold(judge, X, model.candidates, folds))
    return model


def _read(
    items: Iterable[Hashable],
    annotators: Iterable[Hashable],
    labels: Iterable[Any],
    order: Iterable[Hashable] | None,
    classes: Iterable[Label] | None,
) -> AnnotatorModel:
    item_list, annotator_list, label_list = as_list(items), as_list(annotators), as_list(labels)
    if not len(item_list) == len(annotator_list) == len(label_list):
        raise CandidateError(
            "Items, annotators and labels are three columns of one table. Got lengths "
            f"{len(item_list)}, {len(annotator_list)} and {len(label_list)}."
        )
    for what, column in (("item", item_list), ("annotator", annotator_list)):
        check_hashable(column)
        missing = next((row for row, value in enumerate(column) if is_missing(value)), None)
        if missing is not None:
            raise CandidateError(
                f"Every answer needs an item and an annotator. Row {missing} has no {what}. Drop "
                "it, or fill it in."
            )
    row_names = list(dict.fromkeys(item_list if order is None else as_list(order)))
    row_of = {item: row for row, item in enumerate(row_names)}
    unknown = next((item for item in item_list if item not in row_of), None)
    if unknown is not None:
        raise CandidateError(
            f"Every annotated item must be in 'order'. Item {unknown!r} is not. "
            "Add it, or drop its answers."
        )
    number_of = {name: number for number, name in enumerate(dict.fromkeys(annotator_list))}
    sets = [() if _is_unsure(label) else tuple(as_collection(label)) for label in label_list]
    named = [label for labels in sets for label in labels]
    check_hashable(named)
    distinct = {labels: code for code, labels in enumerate(dict.fromkeys(sets))}
    if not named:
        raise CandidateError("No answer names a label. Give at least one that does.")
    names = infer_classes(named) if classes is None else as_class_array(classes)
    mask = np.zeros((len(distinct), len(names)), dtype=bool)
    for labels, code in distinct.items():
        mask[code, columns_of(list(labels), names)] = True
    answers = collect_answers(
        _numbers(item_list, row_of),
        _numbers(annotator_list, number_of),
        _numbers(sets, distinct),
        mask,
        n_items=len(row_names),
        n_annotators=len(number_of),
    )
    return AnnotatorModel.of_answers(answers, number_of, names)


def _is_unsure(label: Any) -> bool:
    return not isinstance(label, list | tuple | set | frozenset) and is_missing(label)


def _numbers(values: list[Any], number_of: Mapping[Any, int]) -> IntArray:
    return np.fromiter((number_of[value] for value in values), np.int64, count=len(values))


def _out_of_fold(
    method: PartialLabelClassifier, X: Any, candidates: CandidateLabels, folds: IntArray
) -> FloatArray:
    """Return probabilities of all labels, by copies that were trained without the item's fold."""
    features, sets = clone(method)._begin_fit(X, candidates)
    held_out = [folds == number for number in range(int(folds.max()) + 1)]
    tasks = ((features[~rows], sets[~rows], None) for rows in held_out)
    said = np.empty(candidates.shape)
    for rows, judge in zip(held_out, fit_many(method, tasks), strict=True):
        said[rows] = judge.predict_proba(features[rows])
    return said
