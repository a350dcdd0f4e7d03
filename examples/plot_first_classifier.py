"""
A first classifier, and how sure it is
======================================

Seven rows in ten have three candidate labels, and one of them is right. NCPD learns from these sets
alone and says for every row which label is most likely right, and how sure it is. The surer it is,
the more often it is right.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem

from disambig import NCPDClassifier, load_dataset
from disambig.candidates import corrupt_controlled

# %%
# The true labels of this dataset are known, so we can hide them: a share ``p`` of the rows gets
# ``r`` false labels in addition to the true one.

ecoli = load_dataset("ecoli")
truth = np.asarray(ecoli.true_labels)
y = corrupt_controlled(truth, p=0.7, r=2, random_state=0)
print(y.to_strings()[:4])

# %%
# The interface is that of scikit-learn. Small networks and few epochs make this quick. The covering
# rate is the share of predictions that are among the candidates.

model = NCPDClassifier(hidden=128, epochs=60, ramp_epochs=30, random_state=0)
model.fit(ecoli.X, y)
print("chosen labels:      ", model.disambiguate()[:4])
print("predicted for a row:", model.predict(ecoli.X[:1]))
print("its probability:    ", model.predict_proba(ecoli.X[:1]).max().round(3))
print("covering rate:      ", round(model.score(ecoli.X, y), 3), "(needs no true label)")

# %%
# ``candidate_confidence_`` has a number for every candidate of every row. Rows with a single
# candidate are always sure; the figure shows the others. True labels are used only here, to judge
# the choices.

confidence = model.candidate_confidence_.max(axis=1).toarray().ravel()
ambiguous = y.sizes > 1
right = model.disambiguate() == truth
print(f"{right[ambiguous].mean():.2f} of {ambiguous.sum()} ambiguous rows have the right label")

edges = [0, 0.6, 0.8, 0.95, 1]
group = np.digitize(confidence, edges[1:-1])
chosen = [right[ambiguous & (group == number)] for number in range(4)]
shares = [rows.mean() for rows in chosen]
errors = [sem(rows) for rows in chosen]

figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
names = ["below 0.6", "0.6 to 0.8", "0.8 to 0.95", "above 0.95"]
bars = axes.bar(names, shares, yerr=errors, capsize=4)
counts = [f"{len(rows)} rows" for rows in chosen]
axes.bar_label(bars, counts, label_type="center", color="white")
axes.grid(visible=False, axis="x")
axes.set(
    title="Ambiguous rows with the right label, ± 1 standard error over rows",
    xlabel="confidence of the chosen label",
    ylabel="share of rows",
    ylim=(0, 1.05),
)
plt.show()
