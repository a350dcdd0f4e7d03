"""
Which rows to ask a person about
================================

People can answer a hundred questions, and a table has more doubtful rows than that. ``query``
chooses the rows whose answers remove most errors, and how to ask: "cat or dog?", or "is it a cat?".
Here ten questions at a time are answered, and the models are trained again.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import SURE, CandidateLabels, load_dataset, query
from disambig.candidates import corrupt_controlled

# %%
# A table of pieces of glass whose sets hold false labels. The true labels answer the questions, and
# count the errors; nothing else sees them.

glass = load_dataset("glass")
truth = np.asarray(glass.true_labels)
sets = corrupt_controlled(truth, p=0.7, r=2, random_state=2)
classes = sets.classes.tolist()
true_columns = np.array([classes.index(label) for label in truth.tolist()])

# %%
# How sure models are of rows that they have not seen, with the answers so far in place of the sets
# that were given. What such models think of a row within its given set is kept for answered rows
# too: it says who can be believed.

fold = np.random.default_rng(0).permutation(len(truth)) % 5


def confidences(answers):
    mask = sets.to_mask().copy()
    rows = list(answers)
    mask[rows] = False
    mask[rows, true_columns[rows]] = True
    learned = CandidateLabels.from_mask(mask, sets.classes)
    probabilities = np.zeros(mask.shape)
    for number in range(5):
        held_out = fold == number
        model = SURE().fit(glass.X[~held_out], learned[np.flatnonzero(~held_out)])
        probabilities[held_out] = model.predict_proba(glass.X[held_out])
    within = sets.to_mask() * np.maximum(probabilities, 1e-12)
    return within / within.sum(axis=1, keepdims=True)


# %%
# The first questions. One label is asked about where it is clearly the likeliest.

first = confidences({})
rows, questions = query(first, sets, glass.X, n_queries=5, return_questions=True)
for row, labels in zip(rows, questions, strict=True):
    asked = f"is it {labels[0]}?" if len(labels) == 1 else f"{' or '.join(map(str, labels))}?"
    print(f"row {row + 1}: {asked}")

# %%
# Sixty questions in batches of ten, by ``query`` and in any order.


def errors_left(choose):
    answers, left = {}, []
    for _ in range(7):
        shares = confidences(answers)
        chosen = shares.argmax(axis=1)
        chosen[list(answers)] = true_columns[list(answers)]
        left.append(int((chosen != true_columns).sum()))
        answers |= {int(row): truth[row] for row in choose(shares, answers)}
    return left


def by_query(shares, answers):
    return query(shares, sets, glass.X, n_queries=10, answers=answers)


def in_any_order(_, answers):
    unanswered = [row for row in np.flatnonzero(sets.sizes > 1).tolist() if row not in answers]
    return generator.permutation(unanswered)[:10]


by_value = errors_left(by_query)
at_random = []
for draw in range(3):
    generator = np.random.default_rng(draw)
    at_random.append(errors_left(in_any_order))
at_random = np.mean(at_random, axis=0)
print(f"wrong labels: {by_value[0]} at first, {by_value[-1]} after 60 questions")
print(f"in any order: {at_random[-1]:.0f}")

# %%
# The most valuable questions come first, so the curve is steep where it begins.

n_asked = np.arange(7) * 10
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
axes.plot(n_asked, by_value, color="C0", linewidth=2)
axes.plot(n_asked, at_random, color="0.5", linestyle=":")
axes.annotate("query", (n_asked[2], by_value[2] - 4), color="C0")
axes.annotate("in any order", (n_asked[3], at_random[3] + 1), color="0.4")
axes.set(
    title=f"Wrong labels in a table of {len(truth)} rows",
    xlabel="questions answered",
    ylabel="wrong labels",
    ylim=(0, None),
)
plt.show()
