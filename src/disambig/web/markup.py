"""HTML elements and tables in which every string is escaped."""

import re
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup, escape

from disambig.bench.formats import Table
from disambig.bench.wording import MISSING

# HTML elements without an end tag.
_VOID = frozenset({"br", "hr", "input", "meta"})
# Longer tables can be filtered, and the longest scroll below their header.
_MOST_WITHOUT_FILTER = 8
_MOST_AT_FULL_HEIGHT = 15
# Longer cells are prose, which may go over several lines.
_PROSE = 40
_NUMBER = re.compile(r"(?:[<≤]\s*)?[-+]?\d")


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: str) -> Markup:
    """Return an element; strings among attributes and children are escaped, markup is kept.

    None or False leaves an attribute out, True writes it without a value.
    """
    parts = [Markup("<{}").format(tag)]
    for name, value in (attributes or {}).items():
        if value is True:
            parts.append(Markup(" {}").format(name))
        elif value is not None and value is not False:
            # Coordinates need no more digits than that.
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            parts.append(Markup(' {}="{}"').format(name, text))
    parts.append(Markup(">"))
    if tag not in _VOID:
        parts += [escape(child) for child in children]
        parts.append(Markup("</{}>").format(tag))
    return fragment(*parts)


def fragment(*children: str) -> Markup:
    """Return strings and markup one after the other; strings are escaped."""
    return Markup("").join(children)


def details_list(details: Iterable[tuple[str, str]]) -> Markup:
    """Return names and their values as a list."""
    parts = (
        fragment(element("dt", None, name), element("dd", None, value)) for name, value in details
    )
    return element("dl", {"class": "details"}, *parts)


def note(remark: str) -> Markup:
    """Return a remark, in small type."""
    return element("p", {"class": "note"}, remark)


def table_html(table: Table, *, name: str) -> Markup:
    """Return the table with its title as a heading and its notes as a list.

    A row without a name belongs to the one above; then rows keep their order. The name is the id of
    the element, unique on a page: letters, digits, ``_ . -``.
    """
    body = table.rows[: len(table.rows) - table.n_summary_rows]
    can_move = all(row[0] for row in body)
    frame = {
        "class": "scroll tall" if len(table.rows) > _MOST_AT_FULL_HEIGHT else "scroll",
        # What scrolls must be reached by keyboard, and then needs a name.
        "tabindex": 0,
        "role": "region",
        "aria-labelledby": f"{name}-title",
    }
    named = frozenset(
        j for j in range(len(table.header)) if not is_numeric([row[j] for row in body])
    )
    rows = (
        _row(cells, i, table.emphasised, named, is_summary=i >= len(body))
        for i, cells in enumerate(table.rows)
    )
    head = element("thead", None, _header(table.header, body, can_move=can_move))
    whole = element("table", None, head, element("tbody", None, *rows))
    notes = [element("li", None, text) for text in table.notes]
    return element(
        "div",
        {"class": "data-table", "id": name},
        element("h3", {"id": f"{name}-title"}, table.title),
        _filter(len(body)) if can_move and len(body) > _MOST_WITHOUT_FILTER else "",
        element("div", frame, whole),
        element("ul", {"class": "note"}, *notes) if notes else "",
    )


def _header(header: Sequence[str], body: Sequence[Sequence[str]], *, can_move: bool) -> Markup:
    cells = []
    for j, title in enumerate(header):
        column = [row[j] for row in body]
        if can_move and title and len(set(column)) > 1:
            kind = {"scope": "col", "data-kind": "number" if is_numeric(column) else "text"}
            cells.append(element("th", kind, element("button", {"type": "button"}, title)))
        else:
            cells.append(element("th", {"scope": "col"}, title))
    return element("tr", None, *cells)


def _row(
    cells: Sequence[str],
    number: int,
    emphasised: frozenset[tuple[int, int]],
    named: frozenset[int],
    *,
    is_summary: bool,
) -> Markup:
    """Return a row; ``named`` are the columns of words, which begin on the left."""
    parts = []
    for j, cell in enumerate(cells):
        shown = element("strong", None, cell) if (number, j) in emphasised else cell
        if j == 0:
            parts.append(element("th", {"scope": "row"}, shown))
        else:
            kind = "words" if len(cell) > _PROSE else "name" if j in named else None
            parts.append(element("td", {"class": kind}, shown))
    return element("tr", {"class": "summary" if is_summary else None}, *parts)


def _filter(n_rows: int) -> Markup:
    control = element("input", {"type": "search", "autocomplete": "off", "spellcheck": "false"})
    # Hidden until the script that filters has run.
    return element(
        "div",
        {"class": "controls", "hidden": True},
        element("label", None, "Filter", " ", control),
        element("p", {"class": "count", "aria-live": "polite"}, f"{n_rows} rows"),
    )


def is_numeric(column: Sequence[str]) -> bool:
    """Tell whether all cells with content begin with a number."""
    return all(_NUMBER.match(cell) for cell in column if cell not in ("", MISSING))
