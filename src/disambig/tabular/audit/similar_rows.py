"""Labels and rows that look like slips or copies of others."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.candidates.labels import CandidateLabels

__all__ = [
    "JoinedLabels",
    "RepeatedRows",
    "Slip",
    "find_repeated_rows",
    "joined_labels",
    "likely_slips",
    "spelled_alike",
]


_LONGEST_LABEL = 80  # longer ones are whole sentences
_MOST_LABELS = 50_000
# What is a slip of something is rare beside it.
_ROWS_BESIDE_ONE = 3
_TIMES_AS_OFTEN = 50
_MOST_SHARING = 8  # labels kept for each shortened form, the most frequent ones
# From here on a sign is a syllable or a word, so that another one says something else.
_FIRST_SYLLABLE_SIGN = "\u2e80"

# In fewer letters, another one makes another word, or another code.
_WORD = re.compile(r"[^\W\d_]{4,}")
_SPACE_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d) | (?!\d)")
# 'A+' and 'A-', '<50' and '>50' are no slips of one another, so some signs stay.
_PUNCTUATION = re.compile(r"(?<=\w)(?:[^\w+#*&%<>=]|_)+(?=\w)|[\s.,:;!?)\]}]+$")
_OTHER_SEPARATORS = (";", ",", "|", "/", "&", "+", "\t", " or ")


class Slip(NamedTuple):
    """A rare label, and the frequent one that may have been meant."""

    rare: str
    meant: str


class JoinedLabels(NamedTuple):
    """Labels that look like several, and what stands between these."""

    separator: str
    labels: list[str]


def spelled_alike(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of labels that differ only in case, in spaces and in what cannot be seen."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        groups[_without_case_and_spaces(label)].append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def likely_slips(counts: Mapping[str, int]) -> list[Slip]:
    """Return rare labels that a slip may have made out of frequent ones.

    A slip changes punctuation, or one letter: another one, one too few, one too many, one in
    another place. It changes neither a digit nor the first letter, because ``class 1`` and
    ``class 2``, ``typical`` and ``atypical`` are different things. What ``spelled_alike`` finds is
    left out.

    Parameters
    ----------
    counts : mapping of str to int
        In how many rows each label occurs.
    """
    by_frequency = sorted(
        (label for label, count in counts.items() if count and _can_hold_a_slip(label)),
        key=lambda label: (-counts[label], label),
    )
    if not 1 < len(by_frequency) <= _MOST_LABELS:
        return []
    # Two labels that differ by a slip share a form without the letter in question.
    forms = {label: _shortened_forms(label) for label in by_frequency}
    sharing: dict[str, list[str]] = defaultdict(list)
    for label in by_frequency:
        for form in forms[label]:
            if len(sharing[form]) < _MOST_SHARING:
                sharing[form].append(label)
    slips = []
    for label in by_frequency:
        if not _is_rare_beside(counts[label], counts[by_frequency[0]]):
            continue
        close = {
            other
            for form in forms[label]
            for other in sharing[form]
            if _is_rare_beside(counts[label], counts[other])
            and _without_case_and_spaces(other) != _without_case_and_spaces(label)
        }
        if close:
            slips.append(Slip(label, min(close, key=lambda other: (-counts[other], other))))
    return sorted(slips, key=lambda slip: (-counts[slip.meant], slip))


def joined_labels(counts: Mapping[str, int]) -> JoinedLabels | None:
    """Return labels that look like several, such as ``cat;dog`` beside ``cat`` and ``bird;dog``.

    They do where most of their pieces are found in other labels too.

    Parameters
    ----------
    counts : mapping of str to int
        In how many rows each label occurs.
    """
    joined = [
        JoinedLabels(separator, [label for label in counts if separator in label])
        for separator in _OTHER_SEPARATORS
    ]
    return max(
        (each for each in joined if _pieces_recur(each, counts)),
        key=lambda each: sum(counts[label] for label in each.labels),
        default=None,
    )


def _pieces_recur(joined: JoinedLabels, counts: Mapping[str, int]) -> bool:
    labels_with: dict[str, set[str]] = defaultdict(set)
    for label in joined.labels:
        for piece in label.split(joined.separator):
            if piece.strip():
                labels_with[piece.strip()].add(label)
    recurring = sum(len(labels) > 1 or piece in counts for piece, labels in labels_with.items())
    return len(labels_with) > 1 and 2 * recurring > len(labels_with)


def _without_case_and_spaces(label: str) -> str:
    # Spaces between digits stay: '1 1' is not '11'.
    return _SPACE_NOT_BETWEEN_DIGITS.sub("", _folded(label))


def _folded(label: str) -> str:
    text = unicodedata.normalize("NFKC", label).casefold()
    if not text.isascii():  # signs that cannot be seen, such as joiners
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(text.split())


def _can_hold_a_slip(label: str) -> bool:
    # Numbers are not spelled.
    return len(label) <= _LONGEST_LABEL and any(sign.isalpha() for sign in label)


def _shortened_forms(label: str) -> set[str]:
    """Return a label without punctuation, and all that is left of it without one letter."""
    text = _PUNCTUATION.sub(
        lambda found: " " if found.end() < len(found.string) else "", _folded(label)
    )
    forms = {text}
    for word in _WORD.finditer(text):
        forms |= {
            text[:place] + text[place + 1 :]
            for place in range(max(1, word.start()), word.end())
            if text[place] < _FIRST_SYLLABLE_SIGN
        }
    return {_SPACE_NOT_BETWEEN_DIGITS.sub("", form) for form in forms}


def _is_rare_beside(count: int, other: int) -> bool:
    return (count == 1 and other >= _ROWS_BESIDE_ONE) or count * _TIMES_AS_OFTEN <= other


_ROWS_AT_A_TIME = 50_000
_ODD_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class RepeatedRows(NamedTuple):
    """Marks rows that have the features of another row.

    Attributes
    ----------
    differing : array of shape (n_samples,)
        Rows whose group has different sets, with a label that is in all of them.
    contradicting : array of shape (n_samples,)
        Rows whose group has no label that is in all of its sets.
    """

    differing: BoolArray
    contradicting: BoolArray


def find_repeated_rows(values: pd.DataFrame, candidates: CandidateLabels) -> RepeatedRows:
    """Compare the sets of all rows that have the same features.

    Parameters
    ----------
    values : DataFrame of n_samples rows
        Features: numbers, and texts or None.
    candidates : CandidateLabels of n_samples rows
        Their sets.
    """
    rows, starts = _groups_of_several(_row_hashes(values))
    differing = np.zeros(len(values), dtype=bool)
    contradicting = np.zeros(len(values), dtype=bool)
    # Some whole groups at a time, because sets can be large.
    first_rows = np.arange(0, len(rows), _ROWS_AT_A_TIME)
    cuts = np.unique(np.append(np.searchsorted(starts[:-1], first_rows), len(starts) - 1))
    for first, last in pairwise(cuts.tolist()):
        members = rows[starts[first] : starts[last]]
        ends = starts[first : last + 1] - starts[first]
        all_same, some_common = _agreement(candidates[members], ends)
        sizes = np.diff(ends)
        differing[members] = np.repeat(~all_same & some_common, sizes)
        contradicting[members] = np.repeat(~some_common, sizes)
    return RepeatedRows(differing, contradicting)


def _agreement(candidates: CandidateLabels, ends: IntArray) -> tuple[BoolArray, BoolArray]:
    """Tell for every group of rows whether its sets are the same, and whether they overlap."""
    sizes = np.diff(ends)
    members = np.arange(len(candidates))
    groups = sparse.csr_array(
        (np.ones(len(members), dtype=np.int32), members, ends), shape=(len(sizes), len(members))
    )
    rows_with_label = groups @ candidates.to_sparse().astype(np.int32)
    most = np.maximum.reduceat(rows_with_label.data, rows_with_label.indptr[:-1])
    fewest = np.minimum.reduceat(rows_with_label.data, rows_with_label.indptr[:-1])
    return fewest == sizes, most == sizes


def _groups_of_several(hashes: AnyArray) -> tuple[IntArray, IntArray]:
    """Return the rows whose hash is not alone, group by group, and where groups begin and end."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    group = np.cumsum(is_first) - 1
    sizes = np.bincount(group)
    several = sizes > 1
    return order[several[group]], np.append(0, np.cumsum(sizes[several]))


def _row_hashes(values: pd.DataFrame) -> AnyArray:
    # One column at a time: a copy of all of them would be as large as the table.
    hashes = np.zeros(len(values), dtype=np.uint64)
    for position in range(values.shape[1]):
        column = _comparable(values.iloc[:, position])
        hashes = hashes * _ODD_FACTOR + pd.util.hash_array(column)
    return hashes


def _comparable(column: pd.Series) -> AnyArray:
    if not pd.api.types.is_numeric_dtype(column):
        return np.asarray(column.to_numpy(dtype=object))
    numbers = column.to_numpy(dtype=float)
    # The hash looks at bits, of which zero and missing have several.
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0)
