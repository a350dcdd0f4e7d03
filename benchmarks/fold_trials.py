"""Folds of the data that NCPD+ is looked at on: real sets, and UCI sets corrupted in one way."""

from disambig import load_dataset
from disambig.bench import ControlledCorruption
from disambig.bench.plan import Split
from disambig.bench.trial import Trial, make_trial

REAL = ("lost", "birdsong", "msrcv2")
CORRUPTION = {"p": 0.7, "r": 2}


def fold_trials(name: str, count: int = 10) -> list[Trial]:
    """Return the first folds of ten, fold seed 0; those of a UCI set are corrupted."""
    corruption = None if name in REAL else ControlledCorruption(**CORRUPTION)
    data = load_dataset(name)
    splits = [Split(seed=0, fold=fold, n_folds=10) for fold in range(count)]
    return [make_trial(data, split, corruption) for split in splits]
