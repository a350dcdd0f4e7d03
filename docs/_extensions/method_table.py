"""Which method to take when, by what was measured; and papers and departures, from the cards."""

import re
from typing import get_args

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from disambig.datasets.card import dataset_title
from disambig.methods import PartialLabelClassifier, all_methods
from disambig.methods.base import Role
from method_figures import DATASETS, Figures, measured_figures

Method = type[PartialLabelClassifier]
_FIRST = ("ncpd_plus", "ncpd")
# Parameters in the plain text of a card, such as scaling='none'.
_CODE = re.compile(r"\b\w+=(?:'[^']*'|\"[^\"]*\"|[\w.]+)")


def _in_order(figures: dict[str, Figures]) -> list[Method]:
    """Return ours, then methods before baselines, the most accurate first."""
    roles = get_args(Role)

    def place(method: Method) -> tuple[bool, int, float]:
        name = method.card.name
        return name not in _FIRST, roles.index(method.card.role), -figures[name].mean

    return sorted(all_methods().values(), key=place)


def _guide_row(method: Method, figures: Figures) -> str:
    card = method.card
    accuracy = [figures.accuracy.get(data) for data in DATASETS]
    cells = [
        f"{{py:class}}`{card.name} <disambig.methods.{method.__name__}>`",
        card.when,
        *("" if value is None else f"{value:.3f}" for value in accuracy),
        "" if figures.seconds is None else f"{figures.seconds:.0f}",
        "" if figures.gigabytes is None else f"{figures.gigabytes:.1f}",
        "yes" if method.accepts_sparse else "no",
        "no" if card.reads_true_labels else "yes",  # true labels have none
    ]
    return f"| {' | '.join(cells)} |"


class MethodGuide(SphinxDirective):
    """When to take which method, a row each; what is written inside is for plain readers."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_reread()  # cards and results change without the page
        figures = measured_figures()
        header = [
            f"| method | use it | {' | '.join(map(dataset_title, DATASETS))} "
            "| seconds | GB | sparse | weights |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |",
        ]
        rows = [_guide_row(method, figures[method.card.name]) for method in _in_order(figures)]
        table = self.parse_text_to_nodes("\n".join(header + rows))
        return [nodes.container("", *table, classes=["method-guide"])]


def _published(method: Method) -> str:
    card = method.card
    text = ", ".join(str(part) for part in (card.paper, card.year) if part)
    return f"{text}, [doi:{card.doi}](https://doi.org/{card.doi})" if card.doi else text


def _row(method: Method) -> str:
    card = method.card
    idea = card.title if card.role == "method" else f"{card.title} (baseline)"
    departures = f"[{len(card.deviations)}](#departures-{card.name})" if card.deviations else "0"
    link = f"{{py:class}}`~disambig.methods.{method.__name__}`"
    cells = [f"`{card.name}`<br>{link}", idea, _published(method), departures]
    return f"| {' | '.join(cells)} |"


class MethodTable(SphinxDirective):
    """Idea and paper of every method; what is written inside is for plain readers."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_reread()
        header = [
            "| name and class | idea | published | departures |",
            "| --- | --- | --- | --- |",
        ]
        text = "\n".join(header + [_row(method) for method in _in_order(measured_figures())])
        return [nodes.container("", *self.parse_text_to_nodes(text), classes=["method-table"])]


def _with_code(text: str) -> str:
    return _CODE.sub(r"`\g<0>`", text)


class MethodDepartures(SphinxDirective):
    """Every way in which a method departs from its paper."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a list for every method that does."""
        self.env.note_reread()
        parts = []
        for method in _in_order(measured_figures()):
            card = method.card
            if card.deviations:
                items = "\n".join(f"- {_with_code(text)}" for text in card.deviations)
                parts.append(f"(departures-{card.name})=\n**{method.__name__}**\n\n{items}\n")
        return self.parse_text_to_nodes("\n".join(parts))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the three directives."""
    app.add_directive("method-guide", MethodGuide)
    app.add_directive("method-table", MethodTable)
    app.add_directive("method-departures", MethodDepartures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
