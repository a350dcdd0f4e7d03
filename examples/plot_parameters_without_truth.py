"""
Parameters chosen without true labels
=====================================

``score`` of every method is its *covering rate*: the share of predictions that are among the row's
candidates. So scikit-learn's searches can choose parameters even if nobody knows the true labels.
Here the choice is as accurate as the best one on the grid.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem
from sklearn.model_selection import GridSearchCV, KFold

from disambig import PLKNN, load_dataset
from disambig.candidates import corrupt_controlled
from disambig.metrics import accuracy

ecoli = load_dataset("ecoli")
truth = np.asarray(ecoli.true_labels)
y = corrupt_controlled(truth, p=0.7, r=2, random_state=0)
folds = KFold(10, shuffle=True, random_state=0)
counts = [1, 2, 3, 5, 8, 12, 18, 27, 40, 60]

# %%
# The search sees only candidate sets.

search = GridSearchCV(PLKNN(), {"n_neighbors": counts}, cv=folds).fit(ecoli.X, y)
splits = [search.cv_results_[f"split{fold}_test_score"] for fold in range(folds.n_splits)]
covering = np.transpose(splits)
print(f"chosen: {search.best_params_}, covering rate {search.best_score_:.3f}")

# %%
# To judge the choice, compute the accuracy for every number of neighbours on the same rows.


def held_out_accuracies(n_neighbors):
    """Return the accuracies on the folds."""
    scores = []
    for train, test in folds.split(ecoli.X):
        model = PLKNN(n_neighbors=n_neighbors).fit(ecoli.X[train], y[train])
        scores.append(accuracy(truth[test], model.predict(ecoli.X[test])))
    return scores


found = np.array([held_out_accuracies(count) for count in counts])
chosen = counts.index(search.best_params_["n_neighbors"])
means = found.mean(axis=1)
print(f"accuracy of the choice {means[chosen]:.3f}, the best is {means.max():.3f}")

# %%
# Accuracy and covering rate rise and fall together.

figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
for scores, color, style in ((covering, "0.5", "s--"), (found, "C0", "o-")):
    mean, error = scores.mean(axis=1), sem(scores, axis=1)
    axes.plot(counts, mean, style, color=color)
    axes.fill_between(counts, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
axes.axvline(counts[chosen], color="#D55E00", linewidth=1)
axes.annotate("chosen", (counts[chosen] * 1.04, 0.755), color="#D55E00")
axes.annotate("covering rate, needs no truth", (1.1, 0.93), color="0.4")
axes.annotate("accuracy", (19, 0.81), color="C0")
axes.set(
    title="PLKNN on new rows, ± 1 standard error over 10 folds",
    xscale="log",
    xlabel="number of neighbours",
    ylabel="share of rows",
    xticks=counts,
    xticklabels=counts,
    ylim=(0.58, 0.96),
)
axes.minorticks_off()
plt.show()
