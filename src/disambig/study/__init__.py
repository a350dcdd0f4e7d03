"""Evaluation: the only layer that hands true labels to anything."""

from disambig.study.crossval import (
    ControlledCorruption,
    FoldScore,
    cross_validate,
    mean_and_std,
    mean_and_std_text,
)
from disambig.study.folds import shuffled_folds

__all__ = [
    "ControlledCorruption",
    "FoldScore",
    "cross_validate",
    "mean_and_std",
    "mean_and_std_text",
    "shuffled_folds",
]
