"""
Your own method in a study
==========================

A study compares methods on the same folds and the same candidate sets, with significance tests.
Jobs that are done leave a record, so that a study can be interrupted, extended and shared. The
method of your own here is in :doc:`nearest_centre`.
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
        {"name": "em", "title": "EM"},
        {"name": "nearest_centre:NearestCentre", "title": "Nearest centre"},
        {"name": "nearest_centre:NearestCentre", "title": "one round", "parameters": {"rounds": 1}},
    ],
    reference="Nearest centre",
)

# %%
# Records go into a folder of your choice. Run it again, and nothing is left to do.

with tempfile.TemporaryDirectory() as folder:
    result = run_study(study, folder)
report = make_report(result)
for sentence in report.findings:
    print("-", sentence)

# %%
# ``write_report`` makes a folder with tables, figures and a page of it. The scores are there to be
# drawn in any other way, too.

titles = ["Nearest centre", "one round", "EM", "PLKNN", "LR on true labels"]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for number, (name, scores) in enumerate(report.scores.groupby("dataset")):
    means = scores.groupby("method")["accuracy"].mean()
    errors = scores.groupby("method")["accuracy"].sem()
    places = [position + 0.1 * number for position in range(len(titles))]
    axes.errorbar(means[titles], places, xerr=errors[titles], fmt="os"[number], label=name)
axes.set_yticks(range(len(titles)), [*titles[:-1], "true labels"])
axes.legend()
axes.set(title="Held-out accuracy, with standard errors over folds", xlabel="accuracy")
plt.show()
