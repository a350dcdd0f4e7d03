"""
A first classifier, and how sure it is
======================================

Seven rows in ten name three labels, of which one is right. A method learns from these sets alone,
and says for every row which label it believes and how much.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import NCPDClassifier, load_dataset
from disambig.candidates import corrupt_controlled

# %%
# Data whose true labels are known, so that they can be hidden: ``p`` is the share of rows that get
# ``r`` false labels beside the true one.

ecoli = load_dataset("ecoli")
truth = np.asarray(ecoli.true_labels)
y = corrupt_controlled(truth, p=0.7, r=2, random_state=0)
print(y.to_strings()[:4])

# %%
# The interface is that of scikit-learn. Small networks and few epochs, to be quick.

model = NCPDClassifier(hidden=128, epochs=60, ramp_epochs=30, random_state=0)
model.fit(ecoli.X, y)
print("the label to believe:", model.disambiguate()[:4])
print("predicted for a row: ", model.predict(ecoli.X[:1]))
print("its probability:     ", model.predict_proba(ecoli.X[:1]).max().round(3))
print("covering rate:       ", round(model.score(ecoli.X, y), 3), "(needs no true label)")

# %%
# ``candidate_confidence_`` has a number for every candidate of every row. Rows that named one label
# are sure by themselves; here are the others. The true labels colour the bars, and were used for
# nothing before.

confidence = model.candidate_confidence_.max(axis=1).toarray().ravel()
ambiguous = y.sizes > 1
right = model.disambiguate() == truth
print(f"{right[ambiguous].mean():.2f} of {ambiguous.sum()} ambiguous rows set right")
print(f"mean confidence where right: {confidence[ambiguous & right].mean():.2f}")
print(f"mean confidence where wrong: {confidence[ambiguous & ~right].mean():.2f}")

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
bins = np.linspace(0.3, 1, 15)
axes.hist(
    [confidence[ambiguous & right], confidence[ambiguous & ~right]],
    bins=bins,
    stacked=True,
    color=["#0B5FA5", "#E07B39"],
    label=["chosen label is right", "chosen label is wrong"],
)
axes.set(
    title="How sure the choices are, right and wrong ones",
    xlabel="confidence of the chosen label",
    ylabel="ambiguous rows",
)
axes.legend()
plt.show()
