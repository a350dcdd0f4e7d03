"""
A classifier of your own on candidate sets
==========================================

You have a pipeline that suits your data, and labels that are only candidates. Train it once on all
candidates, and false labels count as much as true ones. ``DisambiguatingClassifier`` trains it by
rounds instead: copies that have not seen a row judge its candidates, and what they say counts in
the next round. Any classifier with ``predict_proba`` will do, LightGBM and XGBoost too.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import DisambiguatingClassifier, load_dataset
from disambig.candidates import corrupt_controlled
from disambig.methods import AverageClassifier, OracleClassifier

glass = load_dataset("glass")
truth = np.asarray(glass.true_labels)

# %%
# Three classifiers of one's own, the first of them a pipeline. They are passed on unfitted; only
# copies are trained.

classifiers = {
    "logistic\nregression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "extremely\nrandom trees": ExtraTreesClassifier(30, random_state=0),
    "gradient\nboosting": HistGradientBoostingClassifier(
        max_iter=10, min_samples_leaf=5, early_stopping=False, random_state=0
    ),
}

# %%
# Each is trained in three ways. In most rows two false labels joined the true one; the third way is
# for scale, because nobody has true labels.


def accuracies(classifier, seed):
    """Return the accuracy on held-out rows: on equal weights, by rounds, on true labels."""
    rows, held_out = train_test_split(np.arange(len(truth)), random_state=seed, stratify=truth)
    y = corrupt_controlled(truth[rows], p=0.8, r=2, random_state=seed)
    X = glass.X[rows]
    models = [
        AverageClassifier(estimator=classifier, scaling="none").fit(X, y),
        DisambiguatingClassifier(classifier, n_folds=3, random_state=seed).fit(X, y),
        OracleClassifier(estimator=classifier, scaling="none").fit(X, truth[rows]),
    ]
    return [np.mean(model.predict(glass.X[held_out]) == truth[held_out]) for model in models]


ways = ("weighted candidates", "by rounds", "true labels")
right = {
    name: np.array([accuracies(classifier, seed) for seed in range(4)])
    for name, classifier in classifiers.items()
}
for name, runs in right.items():
    means = ", ".join(
        f"{way} {mean:.3f}" for way, mean in zip(ways, runs.mean(axis=0), strict=True)
    )
    print(f"{' '.join(name.split())}: {means}")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
places = np.arange(len(right))
for number, (way, color) in enumerate(zip(ways, ("0.8", "C0", "0.5"), strict=True)):
    runs = np.array([of_classifier[:, number] for of_classifier in right.values()])
    axes.bar(
        places + 0.27 * (number - 1),
        runs.mean(axis=1),
        0.25,
        yerr=sem(runs, axis=1),
        capsize=3,
        color=color,
        label=way,
    )
axes.grid(visible=False, axis="x")
axes.set_xticks(places, list(right))
axes.set(
    title="Accuracy on held-out rows, ± 1 standard error over 4 splits",
    ylabel="accuracy",
    ylim=(0, 1),
)
axes.legend(ncols=3, loc="upper center")
plt.show()
