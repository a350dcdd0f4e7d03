"""Rows with a label chosen for each and how sure that is, wherever that comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from disambig._core.groups import group_maxima
from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels

__all__ = [
    "JUDGED_IN_SAMPLE",
    "Disambiguated",
    "doubtful_first",
    "features_in_words",
]

# What is to be known of rows that were judged by a model which has seen them.
JUDGED_IN_SAMPLE = "a model that was trained on them, which is surer than it should be"


@dataclass(frozen=True, eq=False)
class Disambiguated:
    """Rows of a cleaned table, or those that a model was trained on.

    Attributes
    ----------
    candidates : CandidateLabels
        The sets; their classes are texts.
    confidences : ndarray of shape (n_pairs,)
        Of every candidate, in the order of ``candidates.pairs()``.
    chosen : ndarray of shape (n_samples,)
        The class that is chosen for every row, by its place among the classes.
    second_look : ndarray of bool of shape (n_samples,)
        Whether a row deserves one.
    values : DataFrame
        Columns of the user's, as far as they are known.
    opinions : mapping from row to lists of numbers
        What each network says about the candidates of a row, for the rows most worth a look.
    histories : sequence of mappings
        Measures by epoch of every training behind this; None where one was not taken.
    judged_by : str
        Whose confidences these are, in words; empty where that is not known.
    accuracy : str
        How many labels are right where the truth is known, in words; empty where it is not.
    about : mapping from str to str
        How it came about, for people.
    id : str or None
        The column of ``values`` that names the rows.
    """

    candidates: CandidateLabels
    confidences: FloatArray
    chosen: IntArray
    second_look: BoolArray
    values: pd.DataFrame
    opinions: Mapping[int, Sequence[Sequence[float]]] = field(default_factory=dict)
    histories: Sequence[Mapping[str, Sequence[float | None]]] = ()
    judged_by: str = ""
    accuracy: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None

    @property
    def confidence(self) -> FloatArray:
        """Confidence of the chosen label of every row."""
        return group_maxima(self.confidences, self.candidates.starts)

    @property
    def expected_errors(self) -> float:
        """How many of the chosen labels are wrong, going by their confidences."""
        return float((1 - self.confidence).sum())

    def doubtful_rows(self, most: int) -> IntArray:
        """Return the rows that deserve a second look, the least sure first, and not too many."""
        return doubtful_first(self.confidence, self.second_look)[:most]


def doubtful_first(confidence: FloatArray, second_look: BoolArray) -> IntArray:
    """Return the marked rows, the least sure first; equally sure ones in the order of the table."""
    rows = np.flatnonzero(second_look)
    ordered: IntArray = rows[np.argsort(confidence[rows], kind="stable")]
    return ordered


def features_in_words(by_kind: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a line for every kind of feature, as a part of how rows were disambiguated."""
    return {f"features ({kind})": ", ".join(names) for kind, names in by_kind.items()}
