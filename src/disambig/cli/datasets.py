"""``disambig datasets``: what data there is, and what of it is at hand."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from disambig._core.errors import DatasetNotFoundError
from disambig.cli.console import print_json

if TYPE_CHECKING:
    from disambig.datasets.card import DatasetCard


def datasets(
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the named datasets and where their data is.

    Example: disambig datasets
    """
    from disambig.datasets.catalogue import list_datasets  # keeps --help quick

    if json:
        print_json([{**asdict(card), "data": _whereabouts(card)} for card in list_datasets()])
        return
    table = Table("name", "what it is", "rows x features", "classes", "candidates", "data")
    # Names and folders are there to be copied: never cut short.
    table.columns[0].no_wrap = True
    table.columns[-1].overflow = "fold"
    for column in table.columns[2:5]:
        column.justify = "right"
    for card in list_datasets():
        table.add_row(
            card.name,
            card.title,
            f"{card.n_samples} x {card.n_features}",
            str(card.n_classes),
            f"{card.average_candidates:.2f}",
            escape(_whereabouts(card)),
        )
    console = Console()
    console.print(table)
    console.print("What is missing comes by: disambig fetch NAME")


def _whereabouts(card: "DatasetCard") -> str:
    from disambig.datasets.download import find_file  # keeps --help quick

    if card.is_embedded:
        return "inside"
    try:
        return str(find_file(card).parent)
    except DatasetNotFoundError:
        return "missing"
