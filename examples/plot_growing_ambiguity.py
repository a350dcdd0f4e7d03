"""
What ambiguity costs
====================

The same data with more and more rows made ambiguous: how large the candidate sets get, and what is
left of the held-out accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import load_dataset
from disambig.bench import ControlledCorruption, cross_validate
from disambig.candidates import corrupt_controlled
from disambig.methods import EMClassifier, OracleClassifier, RandomCandidateClassifier

vehicle = load_dataset("vehicle")
shares = np.array([0.1, 0.3, 0.5, 0.7, 0.9])

# %%
# ``r`` false labels in a share ``p`` of the rows make sets of ``1 + p r`` labels on average.


def mean_size(p, r):
    """Return the mean size of the candidate sets."""
    return corrupt_controlled(vehicle.true_labels, p=p, r=r, random_state=0).sizes.mean()


sizes = {r: [mean_size(p, r) for p in shares] for r in (1, 2)}

# %%
# Three logistic regressions, equally penalised. One disambiguates (EM), one takes a random
# candidate of each row for the truth, and one is given the true labels. All meet the same folds
# and the same sets, and are judged on rows they have not seen.

methods = {
    "true labels": OracleClassifier(),
    "EM": EMClassifier(penalty=1.0),
    "random candidate": RandomCandidateClassifier(random_state=0),
}


def held_out_accuracy(method, p):
    """Return the mean accuracy over five folds, with two false labels in a share p of the rows."""
    corruption = ControlledCorruption(p=p, r=2)
    scores = cross_validate(method, vehicle, n_folds=5, seed=0, corruption=corruption)
    return np.mean([score.accuracy for score in scores])


accuracy = {
    name: [held_out_accuracy(method, p) for p in shares] for name, method in methods.items()
}
for name, values in accuracy.items():
    print(f"{name:25}", np.round(values, 3))

# %%
# What disambiguation is worth is the distance from the random candidate; what ambiguity still costs
# is the distance from the true labels.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for r, marker in zip(sizes, "os", strict=True):
    left.plot(shares, sizes[r], marker=marker, label=f"r = {r}")
left.set(
    title="Mean size of a candidate set",
    xlabel="p, share of ambiguous rows",
    ylabel="labels",
)
left.legend()
for (name, values), marker in zip(accuracy.items(), "^Ds", strict=True):
    right.plot(shares, values, marker=marker, label=name)
right.set(
    title="Held-out accuracy on vehicle, r = 2",
    xlabel="p, share of ambiguous rows",
    ylabel="accuracy",
)
right.legend()
plt.show()
