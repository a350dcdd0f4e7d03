"""
Annotators who disagree
=======================

Three people label every row, and often differ. The usual answer is the majority. Here all their
votes become a candidate set with weights, and the features help to decide.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import CandidateLabels, EMClassifier, load_dataset
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
generator = np.random.default_rng(0)

# %%
# Ann is right in 75 % of the rows, Bob in 65 %, Cem in 55 %; otherwise each says something else.
# Their answers are a long table: one line for each item and annotator, as annotation tools export
# it.


def answers(skill):
    """Return what an annotator of this skill says of every row."""
    mistaken = generator.random(len(truth)) > skill
    other = generator.integers(1, 4, len(truth))
    classes = np.unique(truth)
    position = np.searchsorted(classes, truth)
    return classes[np.where(mistaken, (position + other) % 4, position)]


votes = {name: answers(skill) for name, skill in {"Ann": 0.75, "Bob": 0.65, "Cem": 0.55}.items()}
items = np.tile(np.arange(len(truth)), 3)
annotators = np.repeat(list(votes), len(truth))
labels = np.concatenate(list(votes.values()))
y = CandidateLabels.from_annotations(items, annotators, labels)
print(f"{(y.sizes > 1).mean():.0%} of the rows have more than one answer")

# %%
# The majority, where there is one; a tie goes to the first. And a linear model that is fitted to
# the votes as weights, and to the features.

majority = np.array([y.classes[row.argmax()] for row in y.prior().toarray()])
model = EMClassifier(penalty=1.0).fit(vehicle.X, y)
right = {
    "Ann": accuracy(truth, votes["Ann"]),
    "Bob": accuracy(truth, votes["Bob"]),
    "Cem": accuracy(truth, votes["Cem"]),
    "majority": accuracy(truth, majority),
    "votes and\nfeatures": accuracy(truth, model.disambiguate()),
}
for name, share in right.items():
    print(f"{' '.join(name.split()):20} {share:.3f}")

# %%
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
colors = ["0.75"] * 3 + ["0.5", "#0B5FA5"]
bars = axes.bar(list(right), list(right.values()), color=colors)
axes.bar_label(bars, fmt="%.2f")
axes.set(title="Training rows with the right label", ylabel="share of rows", ylim=(0, 1))
plt.show()
