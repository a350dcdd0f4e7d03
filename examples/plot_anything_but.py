"""
Anything but that
=================

Sometimes it is easier to say what a row is *not*: "certainly not a bus". One such answer leaves all
other labels possible; several of them narrow it down.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import CandidateLabels, EMClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
classes = np.unique(truth)
print(CandidateLabels.from_excluded(["bus", ["opel", "van"]], classes=classes).to_strings())

# %%
# Every row gets one, two or three answers, none of which rules out the truth. With three answers
# only the truth is left.


def excluded(count, generator):
    """Return, for every row, labels that it does not have."""
    return [generator.permutation(classes[classes != label])[:count] for label in truth]


def held_out_accuracy(count):
    """Return the mean accuracy over five folds of learning from so many answers a row."""
    y = CandidateLabels.from_excluded(excluded(count, np.random.default_rng(0)), classes=classes)
    scores = []
    for train, test in shuffled_folds(len(truth), 5, seed=0):
        model = EMClassifier(penalty=1.0).fit(vehicle.X[train], y[train])
        scores.append(accuracy(truth[test], model.predict(vehicle.X[test])))
    return np.mean(scores), np.std(scores, ddof=1) / np.sqrt(5)


counts = [1, 2, 3]
means, errors = zip(*map(held_out_accuracy, counts), strict=True)
for count, mean in zip(counts, means, strict=True):
    print(f"{count} answers a row: {mean:.3f}")

# %%
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.errorbar(counts, means, errors, fmt="o-", color="#0B5FA5", capsize=4)
axes.axhline(1 / len(classes), color="0.5", linestyle=":")
axes.text(3, 1 / len(classes) + 0.01, "guessing", ha="right", color="0.4")
axes.set(
    title="Accuracy on new rows, with standard errors over folds",
    xlabel="labels ruled out in every row",
    ylabel="accuracy",
    xticks=counts,
    ylim=(0, 1),
)
plt.show()
