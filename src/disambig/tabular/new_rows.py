"""New rows, read as a model reads them; several tables of them are predicted in one go."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import pandas as pd

from disambig._core.errors import ParameterError
from disambig._core.messages import join_names, option
from disambig._core.parameters import check_integer
from disambig._core.typing import Features, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.columns.values import column_values
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.files.table_on_disk import Table
from disambig.tabular.labels.label_columns import Labels
from disambig.tabular.labels.new_sets import read_new_sets
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.listener import FitListener
from disambig.tabular.model_folder import ModelParts
from disambig.tabular.ranked_labels import RankedLabels, rank_labels

_PROBABILITIES_AT_A_TIME = 4_000_000


@dataclass(frozen=True, kw_only=True)
class WhatToSay:
    """How many labels are given for each row, and what candidate sets the rows come with."""

    top: int = 1
    labels: Labels | None = None
    groups: RowGroups = field(default_factory=RowGroups)

    def __post_init__(self) -> None:
        check_integer("top", self.top, minimum=1)


@dataclass(frozen=True, eq=False)
class NewRows:
    """The values and candidate sets of new rows, and what a person should know of them."""

    values: pd.DataFrame
    sets: CandidateLabels | None
    top: int
    notices: tuple[str, ...]


def read_new_rows(
    model: ModelParts,
    frame: pd.DataFrame,
    asked: WhatToSay,
    *,
    described: DescribedColumns | None = None,
    embeddings: Any = None,
    listener: FitListener | None = None,
) -> NewRows:
    """Read a table; refuse what the model cannot read."""
    sets, notices = read_sets(model, frame, asked)
    values = column_values(frame, model.plan, described, listener, embeddings)
    return NewRows(values, sets, asked.top, (*notices, *_unseen(model, values)))


def read_tables_together(
    model: ModelParts, frame: pd.DataFrame, lengths: Sequence[int], tops: Sequence[int]
) -> Iterator[NewRows]:
    """Yield tables that stand below each other in a frame, read in one go.

    Cells are read one by one, so each gets what it would get alone, as long as the types of its
    columns are the same there. Whatever cannot be read in any of them is refused.
    """
    values = column_values(frame, model.plan)
    some_unseen = any(model.transformer.unseen_categories(values).values())
    ends = [0, *accumulate(lengths)]
    for (start, end), top in zip(pairwise(ends), tops, strict=True):
        part = values.iloc[start:end]
        yield NewRows(part, None, top, _unseen(model, part) if some_unseen else ())


def predict_new_rows(model: ModelParts, tables: Sequence[NewRows]) -> list[RankedLabels]:
    """Predict tables in one go: each gets what it would get alone, bit for bit.

    Values become features all at once, every cell by itself. The classifier is asked for each table
    alone: products of matrices are rounded in another way where there are more rows.
    """
    if not tables:
        return []
    if len(tables) == 1:  # perhaps a large one
        (table,) = tables
        slices = slices_of_rows(len(table.values), len(model.classes))
        return [_ranked(model, table, (model.probabilities_of(table.values[s]) for s in slices))]
    values = pd.concat([table.values for table in tables], ignore_index=True)
    features = model.transformer.transform(values)
    ends = [0, *accumulate(len(table.values) for table in tables)]
    return [
        _ranked(model, table, _said_of(model, features[start:end]))
        for table, (start, end) in zip(tables, pairwise(ends), strict=True)
    ]


def slices_of_rows(n_rows: int, n_classes: int) -> list[slice]:
    """Return rows to predict at a time: a million rows of many classes would take gigabytes."""
    at_a_time = max(1, _PROBABILITIES_AT_A_TIME // n_classes)
    return [slice(start, start + at_a_time) for start in range(0, max(n_rows, 1), at_a_time)]


def _unseen(model: ModelParts, values: pd.DataFrame) -> tuple[str, ...]:
    return unseen_notices(model.transformer.unseen_categories(values))


def unseen_notices(unseen: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Say which categories were not seen in training, by column."""
    return tuple(
        f"Column {name!r} has values that the training table did not have; they are ignored: "
        f"{join_names(sorted(new))}."
        for name, new in unseen.items()
    )


def read_sets(
    model: ModelParts, frame: Table, asked: WhatToSay
) -> tuple[CandidateLabels | None, tuple[str, ...]]:
    """Return the candidate sets that new rows come with; None if they come with none."""
    if asked.labels is not None:
        return read_new_sets(frame, asked.labels, model.classes, asked.groups)
    if asked.groups != RowGroups():
        raise ParameterError(
            "For new rows, --group and --promise need candidate labels. Name their column by "
            f"{option('labels')}, or leave both out."
        )
    return None, ()


def _said_of(model: ModelParts, features: Features) -> Iterator[FloatArray]:
    for rows in slices_of_rows(features.shape[0], len(model.classes)):
        yield model.probabilities_of_features(features[rows])


def _ranked(model: ModelParts, table: NewRows, said: Iterable[FloatArray]) -> RankedLabels:
    threshold = None if model.coverage is None else model.coverage.threshold
    return rank_labels(model.classes, said, top=table.top, threshold=threshold, sets=table.sets)
