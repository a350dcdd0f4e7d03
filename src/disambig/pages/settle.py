"""The part of a page on which doubtful rows are settled."""

from disambig.pages.shell import Section, render_template

__all__ = ["SETTLE_SCRIPTS", "settle_section"]

SETTLE_SCRIPTS = ("elements.js", "decisions.js", "row_list.js", "settle.js")


def settle_section(saved_in: str | None = None) -> Section:
    """Return it; the rows are the page's data ``doubtful``, as ``doubtful_data`` makes them.

    Parameters
    ----------
    saved_in : str, optional
        The file that decisions are written to; without it the page keeps them itself.
    """
    body = render_template("settle.html", served=saved_in is not None, saved_in=saved_in)
    return Section("settle", "Settle doubtful rows", body)
