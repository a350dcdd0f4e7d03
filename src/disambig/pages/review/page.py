"""The page of a review."""

from disambig.pages.doubtful_rows import doubtful_data
from disambig.pages.settle import SETTLE_SCRIPTS, settle_section
from disambig.pages.shell import render_page
from disambig.workbench.defaults import DEFAULT_ROWS_SHOWN
from disambig.workbench.disambiguated import Disambiguated

__all__ = ["review_page"]


def review_page(
    rows: Disambiguated, *, title: str, saved_in: str, most_rows: int = DEFAULT_ROWS_SHOWN
) -> str:
    """Return the page, which talks to the server that it comes from.

    Parameters
    ----------
    rows : Disambiguated
        The rows of a cleaned table.
    title, saved_in : str
        What the page is called, and the file that decisions go to.
    most_rows : int, default=10,000
        Rows on the page, the most doubtful ones.
    """
    return render_page(
        title=title,
        lead="The most doubtful rows first: choose the label that is right.",
        sections=[settle_section(saved_in)],
        scripts=SETTLE_SCRIPTS,
        data={"doubtful": doubtful_data(rows, most=most_rows, saved_in=saved_in)},
        connects=True,
    )
