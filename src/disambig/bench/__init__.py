"""Studies and their reports. The only layer that hands true labels to anything."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.bench.conclusions import findings
    from disambig.bench.crossval import cross_validate, mean_and_std, mean_and_std_text
    from disambig.bench.figures.critical_difference import draw_critical_difference
    from disambig.bench.figures.curves import draw_curves
    from disambig.bench.figures.dots import draw_dots
    from disambig.bench.figures.epochs import draw_epochs
    from disambig.bench.figures.style import save_figure
    from disambig.bench.formats import Table, to_csv, to_latex, to_markdown
    from disambig.bench.report import Report, make_report, write_report
    from disambig.bench.runner import StudyListener, run_study
    from disambig.bench.settings import Study
    from disambig.bench.significance import significance_table
    from disambig.bench.store import RecordStore, StoredResults, StudyResult, read_results
    from disambig.bench.tables import comparison_table, win_table
    from disambig.bench.trial import METRICS, ControlledCorruption, FoldScore, shuffled_folds

__all__ = [
    "METRICS",
    "ControlledCorruption",
    "FoldScore",
    "RecordStore",
    "Report",
    "StoredResults",
    "Study",
    "StudyListener",
    "StudyResult",
    "Table",
    "comparison_table",
    "cross_validate",
    "draw_critical_difference",
    "draw_curves",
    "draw_dots",
    "draw_epochs",
    "findings",
    "make_report",
    "mean_and_std",
    "mean_and_std_text",
    "read_results",
    "run_study",
    "save_figure",
    "shuffled_folds",
    "significance_table",
    "to_csv",
    "to_latex",
    "to_markdown",
    "win_table",
    "write_report",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ControlledCorruption": "disambig.bench.trial",
        "FoldScore": "disambig.bench.trial",
        "METRICS": "disambig.bench.trial",
        "RecordStore": "disambig.bench.store",
        "Report": "disambig.bench.report",
        "StoredResults": "disambig.bench.store",
        "Study": "disambig.bench.settings",
        "StudyListener": "disambig.bench.runner",
        "StudyResult": "disambig.bench.store",
        "Table": "disambig.bench.formats",
        "comparison_table": "disambig.bench.tables",
        "cross_validate": "disambig.bench.crossval",
        "draw_critical_difference": "disambig.bench.figures.critical_difference",
        "draw_curves": "disambig.bench.figures.curves",
        "draw_dots": "disambig.bench.figures.dots",
        "draw_epochs": "disambig.bench.figures.epochs",
        "findings": "disambig.bench.conclusions",
        "make_report": "disambig.bench.report",
        "mean_and_std": "disambig.bench.crossval",
        "mean_and_std_text": "disambig.bench.crossval",
        "read_results": "disambig.bench.store",
        "run_study": "disambig.bench.runner",
        "save_figure": "disambig.bench.figures.style",
        "shuffled_folds": "disambig.bench.trial",
        "significance_table": "disambig.bench.significance",
        "to_csv": "disambig.bench.formats",
        "to_latex": "disambig.bench.formats",
        "to_markdown": "disambig.bench.formats",
        "win_table": "disambig.bench.tables",
        "write_report": "disambig.bench.report",
    },
)
