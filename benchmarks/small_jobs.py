"""How busy a study of many small jobs keeps the workers of a cluster.

    python benchmarks/small_jobs.py [JOBS] [WORKERS]

The same jobs are run one after the other in this process first, some of them, without records: that
is the work. How busy workers are is the work of all jobs over the time that the workers are there.
"""

import argparse
import os
import tempfile
import time

from disambig.bench import Study, run_study
from disambig.bench.execute import execute
from disambig.bench.plan import make_plan
from results_page import markdown_table, write_page

SAMPLE = 200
METHOD = "plknn"


def study_of(count: int) -> Study:
    """Return a study of so many jobs of some hundredths of a second, floor and ceiling included."""
    return Study(
        name="small_jobs",
        datasets=[{"name": "glass", "corruption": {"p": [0.1, 0.3, 0.5, 0.7], "r": 1}}],
        methods=[{"name": METHOD, "parameters": {"n_neighbors": 5}}],
        protocol={"folds": 10, "repeats": count // 120},
    )


def seconds_of_work(study: Study) -> float:
    """Return the mean time of a job."""
    jobs = make_plan(study).jobs
    jobs = jobs[:: max(1, len(jobs) // SAMPLE)]
    execute(jobs[0].dataset, [jobs[0].job])  # imports
    begin = time.perf_counter()
    for planned in jobs:
        execute(planned.dataset, [planned.job])
    return (time.perf_counter() - begin) / len(jobs)


def seconds_of_study(study: Study, backend: str, workers: int) -> tuple[int, float]:
    """Return how many jobs ran and how long that took, without the start of the workers."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        result = run_study(study, folder, backend=backend, jobs=workers)
        return len(result.records), time.perf_counter() - begin


def main() -> None:
    """Measure, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="?", type=int, default=10_000)
    parser.add_argument("workers", nargs="?", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    study = study_of(arguments.jobs)
    work = seconds_of_work(study)
    rows = []
    for backend in ("local", "dask"):
        count, seconds = seconds_of_study(study, backend, arguments.workers)
        busy = work * count / (seconds * arguments.workers)
        rows.append([backend, str(count), f"{count / seconds:.0f}", f"{busy:.0%}"])
        print(*rows[-1], flush=True)
    write_page(
        "small_jobs",
        "benchmarks/small_jobs.py",
        f"{METHOD}, its floor and its ceiling on folds of glass, {1000 * work:.0f} ms a job, on "
        f"{arguments.workers} workers of a machine with {os.cpu_count()} cores, where the study itself, which writes the "
        "records, has no core of its own. The start of workers counts as time in which they wait.",
        markdown_table(["backend", "jobs", "jobs a second", "workers are busy"], rows),
        real_data=False,
    )


if __name__ == "__main__":
    main()
