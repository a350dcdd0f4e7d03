"""A long table of annotations: one row for each item, annotator and label."""

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from disambig._core.errors import CandidateError, TableError, warn_caller
from disambig._core.messages import describe_table_rows, option, quote_value, row_name
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.candidates.checks import as_list
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.label_cells import (
    NO_LABELS,
    CellLabels,
    CellReader,
    LabelProblem,
    blank_cell_note,
)
from disambig.tabular.labels.label_rows import RowLabels, answer_sets, count_votes, row_labels
from disambig.tabular.labels.unsure_labels import marked_as_unsure, unsure_notice, without_mark
from disambig.tabular.table_cells import distinct_cells, find_column, is_blank, text_of, texts_of


def read_annotations(
    long_frame: Any,
    *,
    item: str,
    annotator: str | None,
    label: str,
    order: Iterable[Any] | None = None,
    min_votes: int = 1,
    separator: str = "|",
    literal: bool = False,
    empty: str = "refuse",
) -> tuple[list[str], CandidateLabels]:
    """Read candidate sets from a long table of annotations; the votes become weights.

    Everything is compared as strings, so that the items 3, "3" and 3.0 are the same.

    Parameters
    ----------
    long_frame : DataFrame
        One row per annotation: a label, several (``cat|dog``: a vote for each), or what it is not
        (``!cat``: a vote for each other). A row without a label is not a vote.
    item, label : str
        The columns of items and of labels.
    annotator : str or None
        The column of annotators, who have one vote for each label of an item. With None every row
        is a separate vote.
    order : iterable of items, optional
        The items to return, in this order, such as a column of another table. By default all
        items that have a label, in the order of their first rows.
    min_votes : int, default=1
        Votes that a label needs to be a candidate.
    separator : str, default="|"
        Separator between the labels of a cell.
    literal : bool, default=False
        Whether "!" and brackets are parts of the labels, and "NA" and the like are labels.
    empty : {"refuse", "all"}, default="refuse"
        What to do with an item that has no label: refuse it, or let it have any.

    See Also
    --------
    read_answers : Weighs annotators by what is learned of them.
    one_row_per_item : Reads the features of the same table.
    LabelColumns : For a table with one row per item; ``votes=True`` counts its columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import read_annotations
    >>> votes = pd.DataFrame(
    ...     {
    ...         "photo": ["a", "a", "a", "b"],
    ...         "who": ["Ann", "Bob", "Eve", "Ann"],
    ...         "vote": ["cat", "dog", "cat", "dog"],
    ...     }
    ... )
    >>> items, y = read_annotations(votes, item="photo", annotator="who", label="vote")
    >>> items, y.to_strings()
    (['a', 'b'], ['cat|dog', 'dog'])
    >>> y.weights.toarray().tolist()
    [[2.0, 1.0], [0.0, 1.0]]
    """
    check_choice("empty", empty, ("refuse", "all"))
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
    sizes = sets.sum(axis=1)[answers.codes]
    items = np.repeat(answers.items, sizes).tolist()
    voters = np.repeat(answers.annotators, sizes).tolist()
    labels = [
        name
        for code in answers.codes.tolist()
        for name in (answers.classes[column] for column in np.flatnonzero(sets[code]))
    ]
    silent = np.setdiff1d(np.arange(len(rows)), answers.items).tolist()
    for row, number, name in product(silent, range(min_votes), answers.classes):
        items.append(row)
        voters.append((number,))  # nobody's name
        labels.append(name)
    try:
        candidates = CandidateLabels.from_annotations(
            items, voters, labels, min_votes=min_votes, order=range(len(rows))
        )
    except CandidateError as error:
        raise TableError(f"The labels in column {label!r} cannot be used. {error}") from error
    return rows, candidates


class LongAnswers(NamedTuple):
    """The answers in a long table, those that say nothing left out."""

    items: IntArray  # rows of the items
    annotators: AnyArray  # who answered
    codes: IntArray  # which of the cells
    cells: list[RowLabels]  # distinct
    classes: list[str]  # the labels that occur, sorted


def long_answers(
    long_frame: Any,
    *,
    item: str,
    annotator: str | None,
    label: str,
    order: Iterable[Any] | None,
    separator: str,
    literal: bool,
    empty: str,
) -> tuple[list[str], LongAnswers]:
    """Return the items of a long table in order, and the answers; without annotators, numbers."""
    items = texts_of(_column(long_frame, item, "the items"), what="items", literal=True)
    label_column = _column(long_frame, label, "the labels")
    codes, distinct = distinct_cells(label_column)
    cells = _read_cells(distinct, codes, label, separator=separator, literal=literal)
    is_vote = np.array([bool(cell.labels or cell.all_but) for cell in cells])[codes]
    note = "" if literal else blank_cell_note(label_column[~is_vote])
    if not is_vote.any():
        raise TableError(
            f"No row has a label in column {label!r}. Name the column that holds the labels.{note}"
        )
    _check_filled(items, is_vote, f"the item it is about, in column {item!r}", "")
    if annotator is None:
        voters = np.arange(len(items))
    else:
        column = _column(long_frame, annotator, "the annotators")
        voters = texts_of(column, what="annotators", literal=True)
        advice = " Leave the annotator out if every row is a separate vote."
        _check_filled(voters, is_vote, f"an annotator, in column {annotator!r}", advice)
    asked = is_vote if empty == "refuse" else _is_filled(items)
    voted = list(dict.fromkeys(items[asked]))
    rows = voted if order is None else _items_in_order(order)
    _check_same_items(rows, voted, item, note, may_be_silent=empty == "all")
    row_of = {name: row for row, name in enumerate(rows)}
    numbers = np.fromiter((row_of[name] for name in items[is_vote]), np.int64)
    names = {name for cell in cells for name in (*cell.labels, *cell.excluded)}
    return rows, LongAnswers(numbers, voters[is_vote], codes[is_vote], cells, sorted(names))


def _read_cells(
    distinct: list[Any], codes: IntArray, column: str, *, separator: str, literal: bool
) -> list[RowLabels]:
    """Read every distinct answer: a label, several, or what it is not."""
    reader = CellReader(distinct, separator=separator, literal=literal)
    answers: list[CellLabels] = []
    problems: dict[int, LabelProblem] = {}
    for number, cell in enumerate(distinct):
        answer = NO_LABELS
        try:
            answer = reader.read(cell)
            count_votes([row_labels(answer)])  # an annotator gives no weights
        except LabelProblem as problem:
            problems[number] = problem
        answers.append(answer)
    if problems:
        first = next(iter(problems))
        bad = np.isin(codes, list(problems))
        raise TableError(
            f"Labels cannot be read in {describe_table_rows(bad)} of the annotations: column "
            f"{column!r} holds {quote_value(distinct[first])}. {problems[first]}"
        )
    unsure: frozenset[str] = frozenset()
    if not literal:
        unsure = marked_as_unsure(label for answer in answers for label in answer.plain)
    if unsure:
        having = [
            number for number, each in enumerate(answers) if not unsure.isdisjoint(each.plain)
        ]
        count = int(np.isin(codes, having).sum())
        warn_caller(unsure_notice(unsure, count, votes=True))
    return [row_labels(without_mark(answer, unsure)) for answer in answers]


def one_row_per_item(
    long_frame: Any, *, item: str, annotator: str | None, label: str
) -> tuple[Any, list[str]]:
    """Return a table with one row per item, and the columns that vary within an item.

    Items are in the order of their first rows. A cell that is empty in one row of an item is taken
    from the first row that has it. Varying columns are left out and returned as a list; those of
    the annotator and of the label are left out silently.

    Parameters
    ----------
    long_frame : DataFrame
        One row per annotation, with the features of the item.
    item, label : str
        The columns of items and of labels.
    annotator : str or None
        The column of annotators, if there is one.

    See Also
    --------
    read_annotations : Reads the labels of the same table.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import one_row_per_item
    >>> votes = pd.DataFrame(
    ...     {
    ...         "photo": ["a", "a", "b"],
    ...         "who": ["Ann", "Bob", "Ann"],
    ...         "vote": ["cat", "dog", "dog"],
    ...         "width": [640, 640, 800],
    ...     }
    ... )
    >>> table, varying = one_row_per_item(
    ...     votes, item="photo", annotator="who", label="vote"
    ... )
    >>> table.to_dict("list"), varying
    ({'photo': ['a', 'b'], 'width': [640, 800]}, [])
    """
    import pandas as pd  # slow to import

    items = texts_of(_column(long_frame, item, "the items"), what="items", literal=True)
    _column(long_frame, label, "the labels")
    if annotator is not None:
        _column(long_frame, annotator, "the annotators")
    every = np.ones(len(items), dtype=bool)
    _check_filled(items, every, f"the item it is about, in column {item!r}", "")
    number, _ = pd.factorize(items)
    _, first_rows = np.unique(number, return_index=True)
    kept, varying = {}, []
    for name in long_frame.columns:
        if name in (annotator, label):
            continue
        rows = (
            first_rows if name == item else _first_filled_rows(long_frame[name], number, first_rows)
        )
        if rows is None:
            varying.append(name)
        else:
            kept[name] = long_frame[name].iloc[rows].reset_index(drop=True)
    return pd.DataFrame(kept, copy=False), varying


def check_same_within_items(long_frame: Any, *, item: str, column: str, what: str) -> None:
    """Refuse a column that differs between the rows of an item; empty cells do not count.

    ``what`` says what the column holds.
    """
    items = texts_of(_column(long_frame, item, "the items"), what="items", literal=True)
    values = texts_of(_column(long_frame, column, what), what=what)
    first: dict[Any, tuple[int, Any]] = {}
    for row, (name, value) in enumerate(zip(items, values, strict=True)):
        if name is None or value is None:
            continue
        before, expected = first.setdefault(name, (row, value))
        if value != expected:
            raise TableError(
                f"Column {column!r} should hold {what}, the same in all rows of an item. Item "
                f"{quote_value(name)} has {quote_value(expected)} in {row_name(before)} and "
                f"{quote_value(value)} in {row_name(row)}. Correct it, or name another column."
            )


def _first_filled_rows(column: Any, item_of_row: IntArray, first_rows: IntArray) -> IntArray | None:
    """Return for every item the first row whose cell is not empty; None if filled cells differ."""
    codes, cells = distinct_cells(column)
    filled = np.flatnonzero(~np.array([is_blank(cell) for cell in cells])[codes])
    items, first_filled = np.unique(item_of_row[filled], return_index=True)
    rows = first_rows.copy()
    rows[items] = filled[first_filled]
    differ = codes[filled] != codes[rows[item_of_row[filled]]]
    return None if differ.any() else rows


def _column(long_frame: Any, name: str, what: str) -> Any:
    return find_column(long_frame, name, what=what, table="The table of annotations")


def _is_filled(texts: AnyArray) -> BoolArray:
    return np.fromiter((text is not None for text in texts), bool, count=len(texts))


def _check_filled(values: AnyArray, needed: BoolArray, what: str, advice: str) -> None:
    bad = needed & ~_is_filled(values)
    if bad.any():
        raise TableError(
            f"Every annotation needs {what}. There is none in {describe_table_rows(bad)}. "
            f"Fill it in, or drop such rows.{advice}"
        )


def _items_in_order(order: Iterable[Any]) -> list[str]:
    """Return the items of another table as strings; refuse missing and repeated ones."""
    rows: dict[str, int] = {}
    for row, value in enumerate(as_list(order)):
        name = text_of(value)
        if name is None:
            raise TableError(
                f"Every row of the table needs an item. There is none in {row_name(row)}. "
                "Fill it in, or drop the row."
            )
        if name in rows:
            raise TableError(
                f"Every item has one row in the table. {name!r} is in {row_name(rows[name])} "
                f"and in {row_name(row)}. Remove one of them."
            )
        rows[name] = row
    return list(rows)


def _check_same_items(
    rows: list[str], voted: list[str], column: str, note: str, *, may_be_silent: bool
) -> None:
    with_votes, in_table = set(voted), set(rows)
    without = [] if may_be_silent else [name for name in rows if name not in with_votes]
    if without:
        raise TableError(
            f"Every item needs an annotation. {len(without):,} of {len(rows):,} items "
            f"{'has' if len(without) == 1 else 'have'} none with a label, the first is "
            f"{without[0]!r}. Drop them from the table, check that column {column!r} of the "
            f"annotations holds the same items, or use {option('empty', 'all')} if such an item "
            f"may have any label.{note}"
        )
    unknown = [name for name in voted if name not in in_table]
    if unknown:
        raise TableError(
            f"Every annotated item must be in the table. {len(unknown):,} of {len(voted):,} are "
            f"not, the first is {unknown[0]!r}. Add them to the table, or drop their annotations."
        )
