"""
LLM answers with weights: use them all
======================================

A language model is asked for the label of every row. It gives three answers, and says how sure it
is of each. Learning from all answers beats taking the first one for the truth, and the advantage
grows as first answers get worse. :doc:`/llm-answers` says which confidences can then be believed.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import EMClassifier, LabelColumns
from disambig.tabular import read_llm_answers

images, truth = load_digits(return_X_y=True)
images, truth = images[:900], truth[:900]  # to be quick
generator = np.random.default_rng(0)

# %%
# The true label is among the answers, but not always the first. The numbers need not sum to one.


def simulated_answers(label, first_is_right):
    """Return three labels with weights; the right one comes first in a share of the rows."""
    others = generator.permutation(np.delete(np.arange(10), label))[:2]
    order = [int(label), *others.tolist()]
    if generator.random() > first_is_right:
        order[0], order[1] = order[1], order[0]
    weights = np.sort(generator.dirichlet([2, 1, 1]))[::-1].round(2).tolist()
    answers = [f"{name}." for name in order]  # in a wording of its own
    return [
        {"answer": answer, "confidence": weight}
        for answer, weight in zip(answers, weights, strict=True)
    ]


print(json.dumps({"answers": simulated_answers(7, 0.6)}))

# %%
# They come in a file, a line for each row, and become candidate sets with weights. What fits no
# label would be left out and reported.


def read_answers(answers):
    """Write answers as a program would, and read them as candidate sets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.jsonl")
        path.write_text("\n".join(json.dumps({"answers": each}) for each in answers))
        imported = read_llm_answers(path, labels=[str(digit) for digit in range(10)])
    return LabelColumns().read_new(imported.frame, range(10))


print(read_answers([simulated_answers(7, 0.6) for _ in range(3)]).to_strings())

# %%
# Compare two linear models. One is given the answers as candidate sets with weights, the other the
# first answer of every row.


def held_out_accuracies(first_is_right):
    """Return the accuracies on five folds of learning from all answers, and from the first."""
    answers = [simulated_answers(label, first_is_right) for label in truth]
    first = np.array([int(answer[0]["answer"][0]) for answer in answers])
    y = read_answers(answers)
    scores = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(images):
        model = EMClassifier(penalty=1.0, tol=1e-3).fit(images[train], y[train])  # to be quick
        usual = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
        usual.fit(images[train], first[train])
        right = [
            np.asarray(each.predict(images[test])).astype(int) == truth[test]
            for each in (model, usual)
        ]
        scores.append(np.mean(right, axis=1))
    return np.array(scores)


shares = [0.4, 0.6, 0.8, 1.0]
found = np.array([held_out_accuracies(share) for share in shares])
for share, (all_answers, first) in zip(shares, found.mean(axis=1), strict=True):
    print(f"first answer right in {share:.0%}: {all_answers:.3f} and {first:.3f}")

# %%
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
means, errors = found.mean(axis=1), sem(found, axis=1)
axes.errorbar(shares, means[:, 0], errors[:, 0], fmt="o-", color="C0", capsize=3)
axes.errorbar(shares, means[:, 1], errors[:, 1], fmt="s--", color="0.5", capsize=3)
axes.annotate("all answers, with their weights", (0.42, 0.965), color="C0")
axes.annotate("the first answer,\ntaken for the truth", (0.62, 0.815), color="0.4")
axes.set(
    title="Accuracy on new rows, ± 1 standard error over 5 folds",
    xlabel="share of rows whose first answer is right",
    ylabel="accuracy",
    xticks=shares,
    xticklabels=[f"{share:.0%}" for share in shares],
)
plt.show()
