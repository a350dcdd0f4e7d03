"""What is looked at in a browser: reports in one file, and the page to settle doubtful rows."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.web.study_report import study_page
    from disambig.web.table_report import table_page

__all__ = ["study_page", "table_page"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "study_page": "disambig.web.study_report",
        "table_page": "disambig.web.table_report",
    },
)
