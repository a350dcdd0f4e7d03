"""
Genus known, species unsure
===========================

Some rows are labelled by a node of a taxonomy: a car, whichever it is. A node means all its
leaves. So rows with coarse labels can be learned from together with exact ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import CandidateLabels, EMClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
taxonomy = {"car": ["opel", "saab"], "large": ["bus", "van"]}
print(CandidateLabels.from_taxonomy(["car", "bus", "large"], taxonomy).to_strings())

# %%
# Only a few rows have an exact label. The others are known to be a car or a large vehicle, and
# nothing more. They can be thrown away, or be used.

coarse = np.where(np.isin(truth, taxonomy["car"]), "car", "large")
generator = np.random.default_rng(0)
place = generator.permutation(len(truth)) / len(truth)


def held_out_accuracies(share):
    """Return the accuracy over folds with all rows, and with the exact ones alone."""
    exact = place < share
    y = CandidateLabels.from_taxonomy(np.where(exact, truth, coarse), taxonomy)
    scores = []
    for train, test in shuffled_folds(len(truth), 5, seed=0):
        few = train[exact[train]]
        fitted = [EMClassifier(penalty=1.0).fit(vehicle.X[rows], y[rows]) for rows in (train, few)]
        scores.append([accuracy(truth[test], each.predict(vehicle.X[test])) for each in fitted])
    return np.mean(scores, axis=0)


shares = [0.05, 0.1, 0.2, 0.5, 1.0]
found = np.array([held_out_accuracies(share) for share in shares])
for share, (with_coarse, without) in zip(shares, found, strict=True):
    print(f"{share:4.0%} exact: {with_coarse:.3f} with coarse labels, {without:.3f} without")

# %%
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.semilogx(shares, found[:, 0], "o-", color="#0B5FA5", label="exact and coarse labels")
axes.semilogx(shares, found[:, 1], "s--", color="0.5", label="exact labels alone")
axes.set(
    title="Accuracy on new rows, mean of five folds",
    xlabel="share of rows with an exact label",
    ylabel="accuracy",
    xticks=shares,
    xticklabels=[f"{share:.0%}" for share in shares],
)
axes.minorticks_off()
axes.legend()
plt.show()
