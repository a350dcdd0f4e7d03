"""Signs that rows come together, as regions of a picture do, in a table that does not say so."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd

from disambig._core.errors import warn_caller
from disambig._core.messages import option, percent, plural, quote_value, row_count
from disambig._core.typing import AnyArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.audit.equal_neighbours import (
    FAR_RANK,
    NearDuplicates,
    NumberedSets,
    Runs,
    find_near_duplicates,
    find_runs,
)
from disambig.tabular.labels.row_groups import RUNS

if TYPE_CHECKING:
    from disambig.tabular.task import TableTask

_FEWEST_ROWS = 50  # with several labels: fewer can look like anything
# A column names groups if nearly all rows with the same value have the same set, and few of all.
_FEWEST_GROUPS = 10  # of two rows or more
_EQUAL_GROUPS = 0.95
_MOST_EQUAL_BY_CHANCE = 0.5
_MOST_VALUES = 0.7  # of the number of rows
_LOOKED_AT_FIRST = 200  # cells, to see whether they are measurements
_ROWS_TO_REFUTE = 2_000
_SEED = 0
_RISK = (
    "If these come from one picture, recording, person or document, the estimated quality is too "
    "good for new ones: models are trained on some rows of each and judged by the others."
)


@dataclass(frozen=True)
class NoticedGroups:
    """What speaks for rows that come together; ``str()`` says it, and what to do.

    Attributes
    ----------
    sign : {"column", "runs", "near_duplicates"}
        A column in which rows of one value have equal sets, neighbouring rows with equal sets, or
        rows whose most similar row has the same set.
    seen : str
        What was seen, in a sentence.
    advice : str
        What follows from it, and what to type.
    group : str or None
        What to give as the group: the name of a column, "runs", or None if nothing fits.
    """

    sign: Literal["column", "runs", "near_duplicates"]
    seen: str
    advice: str
    group: str | None

    def __str__(self) -> str:
        return f"{self.seen} {self.advice}"


def notice_groups(
    candidates: CandidateLabels,
    frame: pd.DataFrame,
    values: pd.DataFrame | None = None,
    *,
    reserved: Collection[str | None] = (),
) -> NoticedGroups | None:
    """Look for rows that come together; None if there is no sign of it, or groups are known.

    Only rows with several candidates are looked at: those with one are alike for a good reason.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets, one for each row.
    frame : DataFrame
        The table, whose columns may name the groups.
    values : DataFrame, optional
        The features, as models get them.
    reserved : collection of str
        Columns that cannot name groups: of candidate labels, true labels or names of rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from disambig import CandidateLabels
    >>> from disambig.tabular.audit.groups_noticed import notice_groups
    >>> captions = ["ann|bob", "bob|eve", "ann|eve", "eve|joe", "ann|joe"] * 20
    >>> y = CandidateLabels.from_strings(np.repeat(captions, 3))
    >>> table = pd.DataFrame({"photo": np.repeat(np.arange(100), 3)})
    >>> notice_groups(y, table).group
    'photo'
    >>> notice_groups(y, table[[]]).group
    'runs'
    """
    rows = np.flatnonzero(candidates.sizes > 1)
    if candidates.groups is not None or len(rows) < _FEWEST_ROWS:
        return None
    sets = NumberedSets.of(candidates[rows])
    columns = {name: frame[name] for name in frame.columns if name not in reserved}
    fitting = _fitting_column(sets, columns, rows)
    if fitting is not None:
        return _of_column(fitting)
    runs = find_runs(sets)
    if runs is not None and not runs.is_sorted:
        return _of_runs(runs, len(rows))
    found = None if values is None else find_near_duplicates(sets, values, rows)
    return None if found is None else _of_near_duplicates(found, runs)


def warn_of_groups(
    frame: pd.DataFrame, task: "TableTask", reserved: Collection[str | None]
) -> None:
    """Warn, at the line that called this package, if rows seem to come together."""
    try:
        noticed = notice_groups(task.given, frame, task.values, reserved=reserved)
    except Exception:  # a remark is not worth a failed training
        logging.getLogger(__name__).debug("Could not look for groups of rows.", exc_info=True)
        return
    if noticed is not None:
        warn_caller(str(noticed))


def _of_column(fitting: "_FittingColumn") -> NoticedGroups:
    exceptions = ", with few exceptions" if fitting.has_exceptions else ""
    seen = (
        f"Rows with the same value in column {quote_value(fitting.name)}, which has "
        f"{plural(fitting.n_values, 'value')}, have the same candidate labels{exceptions}."
    )
    advice = f"{_RISK} Hold out whole groups: {option('group', fitting.name)}."
    return NoticedGroups("column", seen, advice, fitting.name)


def _of_runs(runs: Runs, n_rows: int) -> NoticedGroups:
    seen = (
        f"{row_count(n_rows)} with several candidate labels are in {runs.n_runs:,} runs of "
        f"neighbours with equal labels; in random order it would be about {runs.expected:,.0f}."
    )
    advice = (
        f"{_RISK} Hold out whole runs: {option('group', RUNS)}. A column that names the groups is "
        "better, if there is one."
    )
    return NoticedGroups("runs", seen, advice, RUNS)


def _of_near_duplicates(found: NearDuplicates, runs: Runs | None) -> NoticedGroups:
    seen = (
        f"The row with the most similar features has the same candidate labels for "
        f"{percent(found.near_equal)} of the rows, the {FAR_RANK}th most similar for only "
        f"{percent(found.far_equal)}: many rows seem to have near duplicates."
    )
    advice = f"{_RISK} Name the column that says which rows come together: {option('group')}."
    if runs is None:
        return NoticedGroups("near_duplicates", seen, advice, None)
    advice += (
        f" If there is none, {option('group', RUNS)} holds out all rows of a set together, because "
        "this table is sorted by its labels; the quality is then rather too low."
    )
    return NoticedGroups("near_duplicates", seen, advice, RUNS)


# ---- a column that names the groups


class _FittingColumn(NamedTuple):
    name: str
    n_values: int
    has_exceptions: bool  # values whose rows have other sets


def _fitting_column(
    sets: NumberedSets, columns: dict[str, "pd.Series[object]"], rows: IntArray
) -> _FittingColumn | None:
    """Return the column of fewest values that splits the table into rows of equal sets."""
    if sets.equal_by_chance > _MOST_EQUAL_BY_CHANCE:
        return None
    fitting: list[_FittingColumn] = []
    n_rows = len(rows)
    generator = np.random.default_rng(_SEED)
    some = np.unique(generator.integers(n_rows, size=min(n_rows, _ROWS_TO_REFUTE)))
    for name, column in columns.items():
        # Some cells rule most columns out, and are read much faster than all of them.
        cells = column.iloc[rows[some]].to_numpy()
        if not _are_measurements(cells[:_LOOKED_AT_FIRST]) and not _is_refuted(sets, cells, some):
            found = _values_with_equal_sets(sets, name, column.iloc[rows].to_numpy())
            fitting += [] if found is None else [found]
    return min(fitting, key=lambda column: column.n_values, default=None)


def _are_measurements(cells: AnyArray) -> bool:
    """Tell whether cells are numbers of which one has a fraction: they name no group."""
    try:
        numbers = cells.astype(float)
    except (TypeError, ValueError):
        return False
    finite = numbers[np.isfinite(numbers)]
    return bool((finite != np.floor(finite)).any())


def _codes(cells: AnyArray) -> tuple[IntArray, int]:
    """Return the number of every cell's value, -1 where it has none, and how many there are."""
    try:
        codes, distinct = pd.factorize(cells)
    except TypeError:  # lists and the like
        return np.full(len(cells), -1), 0
    return codes, len(distinct)


def _is_refuted(sets: NumberedSets, cells: AnyArray, some: IntArray) -> bool:
    """Tell by the cells of some rows whether equal values often have other sets."""
    codes, _ = _codes(cells)
    order = np.argsort(codes, kind="stable")
    codes, number = codes[order], sets.number[some[order]]
    same_value = (codes[1:] == codes[:-1]) & (codes[1:] >= 0)
    differ = same_value & (number[1:] != number[:-1])
    return bool(differ.sum() > _FEWEST_GROUPS + same_value.sum() / 2)


def _values_with_equal_sets(
    sets: NumberedSets, name: str, cells: AnyArray
) -> _FittingColumn | None:
    """Return how a column fits, or None if rows of a value often have other sets."""
    codes, n_values = _codes(cells)
    is_named = codes >= 0
    codes, number = codes[is_named], sets.number[is_named]
    n_sets = len(np.unique(number))
    # As many values as sets: another way to write the sets, unless these are more than labels.
    several = n_values > n_sets or n_values == n_sets > sets.n_labels
    if not several or n_values > _MOST_VALUES * len(codes):
        return None
    is_group = np.bincount(codes, minlength=n_values) > 1
    one_of_them = np.zeros(n_values, dtype=number.dtype)
    one_of_them[codes] = number
    differs = np.bincount(codes, weights=number != one_of_them[codes], minlength=n_values) > 0
    n_groups, n_equal = int(is_group.sum()), int((is_group & ~differs).sum())
    fits = n_groups >= _FEWEST_GROUPS and n_equal >= _EQUAL_GROUPS * n_groups
    return _FittingColumn(name, n_values, n_equal < n_groups) if fits else None
