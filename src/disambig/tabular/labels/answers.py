"""Answers of annotators in a table: a column for each of them, or a line for each answer."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import ParameterError
from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.solvers.annotators import collect_answers
from disambig.tabular.labels.annotations import long_answers
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.labels.label_rows import answer_sets


def read_answers(
    long_frame: Any,
    *,
    item: str,
    annotator: str,
    label: str,
    order: Iterable[Any] | None = None,
    separator: str = "|",
    literal: bool = False,
    empty: str = "refuse",
) -> tuple[list[str], AnnotatorModel]:
    """Read answers from a long table, and learn from them what annotators are like.

    Pass the model as ``labels`` to ``fit_table``, ``clean_table`` or ``audit_table``.

    Parameters
    ----------
    long_frame : DataFrame
        One row per answer. A cell holds a label, several (``cat|dog``), what it is not (``!cat``),
        or nothing, if the annotator is unsure.
    item, annotator, label : str
        The columns of items, of annotators and of answers.
    order : iterable of items, optional
        The items to return, in this order, such as a column of another table. By default all items
        in the order of their first rows.
    separator : str, default="|"
        Separator between the labels of a cell.
    literal : bool, default=False
        Whether separators, "!" and brackets are parts of the labels, and "NA" is a label.
    empty : {"refuse", "all"}, default="refuse"
        What to do with an item that nobody gave a label: refuse it, or let it have any.

    See Also
    --------
    read_annotations : Counts votes, everybody's alike.
    disambig.methods.weigh_annotators : For columns that are not in a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import read_answers
    >>> answers = pd.DataFrame(
    ...     {
    ...         "photo": ["a", "a", "a", "b", "b"],
    ...         "who": ["Ann", "Bob", "Eve", "Ann", "Bob"],
    ...         "said": ["cat", "cat|dog", "!dog", "dog", ""],
    ...     }
    ... )
    >>> items, model = read_answers(
    ...     answers, item="photo", annotator="who", label="said"
    ... )
    >>> items, model.choose().tolist()
    (['a', 'b'], ['cat', 'dog'])
    """
    rows, answers = long_answers(
        long_frame,
        item=item,
        annotator=annotator,
        label=label,
        order=order,
        separator=separator,
        literal=literal,
        empty=empty,
    )
    sets = answer_sets(answers.cells, answers.classes)
    names, annotators = np.unique(answers.annotators, return_inverse=True)
    model = _model(
        answers.items, annotators, answers.codes, sets, len(rows), names, answers.classes
    )
    return rows, model


def answers_in_columns(columns: LabelColumns, frame: pd.DataFrame) -> AnnotatorModel:
    """Return what annotators are like whose answers have a column each."""
    candidates = columns.read(frame)
    classes = candidates.classes.tolist()
    items, annotators, codes, sets = [], [], [], []
    n_sets = 0
    for number, (of_rows, cells) in enumerate(columns.read_annotators(frame)):
        items.append(np.arange(len(frame)))
        annotators.append(np.full(len(frame), number))
        codes.append(of_rows + n_sets)
        sets.append(answer_sets(cells, classes))
        n_sets += len(cells)
    return _model(
        np.concatenate(items),
        np.concatenate(annotators),
        np.concatenate(codes),
        np.concatenate(sets),
        len(frame),
        columns.columns_in(frame),
        classes,
    )


def _model(
    items: IntArray,
    annotators: IntArray,
    codes: IntArray,
    sets: BoolArray,
    n_items: int,
    names: AnyArray | Sequence[str],
    classes: Sequence[str],
) -> AnnotatorModel:
    answers = collect_answers(
        items, annotators.ravel(), codes, sets, n_items=n_items, n_annotators=len(names)
    )
    if not answers.given.nnz:
        raise ParameterError("No answer tells one label from another. Give some that do.")
    return AnnotatorModel.of_answers(answers, map(str, names), np.array(classes, dtype=object))
