"""
A study on a cluster
====================

The jobs of a study can run on the workers of a Dask or Ray cluster. Data is sent with the jobs and
records come back, so workers need no shared disk. Here two Dask workers measure what growing
ambiguity costs two methods. When the second method is added, only its own jobs are run.
"""

import tempfile

import matplotlib.pyplot as plt
from distributed import LocalCluster

from disambig.bench import Study, StudyListener, make_report, run_study

# %%
# The study runs every method on every fold, with more and more ambiguous rows. Two baselines are
# added automatically.

settings = {
    "name": "ambiguity",
    "protocol": {"folds": 3},
    "datasets": [{"name": "vehicle", "corruption": {"p": [0.1, 0.4, 0.7], "r": [2]}}],
    "reference": "EM",
}
em = {"name": "em", "title": "EM", "parameters": {"penalty": 1.0, "tol": 1e-3}}
study = Study(methods=[em], **settings)

# %%
# A cluster is given by its address, such as ``tcp://HOST:8786``. So that this page can be run
# anywhere, its workers are threads of this process. On the command line: ``disambig study FILE
# --backend dask --address tcp://HOST:8786``.


class Counter(StudyListener):
    """Counts the jobs that are started."""

    started = 0

    def on_jobs_start(self, jobs):
        """Count some more."""
        self.started += len(jobs)


def run(study, folder, address):
    """Run what has no record in the folder yet, and say how much that was."""
    counter = Counter()
    result = run_study(study, folder, backend="dask", address=address, listener=counter)
    print(
        f"{len(result.plan.jobs)} jobs, {counter.started} of them run, {len(result.failed)} failed"
    )
    return result


with (
    tempfile.TemporaryDirectory() as folder,
    LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=folder,
    ) as cluster,
):
    run(study, f"{folder}/records", cluster.scheduler_address)
    # PLKNN comes later: what has a record is not run again.
    result = run(
        Study(methods=[em, "plknn"], **settings), f"{folder}/records", cluster.scheduler_address
    )

# %%
# From here on it does not matter where jobs ran: the records are the same.

scores = make_report(result).scores
titles = {
    "LR on true labels": ("0.5", "--"),
    "EM": ("C0", "o-"),
    "PLKNN": ("C4", "v-"),
    "LR on a random candidate": ("0.5", "s:"),
}
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
for title, (color, style) in titles.items():
    by_p = scores[scores["method"] == title].groupby("p")["accuracy"]
    means = by_p.mean()
    axes.errorbar(means.index, means, by_p.sem(), fmt=style, color=color, capsize=3)
    axes.annotate(f"  {title}", (means.index[-1], means.iloc[-1]), va="center", color=color)
axes.set(
    title="Accuracy on new rows, ± 1 standard error over 3 folds",
    xlabel="p, share of rows with two false labels",
    ylabel="accuracy",
    xticks=[0.1, 0.4, 0.7],
    xlim=(0.05, 1.15),
)
plt.show()
