"""A table in Markdown."""

from collections.abc import Iterable

from disambig.report.table import Table

__all__ = ["to_markdown"]


def to_markdown(table: Table) -> str:
    """Return the table with its title as a heading and its notes as a list."""
    lines = [f"## {table.title}", "", _line(map(_escaped, table.header))]
    lines.append(_line(["---", *["---:"] * (len(table.header) - 1)]))
    for i, row in enumerate(table.rows):
        cells = [
            f"**{_escaped(cell)}**" if (i, j) in table.emphasised else _escaped(cell)
            for j, cell in enumerate(row)
        ]
        lines.append(_line(cells))
    if table.notes:
        lines += ["", *(f"- {_escaped(note)}" for note in table.notes)]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Keep signs that Markdown would read as its own."""
    for sign in "\\|*_<`":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")
