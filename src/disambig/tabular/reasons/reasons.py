"""Why a row may have one label or another, from the rows whose labels are sure."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.columns.values import value_names
from disambig.tabular.reasons.arranged_rows import ArrangedRows
from disambig.tabular.reasons.column_reading import hidden_columns, read_features
from disambig.tabular.reasons.column_weights import weigh_columns
from disambig.tabular.reasons.comparable_columns import comparable_columns
from disambig.tabular.reasons.picture_columns import PictureColumn, picture_column
from disambig.tabular.reasons.similar_rows import MOST_SIMILAR, SimilarRow, similar_rows
from disambig.tabular.reasons.sure_rows import sure_rows
from disambig.tabular.reasons.value_ranges import (
    ValueRange,
    ValueShare,
    value_ranges,
    value_shares,
)


class Reasons:
    """What speaks for each label of a row: similar rows, and where its values lie.

    Only columns that were learned from are compared, so neither candidate labels nor true ones are;
    of embeddings beside the table nothing is known. To make it takes seconds for a large table; to
    ask it takes a moment.

    Parameters
    ----------
    cleaned : CleanedTable
        The table.
    folder : path, optional
        Where the paths of pictures begin; without it pictures are not compared.
    held_back : collection of int, optional
        Rows whose label must not be shown: their true label is known, and a reviewer may be asked
        for it.
    """

    def __init__(
        self,
        cleaned: CleanedTable,
        folder: str | os.PathLike[str] | None = None,
        *,
        held_back: Collection[int] = (),
    ) -> None:
        self._cleaned = cleaned
        self.hidden = hidden_columns(cleaned)
        self._may_miss = cleaned.set_may_miss
        _, self._pairs = cleaned.candidates.pairs()
        plan, values = read_features(cleaned, self.hidden)
        sure = sure_rows(cleaned, held_back=held_back)
        n_rows = len(cleaned.candidates)
        columns = [] if plan is None else list(comparable_columns(plan, values))
        columns += self._pictures(folder)
        self._rows = ArrangedRows.of(weigh_columns(columns, sure, n_rows), sure, n_rows)
        # Of a date only its day is shown: its first value.
        self._column_of: Mapping[str, str] = (
            {}
            if plan is None
            else {
                names[0]: column.name
                for column, names in zip(plan.columns, value_names(plan), strict=True)
            }
        )

    def _pictures(self, folder: str | os.PathLike[str] | None) -> list[PictureColumn]:
        """Return the columns of pictures that were learned from, as far as they can be read."""
        if folder is None:
            return []
        values = self._cleaned.values
        names = [name for name in self._cleaned.features.get("image", ()) if name in values]
        columns = [picture_column(values[name], Path(folder)) for name in names]
        return [column for column in columns if column is not None]

    def labels(self, row: int) -> list[int]:
        """Return the classes that a row may have, the likeliest first.

        Where its true label is known, they are those that it might have had before that, and as
        likely as then. If its set probably misses the right label, the one that it would then have
        comes last.
        """
        cleaned = self._cleaned
        start, size = cleaned.candidates.starts[row], cleaned.candidates.sizes[row]
        labels = self._pairs[start : start + size]
        confidences = cleaned.confidences[start : start + size]
        before = cleaned.unaided_confidences.get(row)
        if before is not None:
            names = cleaned.candidates.classes[labels].tolist()
            # A true label that was not a candidate has joined the set since.
            labels = labels[[name in before for name in names]]
            confidences = np.array([before[name] for name in names if name in before])
        likeliest: list[int] = labels[np.argsort(-confidences, kind="stable")].tolist()
        likeliest = likeliest[:MOST_SIMILAR]
        missed = -1 if cleaned.label_if_missed is None else int(cleaned.label_if_missed[row])
        if missed >= 0 and missed not in likeliest and before is None and self._may_miss[row]:
            likeliest = [*likeliest[: MOST_SIMILAR - 1], missed]
        return likeliest

    def similar(self, row: int) -> list[SimilarRow]:
        """Return the sure rows most similar to a row, of all labels that it may have."""
        return similar_rows(self._rows, row, self.labels(row))

    def ranges(self, row: int) -> list[ValueRange]:
        """Return where the numbers and dates of a row lie among those of each label.

        Labels come in the order of the classes, which does not say which of them is likeliest.
        """
        found = value_ranges(self._rows, row, sorted(self.labels(row)))
        return [
            replace(one, column=self._column_of[one.column])
            for one in found
            if one.column in self._column_of
        ]

    def shares(self, row: int) -> list[ValueShare]:
        """Return how frequent the categories of a row are among the rows of each label."""
        found = value_shares(self._rows, row, sorted(self.labels(row)))
        return [replace(one, column=self._column_of[one.column]) for one in found]
