"""What an audit finds, and the labelled rows that it looks at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from disambig._core.messages import row_list
from disambig._core.typing import IntArray
from disambig.candidates.audit import CandidateAudit, row_blocks
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.table_cells import text_of

ROWS_KEPT = 1_000
_ROWS_NAMED = 5  # in a sentence


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong; ``str()`` says what, where and what to do."""

    kind: str  # a name for programs
    message: str
    advice: str = ""
    count: int = 0  # how many rows it concerns
    rows: tuple[int, ...] = ()  # these rows, counted from 1, or the first of very many
    labels: tuple[tuple[str, ...], ...] = ()  # the labels it concerns, in groups
    ids: tuple[str, ...] = ()  # what a column calls these rows, if there is one

    @classmethod
    def about(
        cls,
        rows: IntArray,
        kind: str,
        message: str,
        advice: str,
        labels: Iterable[Iterable[object]] = (),
    ) -> Self:
        """Return a finding about rows, which are given by their positions from 0."""
        first = tuple(int(row) + 1 for row in rows[:ROWS_KEPT])
        groups = tuple(tuple(str(label) for label in group) for group in labels)
        return cls(kind, message, advice, len(rows), first, groups)

    def with_ids(self, column: "pd.Series[Any]") -> Self:
        """Return it with what a column of the whole table calls its rows."""
        return replace(self, ids=ids_of(column, self.rows))

    def __str__(self) -> str:
        rows, ids = self.rows[:_ROWS_NAMED], self.ids[:_ROWS_NAMED]
        where = f"See {row_list(rows, self.count, ids)}." if rows else ""
        return " ".join(filter(None, (self.message, where, self.advice)))


def ids_of(column: "pd.Series[Any]", rows: Iterable[int]) -> tuple[str, ...]:
    """Return what a column calls rows, counted from 1; an empty string where it has no name."""
    return tuple(text_of(cell) or "" for cell in column.iloc[[row - 1 for row in rows]])


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows of a table that have a label."""

    candidates: CandidateLabels
    audit: CandidateAudit  # facts about the candidates
    numbers: IntArray  # positions of the rows in the table, from 0
    values: pd.DataFrame | None = None  # features, if there are any
    separator_unused: bool = False  # whether no cell was split into labels
    columns: Mapping[str, str] | None = None  # of the features; by default each is a column

    def column_of(self, feature: str) -> str | None:
        """Return the column of the table that a feature is made of; embeddings are beside it."""
        return feature if self.columns is None else self.columns.get(feature)

    @property
    def is_weighted(self) -> bool:
        """Whether weights say which candidates are likely."""
        return self.candidates.weights is not None

    @property
    def text_counts(self) -> dict[str, int]:
        """In how many rows each label is a candidate; of labels that occur and are strings."""
        pairs = zip(self.audit.classes, self.audit.candidate_counts.tolist(), strict=True)
        return {label: count for label, count in pairs if isinstance(label, str) and count}

    @property
    def n_occurring(self) -> int:
        """How many classes are a candidate somewhere."""
        return self.audit.n_classes - len(self.audit.never_candidates)

    def rows_with(self, labels: Iterable[object]) -> IntArray:
        """Return the positions of rows that have one of these labels as a candidate."""
        wanted = set(labels)
        marked = np.array([name in wanted for name in self.audit.classes], dtype=np.int64)
        blocks = row_blocks(self.candidates)
        found = np.concatenate([block.to_sparse().astype(np.int64) @ marked for block in blocks])
        return self.numbers[found > 0]
