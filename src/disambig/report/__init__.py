"""Tables, figures and findings, made from the records of a study. Nothing is fitted here.

Figures are imported on first use, so that tables do without matplotlib.
"""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names
from disambig.report.comparison import comparison_table
from disambig.report.contents import Report, make_report
from disambig.report.delimited import to_csv
from disambig.report.findings import findings
from disambig.report.latex import to_latex
from disambig.report.markdown import to_markdown
from disambig.report.significance import significance_table
from disambig.report.table import Table
from disambig.report.wins import win_table
from disambig.report.write import write_report

if TYPE_CHECKING:
    from disambig.report.figures.critical_difference import draw_critical_difference
    from disambig.report.figures.curves import draw_curves
    from disambig.report.figures.dots import draw_dots
    from disambig.report.figures.epochs import draw_epochs
    from disambig.report.figures.save import save_figure

__all__ = [
    "Report",
    "Table",
    "comparison_table",
    "draw_critical_difference",
    "draw_curves",
    "draw_dots",
    "draw_epochs",
    "findings",
    "make_report",
    "save_figure",
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
        "draw_critical_difference": "disambig.report.figures.critical_difference",
        "draw_curves": "disambig.report.figures.curves",
        "draw_dots": "disambig.report.figures.dots",
        "draw_epochs": "disambig.report.figures.epochs",
        "save_figure": "disambig.report.figures.save",
    },
)
