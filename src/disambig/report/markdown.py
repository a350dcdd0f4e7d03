"""A table in Markdown."""

from collections.abc import Iterable

from disambig.report.table import Table

__all__ = ["as_markdown", "list_markdown", "to_markdown"]


def to_markdown(table: Table) -> str:
    """Return the table with its title as a heading and its notes as a list."""
    lines = [f"## {as_markdown(table.title)}", "", _line(map(as_markdown, table.header))]
    lines.append(_line(["---", *["---:"] * (len(table.header) - 1)]))
    for i, row in enumerate(table.rows):
        cells = [
            f"**{as_markdown(cell)}**" if (i, j) in table.emphasised else as_markdown(cell)
            for j, cell in enumerate(row)
        ]
        lines.append(_line(cells))
    if table.notes:
        lines += ["", list_markdown(table.notes).rstrip("\n")]
    return "\n".join(lines) + "\n"


def list_markdown(sentences: Iterable[str]) -> str:
    """Return a list, a line for every sentence."""
    return "".join(f"- {as_markdown(sentence)}\n" for sentence in sentences)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_markdown(text: str) -> str:
    """Return text on one line, with the signs escaped that Markdown would read as its own."""
    for sign in "\\|*_<[`":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
