"""``disambig methods``: what methods there are."""

from rich.console import Console
from rich.table import Table

__all__ = ["methods"]


def methods() -> None:
    """List the methods by the name that other commands take.

    Example: disambig methods
    """
    from disambig.methods.catalogue import all_methods  # keeps --help quick

    table = Table("name", "class", "what it does", "paper")
    for column in table.columns[:2]:
        column.no_wrap = True
    for name, method in all_methods().items():
        card = method.card
        paper = f"{card.paper}, {card.year}" if card.paper else "-"
        table.add_row(name, method.__name__, card.title, paper)
    Console().print(table)
