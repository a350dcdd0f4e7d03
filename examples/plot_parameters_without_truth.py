"""
Choose parameters without true labels
=====================================

The score of every method is its *covering rate*: the share of predictions inside the candidate
sets of held-out rows. scikit-learn's searches can therefore choose parameters where nobody knows
the truth. How good is that choice?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from disambig import PLKNN, load_dataset
from disambig.candidates import corrupt_controlled
from disambig.metrics import accuracy

ecoli = load_dataset("ecoli")
truth = np.asarray(ecoli.true_labels)
y = corrupt_controlled(truth, p=0.7, r=2, random_state=0)
folds = KFold(10, shuffle=True, random_state=0)
grid = {"n_neighbors": [1, 2, 3, 5, 8, 12, 18, 27, 40, 60]}

# %%
# The search sees candidate sets alone.

search = GridSearchCV(PLKNN(), grid, cv=folds).fit(ecoli.X, y)
covering = search.cv_results_["mean_test_score"]
print(f"chosen: {search.best_params_}, covering rate {search.best_score_:.3f}")

# %%
# Only to judge the choice, the accuracy of every candidate on the same held-out rows.


def held_out_accuracy(n_neighbors):
    """Return the mean accuracy over the folds."""
    scores = []
    for train, test in folds.split(ecoli.X):
        model = PLKNN(n_neighbors=n_neighbors).fit(ecoli.X[train], y[train])
        scores.append(accuracy(truth[test], model.predict(ecoli.X[test])))
    return np.mean(scores)


found = np.array([held_out_accuracy(count) for count in grid["n_neighbors"]])
chosen = int(np.argmax(covering))
print(f"accuracy of the choice {found[chosen]:.3f}, the best is {found.max():.3f}")

# %%
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.semilogx(grid["n_neighbors"], covering, "s--", color="0.5", label="covering rate, no truth")
axes.semilogx(grid["n_neighbors"], found, "o-", color="#0B5FA5", label="accuracy")
axes.axvline(grid["n_neighbors"][chosen], color="#D55E00", linewidth=1, label="chosen")
axes.set(
    title="PLKNN on ecoli, held-out rows",
    xlabel="number of neighbours",
    ylabel="share of rows",
    xticks=grid["n_neighbors"],
    xticklabels=grid["n_neighbors"],
)
axes.minorticks_off()
axes.legend()
plt.show()
