"""
Annotators who disagree: better than a majority vote
====================================================

Three people label every row, and often disagree. Usually one takes the majority. Here all their
votes become a candidate set with weights, and the features help to decide: far more rows get the
right label.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem

from disambig import CandidateLabels, EMClassifier, load_dataset
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
classes, position = np.unique(truth, return_inverse=True)

# %%
# Ann is right in 75 % of the rows, Bob in 65 %, Cem in 55 %; otherwise each gives a random wrong
# label. Their answers form a long table, one line for each item and annotator, as annotation tools
# export it.

skills = {"Ann": 0.75, "Bob": 0.65, "Cem": 0.55}


def answers(skill, generator):
    """Return what an annotator of this skill says of every row."""
    mistaken = generator.random(len(truth)) > skill
    other = generator.integers(1, len(classes), len(truth))
    return classes[np.where(mistaken, (position + other) % len(classes), position)]


def rows_set_right(seed):
    """Return the share of rows with the right label: by each annotator, by majority, by a model."""
    generator = np.random.default_rng(seed)
    votes = {name: answers(skill, generator) for name, skill in skills.items()}
    items = np.tile(np.arange(len(truth)), len(votes))
    annotators = np.repeat(list(votes), len(truth))
    y = CandidateLabels.from_annotations(items, annotators, np.concatenate(list(votes.values())))
    # A tie goes to the first class.
    majority = y.classes[y.prior().toarray().argmax(axis=1)]
    model = EMClassifier(penalty=1.0).fit(vehicle.X, y)
    believed = {**votes, "majority": majority, "votes and\nfeatures": model.disambiguate()}
    return {name: accuracy(truth, labels) for name, labels in believed.items()}


# %%
# Compare the majority with a linear model that is fitted to the features, with the votes as
# weights. Repeat it five times with other mistakes.

runs = [rows_set_right(seed) for seed in range(5)]
names = list(runs[0])
right = np.array([list(run.values()) for run in runs])
for name, mean, error in zip(names, right.mean(axis=0), sem(right), strict=True):
    print(f"{' '.join(name.split()):20} {mean:.3f} ± {error:.3f}")

# %%
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
colors = ["0.8"] * 3 + ["0.6", "C0"]
bars = axes.bar(names, right.mean(axis=0), yerr=sem(right), capsize=4, color=colors)
axes.bar_label(bars, fmt="%.2f", padding=2)
axes.grid(visible=False, axis="x")
axes.set(
    title="Rows with the right label, ± 1 standard error over 5 draws",
    ylabel="share of rows",
    ylim=(0, 1),
)
plt.show()
