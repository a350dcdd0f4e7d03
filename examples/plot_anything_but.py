"""
"Anything but that": labels that are ruled out
==============================================

Sometimes it is easier to say what a row is *not*: "certainly not a bus". Such answers are also
called complementary labels. One for each row is enough to learn from: accuracy on new rows is then
far above guessing, and not far below that with true labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem

from disambig import CandidateLabels, EMClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
classes = np.unique(truth)
print(CandidateLabels.from_excluded(["bus", ["opel", "van"]], classes=classes).to_strings())

# %%
# Every row gets one, two or three such answers; all are right. With three, only the true label is
# left.


def excluded(count, generator):
    """Return, for every row, labels that it does not have."""
    return [generator.permutation(classes[classes != label])[:count] for label in truth]


def held_out_accuracies(count):
    """Return the accuracies on five folds of learning from so many answers a row."""
    y = CandidateLabels.from_excluded(excluded(count, np.random.default_rng(0)), classes=classes)
    scores = []
    for train, test in shuffled_folds(len(truth), 5, seed=0):
        model = EMClassifier(penalty=1.0).fit(vehicle.X[train], y[train])
        scores.append(accuracy(truth[test], model.predict(vehicle.X[test])))
    return scores


counts = [1, 2, 3]
found = np.array([held_out_accuracies(count) for count in counts])
for count, scores in zip(counts, found, strict=True):
    print(f"{count} ruled out in every row: {scores.mean():.3f}")

# %%
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
axes.errorbar(counts, found.mean(axis=1), sem(found, axis=1), fmt="o-", capsize=4)
axes.axhline(1 / len(classes), color="0.5", linestyle=":")
axes.annotate("guessing", (2, 1 / len(classes) + 0.02), ha="center", color="0.4")
axes.set(
    title="Accuracy on new rows, ± 1 standard error over 5 folds",
    xlabel="labels ruled out in every row, of 4",
    ylabel="accuracy",
    xticks=counts,
    xticklabels=["1", "2", "3: the truth is left"],
    xlim=(0.7, 3.3),
    ylim=(0, 1),
)
plt.show()
