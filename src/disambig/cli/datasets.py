"""``disambig datasets``: what data there is, and what of it is on this machine."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from disambig._core.errors import DatasetNotFoundError
from disambig.cli.console import Terminal, make_table, plain, print_json, say, say_next
from disambig.cli.options import Json

if TYPE_CHECKING:
    from disambig.datasets.card import DatasetCard

_INCLUDED, _MISSING = "included", "missing"
# What a card says about rows that come together.
_GROUPS = {"runs": "rows come in groups: neighbours with equal sets"}


def datasets(
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Show titles, where the data was found, and how rows come together."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """List the named datasets, and which are on this machine.

    Example: disambig datasets
    """
    from disambig.datasets.catalogue import list_datasets  # keeps --help quick

    places = {card: _whereabouts(card) for card in list_datasets()}
    if json:
        print_json([{**asdict(card), "data": place} for card, place in places.items()])
        return
    if details:
        _print_details(places)
    else:
        _print_lines(places)
    missing = [card.name for card, place in places.items() if place == _MISSING]
    more = [] if details else [("see titles and folders", ["datasets", "--details"])]
    fetch = [("download one that is missing", ["fetch", missing[0]])] if missing else []
    if fetch or more:
        say_next(*fetch, *more)


def _print_lines(places: dict["DatasetCard", str]) -> None:
    table = make_table("dataset", "rows", "features", "classes", "labels per row", "data")
    for card, place in places.items():
        is_ambiguous = card.average_candidates > 1
        table.add_row(
            plain(card.name),
            f"{card.n_samples:,}",
            f"{card.n_features:,}",
            f"{card.n_classes:,}",
            f"{card.average_candidates:.2f}" if is_ambiguous else "-",
            place if place in (_INCLUDED, _MISSING) else "found",
        )
    Terminal().print(table)


def _print_details(places: dict["DatasetCard", str]) -> None:
    console = Terminal()
    for card, place in places.items():
        say(f"{card.name}: {card.title}", console)
        say(f"  {place}", console, wrap=False)
        if card.groups is not None:
            say(f"  {_GROUPS[card.groups]}", console)


def _whereabouts(card: "DatasetCard") -> str:
    from disambig.datasets.download import find_file  # keeps --help quick

    if card.is_embedded:
        return _INCLUDED
    try:
        return str(find_file(card).parent)
    except DatasetNotFoundError:
        return _MISSING
