"""The report of a study: its tables, charts and findings, and the folder they are written to."""

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from disambig._core.errors import StudyError
from disambig._core.files import write_atomically
from disambig._version import __version__
from disambig.bench.charts import Chart, CurvesChart, LineChart
from disambig.bench.conclusions import findings, in_brief
from disambig.bench.every_test import significance_table
from disambig.bench.formats import Table, as_markdown, list_markdown, to_csv, to_latex, to_markdown
from disambig.bench.reported_study import STUDY_FILE, ReportedStudy, is_study_file, study_file_text
from disambig.bench.run_table import study_scores
from disambig.bench.settings import Study
from disambig.bench.study_charts import study_charts
from disambig.bench.study_results import StudyResult
from disambig.bench.tables import (
    Published,
    comparison_table,
    published_table,
    win_table,
)
from disambig.bench.verdict import in_one_sentence
from disambig.tabular.files.spreadsheet import without_formulas

NO_FIGURES = (
    "Figures for print were left out: they need matplotlib. Install it with pip install "
    "'disambig[figures]' and run the same command again."
)
# Longer tables are not on the page, which has a link to them.
_MOST_ROWS = 30
_SUFFIXES = "md|tex|csv|png|svg|html|json"
_FORMATS = {".md": to_markdown, ".tex": to_latex}


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a study: its tables, charts and findings.

    Attributes
    ----------
    result : StudyResult
        The study and its records.
    scores : DataFrame
        A row for every job.
    tables : dict of Table
        Tables by the name of their files, the most important first.
    findings : tuple of str
        What was found, in sentences.
    brief : tuple of str
        The same in three points at most.
    verdict : str
        One sentence: how the reference does against each rival. Empty if nothing was tested.
    missing : tuple of str
        Datasets that were not available, each with how to get it.

    See Also
    --------
    make_report : Makes it.
    write_report : Writes it into a folder.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import make_report
    >>> report = make_report(result)
    >>> list(report.tables)
    ['accuracy_wins', 'accuracy', 'accuracy_tests']
    >>> report.scores.shape[0]
    20
    """

    result: StudyResult
    scores: Any
    tables: dict[str, Table]
    findings: tuple[str, ...]
    brief: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    verdict: str = ""

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not there: datasets, and metrics that records lack."""
        return tuple(dict.fromkeys((*self.missing, *self.result.gaps)))

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """What charts show, by the name of their files, those by epoch first."""
        return study_charts(self.result, self.scores)

    def printed_charts(self) -> dict[str, Chart]:
        """Return the charts for print: of curves with several r, all of them and each r alone."""
        charts = dict(self.charts)
        for name, chart in self.charts.items():
            charts |= _curves_by_r(name, chart)
        return charts

    def tables_in_order(self) -> Iterator[str]:
        """Return the names of all tables as a page has them: tests before scores."""
        main = next(iter(self.tables))
        names = [main, "published"]
        for metric in self.result.plan.study.metrics:
            names += [f"{metric}_wins", f"{metric}_tests", metric]
        return (name for name in dict.fromkeys(names) if name in self.tables)


def _curves_by_r(name: str, chart: Chart) -> dict[str, Chart]:
    if not isinstance(chart, CurvesChart) or len(chart.rs) == 1:
        return {}
    return {f"{name}_r{r:g}": chart.with_r(r) for r in chart.rs}


def make_report(
    result: StudyResult, *, published: Published | None = None, missing: tuple[str, ...] = ()
) -> Report:
    """Make the tables, charts and findings that fit a study.

    Corrupted data gets counts of wins and curves, data with its own candidate sets gets dot charts;
    a study may have both.

    Parameters
    ----------
    result : StudyResult
        A study that has run; some of its jobs may have failed.
    published : mapping, optional
        Results of a paper to show beside ours: mean and standard deviation by dataset and method.
    missing : tuple of str, optional
        Datasets that were not available, each with how to get it.

    See Also
    --------
    write_report : Writes it into a folder.
    disambig.web.study_page : Shows it as a page.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import make_report
    >>> report = make_report(result)
    >>> report.tables["accuracy"].header[:4]
    ('data', 'PLKNN', 'CLPL', 'PLSVM')
    """
    if not any(record.is_done for _, record in result.jobs()):
        raise StudyError("There is nothing to report: every job failed. Their records say why.")
    scores = study_scores(result)
    study = result.plan.study
    reference, test_share = study.reference_title, study.protocol.held_out_share
    corrupted = scores[scores["p"].notna()]
    tables: dict[str, Table] = {}
    for metric in study.metrics:
        if len(corrupted):
            tables[f"{metric}_wins"] = win_table(corrupted, metric, reference=reference)
        tables[metric] = comparison_table(scores, metric, reference=reference)
        tables[f"{metric}_tests"] = significance_table(
            scores, metric, reference=reference, test_share=test_share
        )
    if published is not None:
        beside = published_table(scores, published)
        if beside.rows:
            (name, main), *others = tables.items()
            tables = {name: main, "published": beside, **dict(others)}
    found = findings(scores, reference, study.metrics[0], test_share=test_share)
    brief = in_brief(scores, reference, study.metrics[0], test_share=test_share)
    verdict = in_one_sentence(scores, reference, study.metrics[0], test_share=test_share)
    return Report(result, scores, tables, found, brief, missing, verdict)


def can_draw_figures() -> bool:
    """Whether matplotlib, which draws figures for print, is installed."""
    return find_spec("matplotlib") is not None


def check_report_folder(study: Study, folder: str | os.PathLike[str]) -> None:
    """Refuse a folder where a report would replace files that are not part of another report."""
    folder = Path(folder)
    if not folder.is_dir() or is_study_file(folder / STUDY_FILE):
        return
    tables = "|".join(map(re.escape, study.metrics))
    ours = re.compile(rf"(report|study|jobs|published|epochs_.*|({tables})(_.*)?)\.({_SUFFIXES})")
    taken = sorted(path.name for path in folder.iterdir() if ours.fullmatch(path.name))
    if taken:
        raise StudyError(
            f"Results go into {folder}, which has a file {taken[0]} that no study wrote. It is "
            "left as it is: choose another folder (--out), or another name for the study."
        )


def write_report(
    report: Report,
    folder: str | os.PathLike[str],
    *,
    command: str | None = None,
    html: str | None = None,
    excel_safe: bool = False,
) -> Path:
    """Write tables (Markdown, LaTeX, CSV), figures (PNG, SVG), all jobs (CSV), and a page on top.

    Without matplotlib, figures are left out and the page says so. ``study.json`` holds what is
    needed to make the report again from the records.

    Parameters
    ----------
    report : Report
        What to write.
    folder : path
        Created if it does not exist. Files of an earlier report with the same names are replaced;
        other files with these names are refused.
    command : str, optional
        The command that made it, for the page.
    html : str, optional
        The report for a browser, from ``disambig.web.study_page``; becomes ``report.html``.
    excel_safe : bool, default=False
        Whether to keep a spreadsheet from reading cells of CSV files as formulas; see
        ``write_table``.

    Returns
    -------
    page : Path
        The page, in Markdown.

    See Also
    --------
    make_report : Makes the report.
    disambig.web.study_page : Makes the page for ``html``.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> import tempfile
    >>> from disambig.bench import make_report, write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(make_report(result), folder)
    >>> page.name
    'report.md'
    """
    folder = Path(folder)
    study = report.result.plan.study
    check_report_folder(study, folder)
    reported = ReportedStudy(study, command, report.missing, "published" in report.tables)
    # First, because it tells whose folder it is.
    _write(folder / STUDY_FILE, study_file_text(reported, folder))
    for name, table in report.tables.items():
        for suffix, render in _FORMATS.items():
            _write(folder / f"{name}{suffix}", render(table))
        _write(folder / f"{name}.csv", to_csv(table, excel_safe=excel_safe))
    if can_draw_figures():
        _write_figures(report, folder)
    for name, chart in report.charts.items():
        if isinstance(chart, LineChart):
            _write(folder / f"{name}.csv", to_csv(_numbers(chart), excel_safe=excel_safe))
    scores = without_formulas(report.scores) if excel_safe else report.scores
    _write(folder / "jobs.csv", scores.to_csv(index=False, float_format="%.6g"))
    if html is not None:
        _write(folder / "report.html", html)
    page = folder / "report.md"
    _write(page, "\n".join(_page(report, command)))
    return page


def _write_figures(report: Report, folder: Path) -> None:
    from disambig.bench.figure_style import save_figure  # matplotlib is an extra
    from disambig.bench.figures import draw_figure

    for name, chart in report.printed_charts().items():
        save_figure(draw_figure(chart), folder / name)


def _numbers(chart: LineChart) -> Table:
    """Return the points of all lines: what it takes to draw the chart again."""
    rows = []
    for one in chart.series:
        errors = one.errors or [math.nan] * len(one.x)
        for x, y, error in zip(one.x, one.y, errors, strict=True):
            known = f"{error:.6g}" if math.isfinite(error) else ""
            rows.append((one.name, f"{x:g}", f"{y:.6g}", known))
    header = ("line", chart.x_title, chart.y_title, "standard error")
    return Table(chart.title, header, tuple(rows))


def _page(report: Report, command: str | None) -> Iterator[str]:
    study, jobs = report.result.plan.study, report.result.jobs()
    made_by = f"Made by `{command}` with" if command else "Made with"
    yield f"# {as_markdown(study.heading)}\n"
    if report.verdict:
        yield f"{as_markdown(report.verdict)}\n"
    if study.about:
        yield f"{study.about.strip()}\n"
    yield (
        f"{made_by} disambig {__version__}; do not edit by hand. Protocol: "
        f"{study.protocol.sentence}. {len(jobs)} jobs, {len(report.result.failed)} failed; "
        "[jobs.csv](jobs.csv) has a row for each.\n"
    )
    if report.caveats:
        yield "".join(f"- {line}\n" for line in report.caveats)
    yield f"## What was found\n\n{list_markdown(report.brief)}"
    yield f"### In detail\n\n{list_markdown(report.findings)}"
    main, *others = report.tables_in_order()
    yield to_markdown(report.tables[main])
    yield from _figure_links(report)
    for name in others:
        table = report.tables[name]
        if len(table.rows) > _MOST_ROWS:
            yield f"## {as_markdown(table.title)}\n"
            yield f"{len(table.rows)} rows: [{name}.md]({name}.md)\n"
        else:
            yield to_markdown(table)
    if report.result.failed:
        yield "## What failed\n"
        for planned, record in report.result.failed:
            error = record.error or {}
            what = f"{planned.title}: {error.get('type')}: {error.get('message')}"
            yield f"- {as_markdown(what)}"


def _figure_links(report: Report) -> Iterator[str]:
    if not can_draw_figures():
        yield f"{NO_FIGURES}\n"
        return
    for chart_name, chart in report.charts.items():
        # Curves of all r in one figure are too small for a page; those of each r are not.
        for name in _curves_by_r(chart_name, chart) or [chart_name]:
            # As SVG, which follows the colours of the page it is on.
            yield f"![{name.replace('_', ' ')}]({name}.svg)\n"
        yield f"{as_markdown(chart.caption)}\n"


def _write(path: Path, text: str) -> None:
    with write_atomically(path) as temporary:
        # Error messages of methods may hold lone surrogates.
        temporary.write_text(text.rstrip("\n") + "\n", encoding="utf-8", errors="backslashreplace")
