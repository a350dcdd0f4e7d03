"""The groups of a cleaned table: from its own column, and from the details of the cleaning."""

from typing import Any

import numpy as np

from disambig._core.errors import warn_caller
from disambig._core.messages import quote_value
from disambig.candidates.groups import Promise
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.clean_details import CleanDetails
from disambig.tabular.labels.row_groups import RUNS, RowGroups


def read_groups(
    frame: Any,
    details: CleanDetails | None,
    candidates: CandidateLabels,
    group: str | None = None,
) -> tuple[CandidateLabels, str | None]:
    """Return the sets with groups and what these promise, and where the groups come from.

    That is a column of the table, or "runs". ``group`` names another than the details do; nothing
    is promised of that.
    """
    if group is not None:
        sets, _ = RowGroups(group=group).put_on(candidates, frame)
        if details is None or details.group != group:
            return sets, group
    elif details is None or details.group is None:
        return candidates, None
    elif details.group != RUNS and details.group not in frame.columns:
        warn_caller(
            f"Rows came together by column {quote_value(details.group)} when the table was "
            "cleaned. It is no longer there, so every row is shown by itself."
        )
        return candidates, None
    promise = None
    if details.promise is not None and details.promise_strength is not None:
        promise = Promise(details.promise, details.promise_strength)
    sets, _ = RowGroups(group=details.group).put_on(candidates, frame)
    groups = sets.groups
    is_run = RowGroups(group=details.group).column(frame) is None
    lengths = details.run_lengths
    if is_run and lengths is not None and sum(lengths) == len(candidates):
        # Sets of rows that were settled since are no longer equal to those of their neighbours.
        groups = np.repeat(np.arange(len(lengths)), lengths)
    return candidates.with_groups(groups, promise=promise), details.group
