"""
A taxonomy: genus known, species unsure
=======================================

Some rows have a coarse label, a node of a taxonomy: a car, but not which. A node stands for all its
leaves, so coarse labels can be used together with exact ones. The fewer exact labels there are, the
more the coarse ones are worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem
from sklearn.base import clone

from disambig import CandidateLabels, EMClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
taxonomy = {"car": ["opel", "saab"], "large": ["bus", "van"]}
print(CandidateLabels.from_taxonomy(["car", "bus", "large"], taxonomy).to_strings())

# %%
# Only a few rows have an exact label. Of the others we only know whether they are a car or a large
# vehicle. They can be thrown away, or used.

coarse = np.where(np.isin(truth, taxonomy["car"]), "car", "large")
place = np.random.default_rng(0).permutation(len(truth)) / len(truth)


def held_out_accuracies(share):
    """Return the accuracies on five folds with all rows, and with the exact ones alone."""
    exact = place < share
    y = CandidateLabels.from_taxonomy(np.where(exact, truth, coarse), taxonomy)
    scores = []
    for train, test in shuffled_folds(len(truth), 5, seed=0):
        few = train[exact[train]]
        method = EMClassifier(penalty=1.0, tol=1e-3)  # to be quick
        fitted = [clone(method).fit(vehicle.X[rows], y[rows]) for rows in (train, few)]
        scores.append([accuracy(truth[test], each.predict(vehicle.X[test])) for each in fitted])
    return np.array(scores)


shares = [0.05, 0.1, 0.2, 0.5]
found = np.array([held_out_accuracies(share) for share in shares])
for share, (with_coarse, without) in zip(shares, found.mean(axis=1), strict=True):
    print(f"{share:4.0%} exact: {with_coarse:.3f} with coarse labels, {without:.3f} without")

# %%
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
means, errors = found.mean(axis=1), sem(found, axis=1)
axes.errorbar(shares, means[:, 0], errors[:, 0], fmt="o-", color="C0", capsize=3)
axes.errorbar(shares, means[:, 1], errors[:, 1], fmt="s--", color="0.5", capsize=3)
axes.annotate("exact and coarse labels", (0.052, 0.755), color="C0")
axes.annotate("exact labels alone", (0.115, 0.66), color="0.4")
axes.set(
    title="Accuracy on new rows, ± 1 standard error over 5 folds",
    xscale="log",
    xlabel="share of rows with an exact label",
    ylabel="accuracy",
    xticks=shares,
    xticklabels=[f"{share:.0%}" for share in shares],
)
axes.minorticks_off()
plt.show()
