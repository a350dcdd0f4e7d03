"""What a study has to show: which tables and which figures."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from disambig._core.errors import StudyError
from disambig.report.cells import Cells, read_cells
from disambig.report.comparison import comparison_table
from disambig.report.findings import findings
from disambig.report.published import Published, published_table
from disambig.report.ranking import rank_methods
from disambig.report.scores import accuracy_by_epoch, study_scores
from disambig.report.significance import significance_table
from disambig.report.table import Table
from disambig.report.wins import win_table
from disambig.study.results import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Published", "Report", "make_report"]


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
    from disambig.report.figures.critical_difference import draw_critical_difference
    from disambig.report.figures.curves import draw_curves
    from disambig.report.figures.dots import draw_dots

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
    from disambig.report.figures.epochs import draw_epochs

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
