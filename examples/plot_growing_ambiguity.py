"""
What growing ambiguity costs
============================

More and more rows of the same data are made ambiguous. A method that disambiguates loses little
until most rows have three candidates; taking a random candidate for the truth loses far more.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem

from disambig import load_dataset
from disambig.bench import ControlledCorruption, cross_validate
from disambig.candidates import corrupt_controlled
from disambig.methods import EMClassifier, OracleClassifier, RandomCandidateClassifier

vehicle = load_dataset("vehicle")
shares = [0.1, 0.3, 0.5, 0.7, 0.9]

# %%
# ``r`` false labels in a share ``p`` of the rows make sets of ``1 + p r`` labels on average.

for p in shares:
    y = corrupt_controlled(vehicle.true_labels, p=p, r=2, random_state=0)
    print(f"p = {p}: {y.sizes.mean():.2f} labels a row, such as {y.to_strings()[0]}")

# %%
# Compare three logistic regressions, equally penalised. One is given the true labels, one
# disambiguates (EM), and one takes a random candidate of each row for the truth. The rows are dealt
# into five parts, called folds, and each is predicted by a model trained on the others. All three
# get the same folds and the same candidate sets.

methods = {
    "true labels": OracleClassifier(),
    "EM": EMClassifier(penalty=1.0, tol=1e-3),
    "random candidate": RandomCandidateClassifier(random_state=0),
}


def held_out_accuracies(method, p):
    """Return the accuracies on five folds, with two false labels in a share p of the rows."""
    corruption = ControlledCorruption(p=p, r=2)
    scores = cross_validate(method, vehicle, n_folds=5, seed=0, corruption=corruption)
    return [score.accuracy for score in scores]


found = {
    name: np.array([held_out_accuracies(method, p) for p in shares])
    for name, method in methods.items()
}
for name, scores in found.items():
    print(f"{name:20}", scores.mean(axis=1).round(3))

# %%
# The distance from the random candidate is what disambiguation is worth; the distance from the true
# labels is what ambiguity still costs.

figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
styles = {"true labels": ("0.5", "--"), "EM": ("C0", "o-"), "random candidate": ("0.5", "s:")}
for name, scores in found.items():
    color, style = styles[name]
    means = scores.mean(axis=1)
    axes.errorbar(shares, means, sem(scores, axis=1), fmt=style, color=color, capsize=3)
    label = {"EM": "EM, disambiguates"}.get(name, name)
    axes.annotate(label, (0.92, means[-1]), va="center", color="0.4" if name != "EM" else "C0")
axes.set(
    title="Accuracy on new rows, ± 1 standard error over 5 folds",
    xlabel="p, share of rows with two false labels",
    ylabel="accuracy",
    xticks=shares,
    xlim=(0.05, 1.25),
)
plt.show()
