"""Small studies, run in this process, and their reports."""

import csv
import io
import re
from unittest import mock
from urllib.parse import unquote

from disambig.bench import (
    Study,
    StudyResult,
    make_report,
    to_csv,
    to_latex,
    to_markdown,
    write_report,
)
from disambig.bench.execute import execute
from disambig.bench.plan import make_plan

NETWORK = {"hidden": 8, "epochs": 3, "ramp_epochs": 2}
CORRUPTION = {"p": [0.2, 0.6], "r": 1}
ON_RANDOM, ON_TRUTH = "LR on a random candidate", "LR on true labels"
FORMATS = {"md": to_markdown, "tex": to_latex, "csv": to_csv}


_RECORDS = {}


def result_of(study):
    """Run all jobs of a study here; like a store, run those that several studies have once."""
    plan = make_plan(study)
    for planned in plan.jobs:
        if planned.job.key not in _RECORDS:
            ((_RECORDS[planned.job.key], _),) = execute(planned.dataset, [planned.job])
    return StudyResult(plan, {planned.job.key: _RECORDS[planned.job.key] for planned in plan.jobs})


def small(*methods, **settings):
    defaults = {"name": "small", "datasets": ["glass"], "protocol": {"folds": 2}}
    return Study(**{**defaults, "methods": list(methods), **settings})


def written(study, folder):
    """Run a study, write its report without drawing it, and return what was made and where."""
    report = make_report(result_of(study))
    return report, write_undrawn(report, folder)


def write_undrawn(report, folder, **more):
    """Write a report whose figures are empty files: drawing takes long, and has its own tests."""
    with mock.patch("disambig.bench.report._write_figures", _touch_figures):
        return write_report(report, folder, **more)


def _touch_figures(report, folder):
    for name in report.printed_charts():
        (folder / f"{name}.png").touch()
        (folder / f"{name}.svg").touch()


def assert_links_lead_somewhere(page):
    """Check that every link is one that Markdown reads whole, and leads to a file."""
    links = re.findall(r"!?\[[^]]*\]\((.*)\)$", page.read_text("utf-8"), flags=re.MULTILINE)
    assert links
    for link in [*links, "jobs.csv"]:
        assert re.fullmatch(r"<[^<>]+>|[^\s()<>]+", link), f"Markdown ends {link!r} early"
        assert (page.parent / unquote(link.strip("<>"))).is_file(), link


def rows_of(path):
    header, *rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    return header, {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
