"""Folds of the data that NCPD+ is looked at on: real sets, and UCI sets corrupted in some way."""

from collections.abc import Sequence

from disambig import load_dataset
from disambig.bench.trial import ControlledCorruption, Split, Trial, make_trial

REAL = ("lost", "birdsong", "msrcv2")
CORRUPTION = {"p": 0.7, "r": 2}


def fold_trials(name: str, count: int = 10) -> list[Trial]:
    """Return the first folds of ten, fold seed 0; those of a UCI set are corrupted."""
    corruption = None if name in REAL else ControlledCorruption(**CORRUPTION)
    return trials_of(name, corruption=corruption)[:count]


def trials_of(
    name: str, seeds: Sequence[int] = (0,), corruption: ControlledCorruption | None = None
) -> list[Trial]:
    """Return ten folds for each seed."""
    data = load_dataset(name)
    splits = [Split(seed=seed, fold=fold, n_folds=10) for seed in seeds for fold in range(10)]
    return [make_trial(data, split, corruption) for split in splits]
