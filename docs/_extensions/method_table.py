"""The table of all methods, and where they depart from their papers, made from their cards."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from disambig.methods import PartialLabelClassifier, all_methods

Method = type[PartialLabelClassifier]


def _in_order() -> list[Method]:
    """Return methods before baselines, by name."""
    roles = ("method", "candidate_baseline", "true_label_baseline")
    return sorted(all_methods().values(), key=lambda method: roles.index(method.card.role))


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
    """Every method of the catalogue, a row each; what is written inside is for plain readers."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_reread()  # cards change without the page
        header = [
            "| name and class | idea | published | departures |",
            "| --- | --- | --- | --- |",
        ]
        text = "\n".join(header + [_row(method) for method in _in_order()])
        return [nodes.container("", *self.parse_text_to_nodes(text), classes=["method-table"])]


class MethodDepartures(SphinxDirective):
    """Every way in which a method departs from its paper."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a list for every method that does."""
        self.env.note_reread()
        parts = []
        for method in _in_order():
            card = method.card
            if card.deviations:
                items = "\n".join(f"- {deviation}" for deviation in card.deviations)
                parts.append(f"(departures-{card.name})=\n**{method.__name__}**\n\n{items}\n")
        return self.parse_text_to_nodes("\n".join(parts))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the two directives."""
    app.add_directive("method-table", MethodTable)
    app.add_directive("method-departures", MethodDepartures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
