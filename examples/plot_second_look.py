"""
Clean a table, and find its errors
==================================

Cleaning chooses a label for every row and marks the rows that deserve a second look. Here all true
labels are known, so it can be counted how many of the wrong choices such a look would find.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from disambig import NCPDClassifier, clean_table, load_dataset
from disambig.candidates import corrupt_controlled

# %%
# A table as people have it: numbers, and a column that reads ``opel|saab``.

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
sets = corrupt_controlled(truth, p=0.7, r=2, random_state=0)
table = pd.DataFrame(vehicle.X, columns=vehicle.feature_names).assign(label=sets.to_strings())

# %%
# Every row is judged by a model that has not seen it. Small networks and few epochs, to be quick;
# without ``method``, NCPD+ learns with its defaults.

method = NCPDClassifier(hidden=128, epochs=40, ramp_epochs=20)
cleaned = clean_table(table, labels="label", method=method, random_state=0)
print(cleaned[["label", "chosen_label", "confidence", "second_look"]].head().to_string())

# %%
# Only now the true labels: rows are looked at again by falling doubt. Rows of equal confidence come
# in no particular order, so their errors are spread over them.

wrong = cleaned["chosen_label"].to_numpy() != truth
by_doubt = pd.Series(wrong, dtype=float).groupby(cleaned["confidence"].to_numpy())
found = by_doubt.transform("mean")[np.argsort(cleaned["confidence"].to_numpy())].cumsum()
reviewed = np.arange(1, len(wrong) + 1) / len(wrong)

marked = cleaned["second_look"].to_numpy()
found_by_mark = wrong[marked].sum() / wrong.sum()
print(f"{wrong.sum()} of {len(wrong)} choices are wrong")
print(f"{marked.mean():.2f} of the rows are marked, with {found_by_mark:.2f} of the errors")

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.plot(reviewed, found / wrong.sum(), color="#0B5FA5", label="least sure rows first")
axes.plot(marked.mean(), found_by_mark, "ko", label="rows marked second_look")
axes.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="rows in any order")
axes.set(
    title="Errors found by looking at the doubtful rows",
    xlabel="share of rows looked at",
    ylabel="share of errors found",
    xlim=(0, 1),
    ylim=(0, 1.02),
)
axes.legend()
plt.show()
