"""A table in LaTeX, for a document that uses booktabs."""

from collections.abc import Iterable

from disambig.report.table import Table

__all__ = ["to_latex"]

_SIGNS = {
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
# Signs to a line, and rows to a page, up to which a size of type fits a page of text.
_SIZES = ((70, 45, r"\normalsize"), (95, 55, r"\footnotesize"), (120, 65, r"\scriptsize"))


def to_latex(table: Table) -> str:
    r"""Return a ``table`` environment; wide and long tables are set in smaller type."""
    rows = [
        _row(
            rf"\textbf{{{_escaped(cell)}}}" if (i, j) in table.emphasised else _escaped(cell)
            for j, cell in enumerate(row)
        )
        for i, row in enumerate(table.rows)
    ]
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
    # Braces, because a line break reads a bracket at the start of the next line as its own.
    return " & ".join(f"{{{cell}}}" if cell.startswith("[") else cell for cell in cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def _size(table: Table) -> str:
    lines = (table.header, *table.rows)
    widths = [max(len(line[j]) for line in lines) + 2 for j in range(len(table.header))]
    for width, height, size in _SIZES:
        if sum(widths) <= width and len(table.rows) <= height:
            return size
    return r"\tiny"
