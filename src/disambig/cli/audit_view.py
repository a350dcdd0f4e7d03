"""An audit of a table in a terminal, on about one screen."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from disambig._core.messages import printable
from disambig.tabular.audit.report_text import (
    HEADINGS,
    contents_sentence,
    label_lines,
    pair_lines,
    reading_sentences,
    size_lines,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from disambig.tabular.audit.table_audit import TableAudit

__all__ = ["print_audit"]

_INDENT = (0, 0, 0, 2)


def print_audit(audit: "TableAudit", console: Console) -> None:
    """Print an audit. Texts out of the file are shown as they are, never obeyed."""
    console.print(Text(contents_sentence(audit)))
    for sentence in reading_sentences(audit):
        console.print(Text(sentence))
    _print_sizes(audit, console)
    _print_labels(audit, console)
    pairs = pair_lines(audit.sets)
    if pairs:
        _print_section(console, "pairs", *map(Text, pairs))
    _print_findings(audit, console)
    _print_section(console, "cost", Text(str(audit.information)))


def _print_section(console: Console, name: str, *contents: "RenderableType") -> None:
    console.print()
    console.print(Text(HEADINGS[name], style="bold"))
    for content in contents:
        console.print(Padding(content, _INDENT, expand=False))


def _print_sizes(audit: "TableAudit", console: Console) -> None:
    grid = Table.grid(padding=(0, 2))
    for justify in ("right", "right", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    for line in size_lines(audit.sets):
        grid.add_row(
            Text(line.size), Text(f"{line.rows:,}"), Text(line.share), Text(line.bar, style="cyan")
        )
    _print_section(console, "sizes", grid)


def _print_labels(audit: "TableAudit", console: Console) -> None:
    lines, more = label_lines(audit.sets)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for _ in ("possible", "only"):
        grid.add_column(justify="right", no_wrap=True)
    grid.add_row(*(Text(name, style="dim") for name in ("label", "possible in", "the only one in")))
    for line in lines:
        grid.add_row(Text(line.label), Text(f"{line.candidate_in:,}"), Text(f"{line.alone_in:,}"))
    _print_section(console, "labels", grid, *([Text(more)] if more else []))


def _print_findings(audit: "TableAudit", console: Console) -> None:
    if not audit.findings:
        _print_section(console, "findings", Text("Nothing."))
        return
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for number, finding in enumerate(audit.findings, start=1):
        text = Text(printable(finding.message))
        for part in filter(None, (finding.where, finding.advice)):
            text.append(f" {printable(part)}", style="" if part == finding.where else "italic")
        grid.add_row(Text(f"{number}."), text)
    _print_section(console, "findings", grid)
