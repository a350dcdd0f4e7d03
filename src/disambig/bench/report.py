"""Which tables, figures and findings a study has, and how they are written."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disambig._core.errors import StudyError
from disambig._core.files import written_atomically
from disambig._version import __version__
from disambig.bench.conclusions import findings
from disambig.bench.formats import Table, as_markdown, list_markdown, to_csv, to_latex, to_markdown
from disambig.bench.ranking import rank_methods
from disambig.bench.run_details import STUDY_FILE, ReportedStudy, study_file_text
from disambig.bench.run_table import Cells, accuracy_by_epoch, read_cells, study_scores
from disambig.bench.significance import significance_table
from disambig.bench.store import StudyResult
from disambig.bench.tables import Published, comparison_table, published_table, win_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Published", "Report", "make_report", "write_report"]


@dataclass(frozen=True, eq=False)
class Report:
    """What a study has to show.

    Attributes
    ----------
    result : StudyResult
        The study and its records.
    scores : DataFrame
        A row for every job.
    tables : dict of Table
        By the name of their files, the most important first; beside it the published figures.
    findings : tuple of str
        What was found, in sentences.
    missing : tuple of str
        Data that was not at hand, each with how to get it.
    """

    result: StudyResult
    scores: Any
    tables: dict[str, Table]
    findings: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @cached_property
    def figures(self) -> dict[str, "Figure"]:
        """By the name of their files, those by epoch first; drawn when they are asked for."""
        study = self.result.plan.study
        reference = study.reference_title
        figures = _epoch_figures(self.result, reference, read_cells(self.scores, "accuracy"))
        for metric in study.metrics:
            figures |= _figures(self.scores, metric, reference)
        return figures

    def tables_in_order(self) -> Iterator[str]:
        """Return the names of all tables as a page has them: tests before scores."""
        main = next(iter(self.tables))
        names = [main, "published"]
        for metric in self.result.plan.study.metrics:
            names += [f"{metric}_wins", f"{metric}_tests", metric]
        return (name for name in dict.fromkeys(names) if name in self.tables)


def make_report(
    result: StudyResult, *, published: Published | None = None, missing: tuple[str, ...] = ()
) -> Report:
    """Make the tables and figures that fit a study.

    Corrupted data has counts of wins and curves, data with its own candidate sets has dots; a
    study may have both.

    Parameters
    ----------
    result : StudyResult
        A study that has run; some of its jobs may have failed.
    published : mapping, optional
        Figures of a paper to show beside, mean and standard deviation by dataset and method.
    missing : tuple of str, optional
        Data that was not at hand, each with how to get it.
    """
    if not any(record.is_done for _, record in result.jobs()):
        raise StudyError("There is nothing to report: every job failed. Their records say why.")
    scores = study_scores(result)
    study = result.plan.study
    reference, test_share = study.reference_title, study.protocol.held_out_share
    tables: dict[str, Table] = {}
    for metric in study.metrics:
        tables |= _tables(scores, metric, reference, test_share)
    if published is not None:
        beside = published_table(scores, published)
        if beside.rows:
            (name, main), *others = tables.items()
            tables = {name: main, "published": beside, **dict(others)}
    found = findings(scores, reference, study.metrics[0], test_share=test_share)
    return Report(result, scores, tables, found, missing)


def _tables(scores: Any, metric: str, reference: str, test_share: float) -> dict[str, Table]:
    tables = {}
    corrupted = scores[scores["p"].notna()]
    if len(corrupted):
        tables[f"{metric}_wins"] = win_table(corrupted, metric, reference=reference)
    tables[metric] = comparison_table(scores, metric, reference=reference)
    tables[f"{metric}_tests"] = significance_table(
        scores, metric, reference=reference, test_share=test_share
    )
    return tables


def _figures(scores: Any, metric: str, reference: str) -> dict[str, "Figure"]:
    from disambig.bench.figures.critical_difference import draw_critical_difference
    from disambig.bench.figures.curves import draw_curves
    from disambig.bench.figures.dots import draw_dots

    figures = {}
    is_corrupted = scores["p"].notna()
    if is_corrupted.any():
        figures[f"{metric}_curves"] = draw_curves(scores, metric, reference=reference)
        levels = sorted(scores["r"].dropna().unique())
        for r in levels if len(levels) > 1 else ():
            figures[f"{metric}_curves_r{r:g}"] = draw_curves(
                scores, metric, reference=reference, r=r
            )
    if not is_corrupted.all():
        figures[f"{metric}_dots"] = draw_dots(scores[~is_corrupted], metric, reference=reference)
    if rank_methods(read_cells(scores, metric)).critical_difference is not None:
        figures[f"{metric}_ranks"] = draw_critical_difference(scores, metric, reference=reference)
    return figures


def _epoch_figures(result: StudyResult, reference: str, cells: Cells) -> dict[str, "Figure"]:
    from disambig.bench.figures.epochs import draw_epochs

    figures: dict[str, Figure] = {}
    for data, curves in accuracy_by_epoch(result).items():
        n_runs = max(len(runs) for runs in curves.values())
        figures[_file_name(f"epochs_{data}", figures)] = draw_epochs(
            curves,
            title=f"{data}: mean over {n_runs} runs",
            reference=reference,
            names={method: cells.shown(method) for method in curves},
        )
    return figures


def _file_name(title: str, taken: Iterable[str]) -> str:
    """Return a name for files and links that is not taken; titles of data may have any sign."""
    name = re.sub(r"[^\w.+-]+", "_", title.replace("=", "")).rstrip("_.")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


# Tables with more rows are not on the page, which has a link to them.
_MOST_ROWS = 30
_FOR_BROWSERS = "report.html"
_FORMATS = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}


def write_report(
    report: Report,
    folder: str | os.PathLike[str],
    *,
    command: str | None = None,
    html: str | None = None,
) -> Path:
    """Write tables (Markdown, LaTeX, CSV), figures (PNG, SVG), all jobs (CSV), and a page on top.

    Beside them goes what it takes to make the report again from the records, ``study.json``.

    Parameters
    ----------
    report : Report
        What to write.
    folder : path
        Made if it is not there; files of the same names are replaced.
    command : str, optional
        What made it, for the page.
    html : str, optional
        The report for a browser, from ``disambig.web.study_page``; becomes ``report.html``.

    Returns
    -------
    page : Path
        The page, in Markdown.
    """
    from disambig.bench.figures.style import save_figure  # with matplotlib, slow to import

    folder = Path(folder)
    for name, table in report.tables.items():
        for suffix, render in _FORMATS.items():
            _write(folder / f"{name}{suffix}", render(table))
    for name, figure in report.figures.items():
        save_figure(figure, folder / name)
    _write(folder / "jobs.csv", report.scores.to_csv(index=False, float_format="%.6g"))
    study = report.result.plan.study
    reported = ReportedStudy(study, command, report.missing, "published" in report.tables)
    _write(folder / STUDY_FILE, study_file_text(reported, folder))
    if html is not None:
        _write(folder / _FOR_BROWSERS, html)
    page = folder / "report.md"
    _write(page, "\n".join(_page(report, command)))
    return page


def _page(report: Report, command: str | None) -> Iterator[str]:
    study, jobs = report.result.plan.study, report.result.jobs()
    made_by = f"Made by `{command}` with" if command else "Made with"
    yield f"# {as_markdown(study.name)}\n"
    if study.about:
        yield f"{study.about.strip()}\n"
    yield (
        f"{made_by} disambig {__version__}; do not edit by hand. Protocol: "
        f"{study.protocol.sentence}. {len(jobs)} jobs, {len(report.result.failed)} failed; "
        "[jobs.csv](jobs.csv) has a row for each.\n"
    )
    if report.missing:
        yield "".join(f"- {line}\n" for line in report.missing)
    yield f"## What was found\n\n{list_markdown(report.findings)}"
    main, *others = report.tables_in_order()
    yield to_markdown(report.tables[main])
    for name in report.figures:
        # Of curves by r and all in one, those by r can be read on a page.
        if not any(other.startswith(f"{name}_r") for other in report.figures):
            yield f"![{name.replace('_', ' ')}]({name}.png)\n"
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


def _write(path: Path, text: str) -> None:
    with written_atomically(path) as temporary:
        # A message of a method may hold anything, halves of characters too.
        temporary.write_text(text.rstrip("\n") + "\n", encoding="utf-8", errors="backslashreplace")
