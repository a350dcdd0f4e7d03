"""``disambig methods``: what methods there are, and when to use each."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from disambig.cli.console import Terminal, plain, print_json, say, say_next, wrapped
from disambig.cli.options import Json
from disambig.tabular.defaults import DEFAULT_METHOD

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

# What the package is about.
_FIRST = ("auto", "ncpd_plus", "ncpd")


def methods(
    papers: Annotated[
        bool, typer.Option("--papers", help="Show titles, classes and papers instead.")
    ] = False,
    json: Json = False,
) -> None:
    """List the methods, and when to use each.

    Example: disambig methods

    Example, with what to import and what to cite: disambig methods --papers
    """
    from disambig.methods.registry import all_methods  # keeps --help quick

    found = all_methods()
    if json:
        print_json([asdict(method.card) for method in found.values()])
        return
    is_compared = {name: method.card.role == "method" for name, method in found.items()}
    first = [name for name in _FIRST if name in found]
    others = [name for name in found if is_compared[name] and name not in first]
    baselines = [name for name in found if not is_compared[name]]
    ordered = [found[name] for name in (*first, *others, *baselines)]
    if papers:
        _print_papers(ordered)
    else:
        _print_lines(ordered)


def _print_lines(ordered: list[type["PartialLabelClassifier"]]) -> None:
    console = Terminal()
    width = max(len(method.card.name) for method in ordered)
    say(f"{'METHOD':<{width}}  USE IT", console)
    for method in ordered:
        card = method.card
        text = card.when if card.role == "method" else f"as a baseline: {_lower(card.title)}"
        if card.name == DEFAULT_METHOD:
            text += " (default)"
        indent = " " * (width + 2)
        shown = wrapped(plain(text), console, first=f"{card.name:<{width}}  ", others=indent)
        console.print(shown, soft_wrap=True)
    say_next(
        ("try one", ["fit", "vehicles.csv", "--method", ordered[1].card.name, "--out", "model"]),
        ("see what to import and to cite", ["methods", "--papers"]),
    )


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


def _print_papers(ordered: list[type["PartialLabelClassifier"]]) -> None:
    console = Terminal()
    for method in ordered:
        card = method.card
        doi = f"https://doi.org/{card.doi}" if card.doi else None
        paper = ", ".join(str(part) for part in (card.paper, card.year) if part)
        say(f"{card.name}: {method.__name__}", console)
        for text in (card.title, paper, doi):
            if text:
                console.print(
                    wrapped(plain(text), console, first="  ", others="  "), soft_wrap=True
                )
