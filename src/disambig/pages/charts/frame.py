"""What every chart has around it: title, drawing, how to read it, and its numbers as a table."""

from collections.abc import Sequence

from markupsafe import Markup

from disambig.pages.markup import element, fragment, note

__all__ = ["box", "drawing", "figure", "mark"]


def drawing(
    label: str, width: float, height: float, *children: str, own_size: bool = False
) -> Markup:
    """Return an SVG that scales with the page, or, with its own size, scrolls inside its frame.

    Its parts are hidden from screen readers, for which the numbers are there as a table.
    """
    attributes = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "width": width if own_size else None,
        "role": "group",
        "aria-roledescription": "chart",
        "aria-label": label,
        "tabindex": 0,
    }
    svg = element("svg", attributes, element("g", {"aria-hidden": "true"}, *children))
    return element("div", {"class": "scroll bare"}, svg) if own_size else svg


def box(left: float, top: float, right: float, bottom: float) -> dict[str, object]:
    """Return the attributes of a rectangle between these edges."""
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def mark(tag: str, tip: str, attributes: dict[str, object], kind: str) -> Markup:
    """Return a part of a drawing that has a tip; its kind is a class of the style sheet."""
    own = {"class": f"mark {kind}", "data-tip": tip}
    return element(tag, own | attributes)


def figure(
    title: str,
    drawn: Markup | None,
    *,
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    legend: str = "",
    is_wide: bool = False,
) -> Markup:
    """Return a chart: heading, drawing, legend, caption, and the numbers behind it.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    drawn : Markup or None
        The SVG; None where there is nothing to draw.
    header, rows : sequences of str
        The same data as a table.
    legend : Markup, optional
        Which line is which.
    is_wide : bool, default=False
        Whether it may be as wide as the page.
    """
    body = note("There is nothing to draw.") if drawn is None else fragment(drawn, legend)
    return element(
        "figure",
        {"class": "chart wide" if is_wide else "chart"},
        element("h3", None, title),
        body,
        element("figcaption", None, caption) if caption else "",
        _numbers(title, header, rows) if rows else "",
    )


def _numbers(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = element("tr", None, *(element("th", {"scope": "col"}, name) for name in header))
    lines = []
    for first, *others in rows:
        cells = (element("td", None, cell) for cell in others)
        lines.append(element("tr", None, element("th", {"scope": "row"}, first), *cells))
    table = element("table", None, element("thead", None, head), element("tbody", None, *lines))
    # A frame that scrolls must be reached by keyboard, and then needs a name.
    frame = {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": f"Numbers: {title}"}
    return element(
        "details", None, element("summary", None, "The numbers"), element("div", frame, table)
    )
