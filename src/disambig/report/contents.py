"""What a study has to show: which tables and which figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from disambig._core.errors import StudyError
from disambig.report.cells import read_cells
from disambig.report.comparison import accuracy_table
from disambig.report.findings import findings
from disambig.report.published import published_table
from disambig.report.ranking import rank_methods
from disambig.report.scores import accuracy_by_epoch, study_scores
from disambig.report.significance import significance_table
from disambig.report.table import Table
from disambig.report.wins import win_table
from disambig.study.entries import Protocol
from disambig.study.runner import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report", "make_report"]

Published = Mapping[str, Mapping[str, tuple[float, float]]]


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
        By the name of their files, the most important first.
    figures : dict of Figure
        By the name of their files.
    findings : str
        What was found, a list in Markdown.
    missing : tuple of str
        Data that was not at hand, each with how to get it.
    """

    result: StudyResult
    scores: Any
    tables: dict[str, Table]
    figures: dict[str, "Figure"]
    findings: str
    missing: tuple[str, ...] = field(default=())


def make_report(
    result: StudyResult, *, published: Published | None = None, missing: tuple[str, ...] = ()
) -> Report:
    """Make the tables and figures that fit a study.

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
        raise StudyError("There is nothing to report: every job failed.")
    scores = study_scores(result)
    study = result.plan.study
    tables: dict[str, Table] = {}
    figures: dict[str, Figure] = {}
    for metric in study.metrics:
        tables |= _tables(scores, metric, study.reference_title, study.protocol)
        figures |= _figures(scores, metric)
    if published is not None:
        tables["published"] = published_table(scores, published)
    figures |= _epoch_figures(result)
    found = findings(
        scores,
        study.reference_title,
        study.metrics[0],
        test_share=study.protocol.held_out_share,
    )
    return Report(result, scores, tables, figures, found, missing)


def _tables(scores: Any, metric: str, reference: str, protocol: Protocol) -> dict[str, Table]:
    tables = {}
    if _is_corrupted(scores):
        tables[f"{metric}_wins"] = win_table(scores, metric, reference=reference)
    tables[metric] = accuracy_table(scores, metric, reference=reference)
    tables[f"{metric}_tests"] = significance_table(
        scores, metric, reference=reference, test_share=protocol.held_out_share
    )
    return tables


def _figures(scores: Any, metric: str) -> dict[str, "Figure"]:
    from disambig.report.figures.critical_difference import draw_critical_difference
    from disambig.report.figures.curves import draw_curves
    from disambig.report.figures.dots import draw_dots

    figures = {}
    if _is_corrupted(scores):
        levels = sorted(scores["r"].dropna().unique())
        figures[f"{metric}_curves"] = draw_curves(scores, metric)
        if len(levels) > 1:
            for r in levels:
                figures[f"{metric}_curves_r{r:g}"] = draw_curves(scores[scores["r"] == r], metric)
    else:
        figures[f"{metric}_dots"] = draw_dots(scores, metric)
    if rank_methods(read_cells(scores, metric)).critical_difference is not None:
        figures[f"{metric}_ranks"] = draw_critical_difference(scores, metric)
    return figures


def _epoch_figures(result: StudyResult) -> dict[str, "Figure"]:
    from disambig.report.figures.epochs import draw_epochs

    figures = {}
    for data, curves in accuracy_by_epoch(result).items():
        n_runs = max(len(runs) for runs in curves.values())
        # The title of data with a corruption is no name for a file.
        stem = f"epochs_{data}".replace(", ", "_").replace("=", "")
        figures[stem] = draw_epochs(curves, title=f"{data}: mean over {n_runs} runs")
    return figures


def _is_corrupted(scores: Any) -> bool:
    return bool(scores["p"].notna().all())
