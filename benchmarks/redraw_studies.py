"""Make the reports of docs/results again from what is committed beside them.

    DISAMBIG_DATA=folder python benchmarks/redraw_studies.py [table curves ablation]

Nothing is measured: scores are those of jobs.csv, curves by epoch those of epochs_*.csv. For when
tables, figures or sentences change; what baselines were called formerly is replaced.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from disambig.bench import LineChart, StudyResult, epochs_chart, make_report, write_report
from disambig.bench.paper import published_accuracies
from disambig.bench.plan import PlannedJob, make_plan
from disambig.bench.record import Record
from disambig.bench.reported_study import read_study_file
from disambig.bench.run_table import STEPS
from disambig.datasets.card import dataset_title
from disambig.metrics import METRICS
from results_page import FOLDER

STUDIES = ("table", "curves", "ablation")
FORMER = {
    "random candidate": "LR on a random candidate",
    "oracle": "LR on true labels",
}


def title_of(planned: PlannedJob) -> tuple[Any, ...]:
    """Return what tells a job from others of its study, code aside."""
    split = planned.job.split
    return planned.data_title, planned.method_title, split.seed, split.fold


def exact(accuracy: float, n_rows: int, n_folds: int) -> float:
    """Return an accuracy to the last bit, of which jobs.csv has six digits: a share of test rows.

    Means of equal shares must stay equal, or ranks would change.
    """
    shares = [round(accuracy * size) / size for size in (n_rows // n_folds, -(-n_rows // n_folds))]
    nearest = min(shares, key=lambda share: abs(share - accuracy))
    assert abs(nearest - accuracy) < 1e-6, (accuracy, n_rows, n_folds)
    return nearest


def record_of(planned: PlannedJob, row: dict[str, Any]) -> Record:
    """Return the record of a job as far as its row says; what is missing there is left out."""
    known = {name: value for name, value in row.items() if value == value}
    known["accuracy"] = exact(known["accuracy"], len(planned.dataset.X), planned.job.split.n_folds)
    return Record(
        key=known["key"],
        job={},
        dataset=planned.dataset.name,
        status=known["status"],
        environment={},
        finished="",
        metrics={name: known[name] for name in METRICS if name in known},
        chosen=json.loads(known["chosen"]) if "chosen" in known else None,
        seconds={step: known[f"{step}_seconds"] for step in STEPS if f"{step}_seconds" in known},
        peak_memory_mb=known.get("peak_memory_mb"),
    )


def read_epochs(path: Path, reference: str, n_runs: int) -> LineChart:
    """Return the chart of one file with curves by epoch."""
    points = pd.read_csv(path)
    lines = {name: points[points["line"] == name] for name in points["line"].unique()}
    curves = {name: [line["held-out accuracy"].tolist()] for name, line in lines.items()}
    title = dataset_title(path.stem.removeprefix("epochs_"))
    chart = epochs_chart(curves, title=title, reference=reference, n_runs=n_runs)
    series = [
        replace(one, errors=lines[one.name]["standard error"].tolist()) for one in chart.series
    ]
    return replace(chart, series=series)


def redraw(folder: Path) -> None:
    """Write the report of one study again."""
    reported = read_study_file(folder)
    study = reported.study
    jobs = pd.read_csv(folder / "jobs.csv").replace({"method": FORMER})
    rows = {
        (row["data"], row["method"], row["seed"], row["fold"]): row
        for row in jobs.to_dict("records")
    }
    plan = make_plan(study)
    records = {one.job.key: record_of(one, rows[title_of(one)]) for one in plan.jobs}
    published = published_accuracies() if reported.has_published else None
    report = make_report(StudyResult(plan, records), published=published, missing=reported.missing)
    n_runs = len(jobs[["seed", "fold"]].drop_duplicates())
    epochs = {
        path.stem: read_epochs(path, study.reference_title, n_runs)
        for path in sorted(folder.glob("epochs_*.csv"))
    }
    # Kept from here on instead of those made from records, which have no curves by epoch.
    report.__dict__["charts"] = epochs | report.charts
    write_report(report, folder, command=reported.command)
    print(f"{folder.name}: {len(jobs)} jobs, {', '.join(report.printed_charts())}")


def main() -> None:
    """Redraw what is named."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=STUDIES)
    for name in parser.parse_args().studies:
        redraw(FOLDER / name)


if __name__ == "__main__":
    main()
