"""
Several answers from an LLM
===========================

A language model is asked for the label of every row and gives up to three answers, each with how
sure it is. Taking the first answer for the truth wastes the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import CandidateLabels, EMClassifier

digits = load_digits()
generator = np.random.default_rng(0)

# %%
# What such answers look like: the true label is among them, not always first. The numbers in the
# dictionaries need not sum to one.


def simulated_answers(label, first_is_right):
    """Return three labels with weights; the right one comes first in a share of the rows."""
    others = generator.permutation(np.delete(np.arange(10), label))[:2]
    order = [int(label), *others.tolist()]
    if generator.random() > first_is_right:
        order[0], order[1] = order[1], order[0]
    weights = np.sort(generator.dirichlet([2, 1, 1]))[::-1].round(2).tolist()
    return dict(zip(order, weights, strict=True))


def held_out_accuracies(first_is_right):
    """Return the accuracy on new rows of learning from all answers, and from the first alone."""
    answers = [simulated_answers(label, first_is_right) for label in digits.target]
    train, test = train_test_split(np.arange(len(answers)), test_size=0.3, random_state=0)
    y = CandidateLabels.from_sets([answers[row] for row in train])
    model = EMClassifier(penalty=1.0).fit(digits.data[train], y)
    first = [next(iter(answers[row])) for row in train]
    usual = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(
        digits.data[train], first
    )
    return [each.score(digits.data[test], digits.target[test]) for each in (model, usual)]


print(simulated_answers(7, 0.6))

# %%
# The less often the first answer is right, the more the others are worth.

shares = [0.4, 0.55, 0.7, 0.85, 1.0]
found = np.array([held_out_accuracies(share) for share in shares])
for share, (all_answers, first) in zip(shares, found, strict=True):
    print(f"first answer right in {share:.0%}: {all_answers:.3f} and {first:.3f}")

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(shares, found[:, 0], "o-", color="#0B5FA5", label="all answers, with their weights")
axes.plot(shares, found[:, 1], "s--", color="0.5", label="the first answer, taken for the truth")
axes.set(
    title="Accuracy on new rows",
    xlabel="share of rows whose first answer is right",
    ylabel="accuracy",
)
axes.legend()
plt.show()
