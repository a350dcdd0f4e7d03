"""``disambig methods``: what methods there are."""

from dataclasses import asdict

from rich.table import Table

from disambig.cli.console import Terminal, plain, print_json
from disambig.cli.options import Json


def methods(json: Json = False) -> None:
    """List the methods by the name that other commands take.

    Example: disambig methods
    """
    from disambig.methods.registry import all_methods  # keeps --help quick

    if json:
        print_json([asdict(method.card) for method in all_methods().values()])
        return
    # One below the other: three columns of text do not fit on 80 characters.
    table = Table("name", "what it does, its class, its paper", show_lines=True)
    table.columns[0].no_wrap = True
    for name, method in all_methods().items():
        card = method.card
        lines = [card.title, method.__name__]
        if card.paper:
            lines.append(", ".join(str(part) for part in (card.paper, card.year) if part))
        table.add_row(plain(name), plain("\n".join(lines)))
    Terminal().print(table)
