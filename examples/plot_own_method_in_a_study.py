"""
Your own method in a study
==========================

A study compares methods on the same training and test rows and the same candidate sets, and reports
sentences, tables and figures with significance tests. Here a method of fifty lines,
:doc:`nearest_centre`, is compared with EM and PLKNN, and is behind both on ecoli.
"""

import tempfile

import matplotlib.pyplot as plt

from disambig.bench import Study, make_report, run_study

# %%
# A study can also be a TOML file, for ``disambig study``. A method that is not in the package is
# named by its module and class.

study = Study(
    name="centres",
    protocol={"folds": 5},
    datasets=[
        {"name": "ecoli", "corruption": {"p": [0.7], "r": [2]}},
        {"name": "glass", "corruption": {"p": [0.7], "r": [2]}},
    ],
    methods=[
        {"name": "plknn"},
        {"name": "em", "title": "EM", "parameters": {"tol": 1e-3}},
        {"name": "nearest_centre:NearestCentre", "title": "Nearest centre"},
        {"name": "nearest_centre:NearestCentre", "title": "one round", "parameters": {"rounds": 1}},
    ],
    reference="Nearest centre",
)

# %%
# Records go into a folder of your choice. Run the study again with that folder, and nothing is left
# to do.

with tempfile.TemporaryDirectory() as folder:
    result = run_study(study, folder)
report = make_report(result)
for sentence in report.findings[:4]:
    print("-", sentence)

# %%
# ``write_report`` writes a folder with tables, figures and a page. The scores of every fold are in
# ``report.scores``, for figures of your own.

titles = ["Nearest centre", "one round", "EM", "PLKNN", "LR on true labels"]
figure, panels = plt.subplots(1, 2, figsize=(6.2, 2.9), layout="constrained", sharey=True)
for axes, (name, scores) in zip(panels, report.scores.groupby("dataset"), strict=True):
    by_method = scores.groupby("method")["accuracy"]
    means, errors = by_method.mean()[titles], by_method.sem()[titles]
    axes.errorbar(means, range(len(titles)), xerr=errors, fmt="o", color="0.3", capsize=3)
    axes.errorbar(means[:2], range(2), xerr=errors[:2], fmt="o", color="C0", capsize=3)
    axes.set(title=name, xlabel="accuracy")
axes.set_yticks(range(len(titles)), titles)
axes.invert_yaxis()
figure.suptitle("Accuracy on new rows, ± 1 standard error over 5 folds", fontsize="medium")
plt.show()
