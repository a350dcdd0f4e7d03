"""``disambig datasets``: what data there is, and what of it is at hand."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from disambig._core.errors import DatasetNotFoundError
from disambig.cli.console import Terminal, plain, print_json, say
from disambig.cli.options import Json

if TYPE_CHECKING:
    from disambig.datasets.card import DatasetCard


def datasets(json: Json = False) -> None:
    """List the named datasets and where their data is.

    Example: disambig datasets
    """
    from disambig.datasets.catalogue import list_datasets  # keeps --help quick

    if json:
        print_json([{**asdict(card), "data": _whereabouts(card)} for card in list_datasets()])
        return
    # One below the other: folders are there to be copied, and 80 characters are soon full.
    table = Table("name", "what it is, its size, where its data is", show_lines=True)
    table.columns[0].no_wrap = True
    table.columns[1].overflow = "fold"
    for card in list_datasets():
        size = f"{card.n_samples} rows, {card.n_features} features, {card.n_classes} classes"
        candidates = f"{card.average_candidates:.2f} candidates a row"
        lines = [card.title, f"{size}, {candidates}", f"data: {_whereabouts(card)}"]
        table.add_row(plain(card.name), plain("\n".join(lines)))
    console = Terminal()
    console.print(table)
    say("Fetch what is missing: disambig fetch NAME", console)


def _whereabouts(card: "DatasetCard") -> str:
    from disambig.datasets.download import find_file  # keeps --help quick

    if card.is_embedded:
        return "included"
    try:
        return str(find_file(card).parent)
    except DatasetNotFoundError:
        return "missing"
