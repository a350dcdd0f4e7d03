"""A table of results as Markdown, LaTeX or CSV."""

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Cells of plain text; the marks are •, ◦ and ±.

    Attributes
    ----------
    title : str
        One line.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        As wide as the header.
    notes : tuple of str
        What a reader has to know, a sentence or two each.
    emphasised : frozenset of (int, int)
        Row and column of the cells that stand out.
    n_summary_rows : int
        So many rows at the end are set apart.

    See Also
    --------
    to_markdown : The table in Markdown.
    to_latex : In LaTeX.
    to_csv : As comma-separated values.

    Examples
    --------
    >>> from disambig.bench import Table, to_csv
    >>> table = Table("Accuracy", ("data", "SURE"), (("glass", "0.71"),))
    >>> table.header
    ('data', 'SURE')
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    emphasised: frozenset[tuple[int, int]] = frozenset()
    n_summary_rows: int = 0


def _cells(table: Table, escape: Callable[[str], str], emphasised: str) -> list[list[str]]:
    """Return the cells of all rows, escaped; those that stand out with this around them."""
    return [
        [
            emphasised.format(escape(cell)) if (i, j) in table.emphasised else escape(cell)
            for j, cell in enumerate(row)
        ]
        for i, row in enumerate(table.rows)
    ]


def to_markdown(table: Table) -> str:
    """Return the table with its title as a heading and its notes as a list.

    Parameters
    ----------
    table : Table
        What to write.

    See Also
    --------
    to_latex : The same in LaTeX.
    to_csv : As comma-separated values.

    Examples
    --------
    >>> from disambig.bench import Table, to_markdown
    >>> table = Table("Accuracy", ("data", "SURE"), (("glass", "0.71"),))
    >>> to_markdown(table).splitlines()
    ['## Accuracy', '', '| data | SURE |', '| --- | ---: |', '| glass | 0.71 |']
    """
    lines = [f"## {as_markdown(table.title)}", "", _line(map(as_markdown, table.header))]
    lines.append(_line(["---", *["---:"] * (len(table.header) - 1)]))
    lines += map(_line, _cells(table, as_markdown, "**{}**"))
    if table.notes:
        lines += ["", list_markdown(table.notes).rstrip("\n")]
    return "\n".join(lines) + "\n"


def list_markdown(sentences: Iterable[str]) -> str:
    """Return a list, a line for every sentence."""
    return "".join(f"- {as_markdown(sentence)}\n" for sentence in sentences)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_markdown(text: str) -> str:
    """Return text on one line, with the characters escaped that mean something in Markdown."""
    for character in "\\|*_<[`":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "±": r"$\pm$",
    "•": r"$\bullet$",
    "◦": r"$\circ$",
    "\n": " ",
}
# Characters in a line, and rows, up to which a size of type fits a page.
_SIZES = ((70, 45, r"\normalsize"), (95, 55, r"\footnotesize"), (120, 65, r"\scriptsize"))


def to_latex(table: Table) -> str:
    r"""Return a ``table`` environment; wide and long tables are set in smaller type.

    Parameters
    ----------
    table : Table
        What to write.

    See Also
    --------
    to_markdown : The same in Markdown.
    to_csv : As comma-separated values.

    Examples
    --------
    >>> from disambig.bench import Table, to_latex
    >>> text = to_latex(Table("Accuracy", ("data", "SURE"), (("glass", "0.71"),)))
    >>> print(text.splitlines()[0])
    \begin{table}[htbp]
    """
    rows = [_row(cells) for cells in _cells(table, _escaped, r"\textbf{{{}}}")]
    split = len(rows) - table.n_summary_rows
    summary = [r"\midrule", *rows[split:]] if 0 < split < len(rows) else rows[split:]
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        _size(table),
        rf"\begin{{tabular}}{{l{'r' * (len(table.header) - 1)}}}",
        r"\toprule",
        _row(map(_escaped, table.header)),
        r"\midrule",
        *rows[:split],
        *summary,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip {{\footnotesize {_escaped(note)}\par}}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    # Braces, because LaTeX takes a bracket after a line break for its argument.
    return " & ".join(f"{{{cell}}}" if cell.startswith("[") else cell for cell in cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _size(table: Table) -> str:
    lines = (table.header, *table.rows)
    widths = [max(len(line[j]) for line in lines) + 2 for j in range(len(table.header))]
    for width, height, size in _SIZES:
        if sum(widths) <= width and len(table.rows) <= height:
            return size
    return r"\tiny"


def to_csv(table: Table, *, excel_safe: bool = False) -> str:
    """Return header and rows; cells that stand out end in an asterisk.

    Title and notes are left out, so that every line is a row and the file can be read back.

    Parameters
    ----------
    table : Table
        What to write.
    excel_safe : bool, default=False
        Whether texts are kept from being formulas in a spreadsheet.

    See Also
    --------
    to_markdown : The same in Markdown.
    to_latex : In LaTeX.

    Examples
    --------
    >>> from disambig.bench import Table, to_csv
    >>> to_csv(Table("Accuracy", ("data", "SURE"), (("glass", "0.71"),))).splitlines()
    ['data,SURE', 'glass,0.71']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows: Iterable[Iterable[str]] = [table.header, *_cells(table, str, "{} *")]
    if excel_safe:
        from disambig.tabular.files.spreadsheet import harmless  # pandas comes with it

        rows = [map(harmless, row) for row in rows]
    writer.writerows(rows)
    return text.getvalue()
