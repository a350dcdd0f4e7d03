"""
A table cleaned, reviewed and cleaned again
===========================================

Cleaning chooses a label for every row and says how sure it is. A person then settles the least sure
rows, and the table is cleaned again with these decisions. Looking at one row in eight removes about
half of the wrong labels here.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from disambig import EMClassifier, clean_table, load_dataset
from disambig.candidates import corrupt_controlled
from disambig.tabular import read_decisions

# %%
# A table with numbers and a column that says ``opel|saab``. Its true labels are known here, so that
# errors can be counted.

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
sets = corrupt_controlled(truth, p=0.7, r=2, random_state=0)
table = pd.DataFrame(vehicle.X, columns=vehicle.feature_names).assign(label=sets.to_strings())

# %%
# Clean: every row is judged by a model that has not seen it. EM is quick; the default method is
# NCPD+.

method = EMClassifier(penalty=1.0)
cleaned = clean_table(table, labels="label", method=method)
print(cleaned[["label", "chosen_label", "confidence", "second_look"]].head().to_string())
wrong = cleaned["chosen_label"].to_numpy() != truth
print(f"{wrong.sum()} of {len(wrong)} chosen labels are wrong")

# %%
# Review: ``disambig review`` shows one row after the other in the browser, the least sure first,
# and writes a table of decisions. Here the person knows the true label and stops after 100 rows.

least_sure_first = np.argsort(cleaned["confidence"].to_numpy(), kind="stable")
reviewed = least_sure_first[:100]
decisions = pd.DataFrame({"row": reviewed + 1, "label": truth[reviewed]})
print(decisions.head(3).to_string(index=False))

# %%
# Clean again: reviewed rows keep the label that was decided, and all models learn from them.

decided = read_decisions(decisions, table)
again = clean_table(table, labels="label", method=method, decisions=decided)
left = wrong.sum() - wrong[reviewed].sum()
left_again = (again["chosen_label"].to_numpy() != truth).sum()
print(f"wrong labels: {wrong.sum()} at first, {left} reviewed, {left_again} cleaned again")

# %%
# Reviewing more rows finds fewer and fewer errors. The grey part of the curve is what the same
# person would have found.

errors_left = wrong.sum() - np.cumsum(wrong[least_sure_first])
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
axes.plot(np.arange(1, len(wrong) + 1), errors_left, color="0.6")
axes.plot(np.arange(1, 101), errors_left[:100], color="C0", linewidth=3)
axes.plot([0, len(wrong)], [wrong.sum(), 0], color="0.5", linestyle=":")
axes.annotate("rows in any order", (330, 62), color="0.4")
axes.plot(100, left_again, "o", color="#D55E00")
axes.annotate(f"cleaned: {wrong.sum()} wrong", (8, wrong.sum() + 2), color="C0")
axes.annotate(f"100 rows reviewed: {left} left", (107, left + 2), color="C0")
axes.annotate(f"cleaned again:\n{left_again} left", (12, 18), color="#D55E00")
axes.set(
    title=f"Wrong labels in a table of {len(wrong)} rows",
    xlabel="rows reviewed, the least sure first",
    ylabel="wrong labels left",
    xlim=(0, 500),
    ylim=(0, 1.12 * wrong.sum()),
)
plt.show()
