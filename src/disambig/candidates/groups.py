"""Rows that come together: their groups, what a group promises, and folds of whole groups."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from disambig._core.errors import CandidateError, ParameterError, describe_rows
from disambig._core.parameters import check_choice, check_real, make_generator
from disambig._core.typing import BoolArray, IntArray, Sparse
from disambig.candidates.checks import as_list, is_missing

PromiseKind = Literal["cover", "exclusive"]
DEFAULT_STRENGTH = 0.9


@dataclass(frozen=True)
class Promise:
    """What is known of a group as a whole, beyond the set of each of its rows.

    Attributes
    ----------
    kind : {"cover", "exclusive"}
        "cover": every label in the sets of a group belongs to at least one of its rows.
        "exclusive": no two rows of a group have the same label.
    strength : float, default=0.9
        Share of the groups for which that is believed, from 0 to 1. Below 1, a group whose rows
        speak against the promise is soon exempt from it.

    See Also
    --------
    CandidateLabels.with_groups : Says which rows come together, and what that promises.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> y = CandidateLabels.from_strings(["robin|wren", "robin|wren", "wren|tit"])
    >>> y = y.with_groups(["morning", "morning", "noon"], promise="cover")
    >>> y.promise
    Promise(kind='cover', strength=0.9)
    """

    kind: PromiseKind
    strength: float = DEFAULT_STRENGTH

    def __post_init__(self) -> None:
        check_choice("promise", self.kind, get_args(PromiseKind))
        check_real("strength", self.strength, minimum=0, maximum=1)


def group_numbers(groups: Iterable[Any] | None, n_samples: int) -> IntArray:
    """Return the number of the group of every sample, in the order in which groups appear.

    Without groups every sample is one.
    """
    if groups is None:
        return np.arange(n_samples)
    if not isinstance(groups, Iterable):
        raise CandidateError(f"'groups' must name a group for each row. Got {groups!r}.")
    names = as_list(groups)
    if len(names) != n_samples:
        raise CandidateError(
            f"'groups' must name a group for each of the {n_samples} rows. Got {len(names)}."
        )
    missing = np.array([is_missing(name) for name in names], dtype=bool)
    if missing.any():
        raise CandidateError(
            f"Every row needs a group. None for {describe_rows(missing)}. Give each of them a "
            "group of its own."
        )
    number: dict[Any, int] = {}
    for row, name in enumerate(names):
        try:
            number.setdefault(name, len(number))
        except TypeError:
            raise CandidateError(
                f"A group is named by a string, a number or a tuple. Got {name!r} in row {row}."
            ) from None
    return np.array([number[name] for name in names], dtype=np.int64)


def runs_of_equal_rows(matrix: Sparse) -> IntArray:
    """Return the number of the run that every row of a CSR array of booleans is in.

    A run is neighbouring rows that are equal.
    """
    sizes = np.diff(matrix.indptr)
    shared = np.asarray(matrix[1:].multiply(matrix[:-1]).sum(axis=1)).ravel()
    is_first = np.ones(len(sizes), dtype=bool)
    is_first[1:] = (sizes[1:] != sizes[:-1]) | (shared != sizes[1:])
    return np.cumsum(is_first) - 1


def deal_rows(n_rows: int, groups: IntArray | None, n_folds: int, seed: Any) -> IntArray:
    """Return the fold of every row, at random; rows of a group are in the same one."""
    if groups is not None:
        return deal_groups(groups, n_folds, seed)
    return make_generator(seed).permutation(n_rows) % n_folds


def deal_groups(groups: IntArray, n_folds: int, seed: Any) -> IntArray:
    """Return the fold of every row; all rows of a group are in the same one.

    Groups come in a random order, each to the fold that has the fewest rows so far.
    """
    number = group_numbers(groups, len(groups))
    sizes = np.bincount(number)
    if len(sizes) < n_folds:
        raise ParameterError(
            f"{n_folds} folds of whole groups need as many groups. Got {len(sizes)}. Use fewer "
            "folds, or leave the groups out."
        )
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    rows_in_fold = np.zeros(n_folds, dtype=np.int64)
    for group in make_generator(seed).permutation(len(sizes)):
        # An empty fold first, so that none stays without a group.
        fold = int(rows_in_fold.argmin())
        fold_of_group[group] = fold
        rows_in_fold[fold] += sizes[group]
    return fold_of_group[number]


def hold_out_groups(groups: IntArray, share: float, seed: Any) -> BoolArray:
    """Return which rows are held out: whole groups, about ``share`` of the rows."""
    number = group_numbers(groups, len(groups))
    sizes = np.bincount(number)
    if len(sizes) < 2:
        raise ParameterError(
            "To hold out a share of the rows takes two groups or more. Got one. Leave the groups "
            "out, or hold nothing out."
        )
    order = make_generator(seed).permutation(len(sizes))
    # A group of more than half the rows is the last to be held out.
    order = order[np.argsort(2 * sizes[order] > len(groups), kind="stable")]
    rows_so_far = np.cumsum(sizes[order])
    # As near to the share as whole groups allow, and at least one on either side.
    n_held_out = 1 + int(np.abs(rows_so_far[:-1] - share * len(groups)).argmin())
    is_held_out = np.zeros(len(sizes), dtype=bool)
    is_held_out[order[:n_held_out]] = True
    return is_held_out[number]
