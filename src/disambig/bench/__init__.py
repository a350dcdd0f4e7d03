"""Studies and their reports. The only layer that hands true labels to anything."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.bench.charts import CurvesChart, DotsChart, LineChart, RanksChart
    from disambig.bench.conclusions import findings
    from disambig.bench.crossval import cross_validate, mean_and_std, mean_and_std_text
    from disambig.bench.figure_style import save_figure
    from disambig.bench.figures import draw_figure
    from disambig.bench.formats import Table, to_csv, to_latex, to_markdown
    from disambig.bench.report import Report, make_report, write_report
    from disambig.bench.runner import StudyListener, run_study
    from disambig.bench.settings import Study
    from disambig.bench.store import RecordStore, StoredResults, StudyResult, read_results
    from disambig.bench.study_charts import curves_chart, dots_chart, epochs_chart, ranks_chart
    from disambig.bench.tables import comparison_table, significance_table, win_table
    from disambig.bench.trial import METRICS, ControlledCorruption, FoldScore, shuffled_folds

__all__ = [
    "METRICS",
    "ControlledCorruption",
    "CurvesChart",
    "DotsChart",
    "FoldScore",
    "LineChart",
    "RanksChart",
    "RecordStore",
    "Report",
    "StoredResults",
    "Study",
    "StudyListener",
    "StudyResult",
    "Table",
    "comparison_table",
    "cross_validate",
    "curves_chart",
    "dots_chart",
    "draw_figure",
    "epochs_chart",
    "findings",
    "make_report",
    "mean_and_std",
    "mean_and_std_text",
    "ranks_chart",
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
        "CurvesChart": "disambig.bench.charts",
        "DotsChart": "disambig.bench.charts",
        "LineChart": "disambig.bench.charts",
        "RanksChart": "disambig.bench.charts",
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
        "curves_chart": "disambig.bench.study_charts",
        "dots_chart": "disambig.bench.study_charts",
        "epochs_chart": "disambig.bench.study_charts",
        "ranks_chart": "disambig.bench.study_charts",
        "draw_figure": "disambig.bench.figures",
        "findings": "disambig.bench.conclusions",
        "make_report": "disambig.bench.report",
        "mean_and_std": "disambig.bench.crossval",
        "mean_and_std_text": "disambig.bench.crossval",
        "read_results": "disambig.bench.store",
        "run_study": "disambig.bench.runner",
        "save_figure": "disambig.bench.figure_style",
        "shuffled_folds": "disambig.bench.trial",
        "significance_table": "disambig.bench.tables",
        "to_csv": "disambig.bench.formats",
        "to_latex": "disambig.bench.formats",
        "to_markdown": "disambig.bench.formats",
        "win_table": "disambig.bench.tables",
        "write_report": "disambig.bench.report",
    },
)
