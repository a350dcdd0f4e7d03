"""Answers of language models, in JSON lines: weighted candidate sets, wordings matched to labels.

The walk: each line gives an item, perhaps a model, and answers; an answer is read into wordings
with weights (``said_in``); wordings are matched to labels; weights of an item are added up.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import join_names, option, quote_value, row_count, row_name
from disambig.tabular.exchange.imported import Imported, LongLabels
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.said import (
    ANSWER_KEYS,
    LISTS_OF_SCORES,
    SCORE_KEYS,
    Said,
    said_in,
)
from disambig.tabular.exchange.wordings import MatchedWordings, match_wordings
from disambig.tabular.files.content import FileContent, find_content
from disambig.tabular.files.json_lines import read_json_lines
from disambig.tabular.labels.label_cells import write_cells, write_weights
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.table_cells import is_collection, text_of

# Interfaces that answer in batches give every line an id of its own beside that of the item.
_ID_KEYS = ("custom_id", "id", "item", "item_id", "key", "uid", "row")
_MODEL_KEYS = ("model", "annotator", "llm", "answered_by")
_LABEL, _ITEM, _MODEL = "label", "item", "model"
# What the column of candidates is called where a line has a "label" beside its answers.
_OTHER_LABEL = "candidate_labels"
# Confidences as models state them are all of the smallest of these that none of them exceeds.
_SCALES = (1.0, 5.0, 10.0, 100.0)
# Weights are written so that a label that was named once in a thousand answers is still there.
_DIGITS = 6
_BELIEFS_NOTICE = (
    "The weights of labels are shares of answers. If the models saw what the features say, use "
    f"{option('calibrate', 'beliefs')} in cleaning, or confidences will be too high."
)


@dataclass
class _Item:
    """What was said of an item, by model."""

    row: int
    others: dict[str, Any]  # columns beside the answers
    said: dict[str, list[Said]] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)  # columns that differ between its lines

    def add_columns(self, others: Mapping[str, Any]) -> None:
        """Take what another line of the item says about it."""
        for column, value in others.items():
            before = text_of(self.others.get(column))
            if before is None:
                self.others[column] = value
            elif text_of(value) not in (before, None):
                self.differing.add(column)


def read_llm_answers(
    source: str | os.PathLike[str] | FileContent,
    *,
    labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
    by_model: bool = False,
) -> Imported:
    """Read answers of language models from JSON lines, as a table of weighted candidate sets.

    Every answer counts alike, and shares its weight among the labels that it names, by
    probabilities, percentages, log-probabilities or ranks (the second counts half, the third a
    third) where it has some. The weights of an item add up to 1. What is not a label is left out
    and reported; an item without any label is unlabelled.

    Parameters
    ----------
    source : path or FileContent
        JSON lines: an object for each item, or for each answer with the ``id`` of its item and
        perhaps its ``model``. The guide shows the forms that answers may have.
    labels : sequence of str, or mapping from str to other words, optional
        The labels, as for ``match_wordings``. By default short wordings that many answers agree on.
    by_model : bool, default=False
        Whether every model is an annotator, whose answers to an item are one answer: all labels
        that it named. Commands then weigh models by what is learned of them, instead of adding
        up weights.

    Returns
    -------
    imported : Imported
        The table ``frame`` with what the file holds beside answers and the column ``label``, how
        labels are read, and notices.

    See Also
    --------
    match_wordings : How wordings become labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig.tabular import read_llm_answers
    >>> lines = '''{"id": "a", "answers": ["cat", "Cat.", "It is a dog."]}
    ... {"id": "b", "answers": [{"label": "dog", "probability": 0.9}]}'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.jsonl")
    ...     _ = path.write_text(lines)
    ...     imported = read_llm_answers(path, labels=["cat", "dog"])
    >>> imported.frame["label"].tolist()
    ['cat:0.666667|dog:0.333333', 'dog:1']
    """
    content = source if isinstance(source, FileContent) else find_content(source)
    options = ReadOptions(labels=labels, predictions=by_model)
    return read_llm_export([content], options)


def read_llm_export(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read answers of language models from several files as one; the reader of the tool "llm"."""
    content, labels, by_model = contents[0], options.labels, options.predictions
    every_line = [read_json_lines(each, encoding=options.encoding) for each in contents]
    lines = every_line[0] if len(every_line) == 1 else pd.concat(every_line, ignore_index=True)
    lines = _with_one_column_of_answers(lines)
    items, id_column = _items_of(lines, content.name)
    differing = _without_differing(items)
    _put_on_one_scale(items)
    every = [
        (item.row, each) for item in items.values() for said in item.said.values() for each in said
    ]
    if not any(said.wordings for _, said in every):
        raise TableError(
            f"{content.name} has no answers. An answer is in a column called "
            f"{join_names(ANSWER_KEYS[:4])} or the like; there are {join_names(lines.columns)}."
        )
    flat = [(row, wording) for row, said in every for wording, _ in said.wordings]
    matched = match_wordings(
        [wording for _, wording in flat], labels, rows=[row for row, _ in flat]
    )
    labels_of = dict(zip((wording for _, wording in flat), matched.candidates, strict=True))
    label = _OTHER_LABEL if any(_LABEL in item.others for item in items.values()) else _LABEL
    make = _long_table if by_model else _weighted_table
    frame, cells, unlabelled = make(items, labels_of, matched)
    frame[label] = cells
    notices = [*matched.notices(), *_notices_of_words(every)]
    if differing:
        they = "differs" if len(differing) == 1 else "differ"
        notices.append(
            f"Left out {join_names(map(repr, differing))}, which {they} between lines of one item."
        )
    if labels is None:
        notices.append(
            f"The labels are those that many answers agree on: {join_names(matched.names)}. Give a "
            "list if they are others (--label-list of 'disambig import', in Python labels=)."
        )
    if unlabelled:
        notices.append(
            f"{row_count(len(unlabelled))} {'has' if len(unlabelled) == 1 else 'have'} no answer "
            f"that is a label, the first is {row_name(unlabelled[0])}: unlabelled."
        )
    if by_model:
        return Imported(frame, LongLabels(_ITEM, label, _MODEL), _ITEM, tuple(notices))
    notices.append(_BELIEFS_NOTICE)
    return Imported(frame, LabelColumns(columns=(label,)), id_column, tuple(notices))


def _with_one_column_of_answers(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with all answers under one key, where some have them under another."""
    first, *others = [key for key in ANSWER_KEYS if key in lines.columns] or [""]
    for key in others:
        if lines.loc[lines[key].notna(), first].isna().all():
            answers = lines[first].astype(object).where(lines[first].notna(), lines[key])
            lines = lines.assign(**{first: answers}).drop(columns=key)
    return lines


def _items_of(lines: pd.DataFrame, name: str) -> tuple[dict[str, _Item], str | None]:
    """Return the items of the lines by their names, in order; without names each line is one."""
    id_column = next((key for key in _ID_KEYS if key in lines.columns), None)
    model_column = next((key for key in _MODEL_KEYS if key in lines.columns), None)
    answer_columns = [key for key in ANSWER_KEYS if key in lines.columns]
    if answer_columns:
        first = lines[answer_columns[0]]
        # Beside several answers, a weight or a position is something else, but not a list of them.
        scores = LISTS_OF_SCORES if any(map(is_collection, first)) else SCORE_KEYS
        answer_columns = [answer_columns[0], *(key for key in scores if key in lines.columns)]
    else:
        answer_columns = _columns_of_probabilities(lines, {id_column, model_column})
    items: dict[str, _Item] = {}
    for row, record in enumerate(lines.to_dict("records")):
        key = f"{row}" if id_column is None else text_of(record[id_column])
        if key is None:
            raise TableError(
                f"Every line needs the name of its item. {name} has none in {row_name(row)}, "
                f"column {id_column!r}. Fill it in."
            )
        model = None if model_column is None else text_of(record[model_column])
        others = {
            column: value
            for column, value in record.items()
            if column not in (*answer_columns, model_column) and not is_collection(value)
        }
        item = items.setdefault(key, _Item(row, others))
        if item.row != row:
            item.add_columns(others)
        given = {column: record[column] for column in answer_columns}
        try:
            answers = list(said_in(given[answer_columns[0]] if len(given) == 1 else given))
        except ValueError as problem:
            raise TableError(
                f"The answers in {row_name(row)} of {name} cannot be read: {problem}. Correct it."
            ) from None
        if not answers:
            item.said.setdefault(model or "", [])
        for of_model, said in answers:
            item.said.setdefault(of_model or model or "", []).append(said)
    return items, id_column


def _without_differing(items: Mapping[str, _Item]) -> list[str]:
    """Leave out columns that say something of a line, not of its item, and return their names."""
    differing = set().union(*(item.differing for item in items.values()))
    for item in items.values() if differing else ():
        item.others = {name: each for name, each in item.others.items() if name not in differing}
    return sorted(differing)


def _put_on_one_scale(items: Mapping[str, _Item]) -> None:
    """Make confidences comparable: those of 5, of 10 or in per cent become shares of 1."""
    answers = [answers for item in items.values() for answers in item.said.values()]
    stated = [weight for of in answers for s in of if s.stated for _, weight in s.wordings]
    largest = max(stated, default=0.0)
    scale = next((scale for scale in _SCALES if largest <= scale), largest)
    for of_model in answers if scale > 1 else ():
        of_model[:] = [
            said._replace(wordings=[(w, weight / scale) for w, weight in said.wordings])
            if said.stated
            else said
            for said in of_model
        ]


def _notices_of_words(every: Sequence[tuple[int, Said]]) -> list[str]:
    """Say which confidences are words."""
    words = [(row, said.in_words) for row, said in every if said.in_words is not None]
    if not words:
        return []
    row, first = words[0]
    return [
        f"Confidences in words, such as {quote_value(first)} ({row_name(row)}), are not used: such "
        "answers count in full."
    ]


def _columns_of_probabilities(lines: pd.DataFrame, others: set[str | None]) -> list[str]:
    """Return the columns of lines such as {"cat": 0.7, "dog": 0.2}."""
    columns = [name for name in lines.columns if name not in others]
    numbers = all(pd.api.types.is_numeric_dtype(lines[name]) for name in columns)
    return columns if numbers and len(columns) > 1 else []


def _weighted_table(
    items: Mapping[str, _Item], labels_of: Mapping[str, Sequence[str]], matched: MatchedWordings
) -> tuple[pd.DataFrame, Any, list[int]]:
    """Return a row for each item; its labels with their weights; and who has none."""
    rows, unlabelled = [], []
    for item in items.values():
        weights: dict[str, float] = {}
        for said in (each for of_model in item.said.values() for each in of_model):
            for label, weight in _labels_in(said, labels_of).items():
                weights[label] = weights.get(label, 0.0) + weight
        total = sum(weights.values())
        rows.append({label: round(weight / total, _DIGITS) for label, weight in weights.items()})
        if not weights:
            unlabelled.append(len(rows) - 1)
    frame = pd.DataFrame([item.others for item in items.values()])
    return frame, _cells(write_weights(rows, matched.names), rows), unlabelled


def _long_table(
    items: Mapping[str, _Item], labels_of: Mapping[str, Sequence[str]], matched: MatchedWordings
) -> tuple[pd.DataFrame, Any, list[int]]:
    """Return a row for each item and model; all labels that it named; and which item has none."""
    rows, sets, unlabelled = [], [], []
    for place, (key, item) in enumerate(items.items()):
        named = False
        for model, answers in item.said.items():
            labels = dict.fromkeys(
                label for said in answers for label in _labels_in(said, labels_of)
            )
            rows.append({**item.others, _ITEM: key, _MODEL: model or "model"})
            sets.append(list(labels))
            named = named or bool(labels)
        if not named:
            unlabelled.append(place)
    return pd.DataFrame(rows), _cells(write_cells(sets, matched.names), sets), unlabelled


def _cells(written: Sequence[str], labels: Sequence[Any]) -> Any:
    """Return a column of cells, missing where there is no label."""
    cells = [cell if named else None for cell, named in zip(written, labels, strict=True)]
    return pd.array(cells, dtype="str")


def _labels_in(said: Said, labels_of: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the labels in an answer, whose weights add up to 1 or less: it may not be sure."""
    weights: dict[str, float] = {}
    for wording, weight in said.wordings:
        labels = labels_of[wording]
        for label in labels if weight > 0 else ():
            weights[label] = weights.get(label, 0.0) + weight / len(labels)
    total = max(1.0, sum(weights.values()))
    return {label: weight / total for label, weight in weights.items()}
