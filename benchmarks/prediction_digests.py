"""Print a digest of what every method predicts: one fold of every dataset at hand, few epochs.

Two commits that print the same lines on the same machine predict the same bits.

    python benchmarks/prediction_digests.py --write before.json     # on one commit
    python benchmarks/prediction_digests.py --compare before.json   # on another
"""

import argparse
import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import KFold

from disambig import CandidateLabels, all_methods, list_datasets, load_dataset
from disambig.candidates import corrupt_controlled

# Enough for every part of a method to have been at work; the rest are at their defaults.
QUICK = {
    "aggd": {"max_iter": 3},
    "lsbcmm": {"max_iter": 10},
    "m3pl": {"growth": 4.0},
    "ncpd": {"hidden": 128, "epochs": 6, "ramp_epochs": 3},
    "ncpd_plus": {"hidden": 64, "epochs": 6},
    "sure": {"max_iter": 10},
}


def digest(*arrays):
    """Return a short hash of the bits of some arrays."""
    total = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        total.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return total.hexdigest()[:16]


def one_fold(dataset):
    """Return the training rows, their candidate sets and true labels, and the test rows."""
    train, test = next(KFold(10, shuffle=True, random_state=7).split(dataset.X))
    train = train[:1200]  # M3PL and PLSVM take minutes on all of BirdSong
    candidates, truth = dataset.candidates[train], dataset.true_labels[train]
    if dataset.candidates.sizes.max() == 1:
        candidates = corrupt_controlled(
            truth, p=0.7, r=2, classes=dataset.candidates.classes, random_state=7
        )
    return dataset.X[train], candidates, truth, dataset.X[test]


def digests():
    """Yield the name of a dataset and a method, and the digest of what it says."""
    for card in list_datasets():
        try:
            dataset = load_dataset(card.name)
        except FileNotFoundError:
            continue
        X, candidates, truth, X_test = one_fold(dataset)
        for name, method_class in sorted(all_methods().items()):
            method = method_class(**QUICK.get(name, {}))
            if "random_state" in method.get_params():
                method.set_params(random_state=0)
            y = candidates
            if method.card.reads_true_labels:
                y = CandidateLabels.from_labels(truth, classes=candidates.classes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                method.fit(X, y)
            confidence = method.candidate_confidence_.toarray()
            yield f"{card.name} {name}", digest(method.predict_proba(X_test), confidence)


def main():
    """Print, write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="file to write the digests to")
    parser.add_argument("--compare", type=Path, help="file that --write made on another commit")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = {}
    for key, value in digests():
        found[key] = value
        print(f"{key:30} {value}", flush=True)
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=1))
    if arguments.compare:
        before = json.loads(arguments.compare.read_text())
        other = sorted(key for key in before if before[key] != found.get(key))
        print(
            f"{len(before) - len(other)} of {len(before)} the same"
            + "".join(f"\n  differs: {key}" for key in other)
        )
        sys.exit(bool(other))


if __name__ == "__main__":
    main()
