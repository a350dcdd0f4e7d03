"""The gallery: its figures in our style, and cards that lead to its examples.

conf.py names ``use_style`` and ``save_figures`` to sphinx-gallery, by their names. The directive
``example-cards`` takes names of examples, one a line.
"""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from disambig.bench.figure_style import save_figure_as, use_figure_style


def use_style(_conf: Mapping[str, Any], _example: str) -> None:
    """Draw the figures of the next example in our style."""
    use_figure_style()


def save_figures(_block: Any, variables: Mapping[str, Any], conf: Mapping[str, Any]) -> str:
    """Save every open figure as an SVG that follows dark mode; return the reST that shows them."""
    shown = []
    for number, name in zip(plt.get_fignums(), variables["image_path_iterator"], strict=False):
        figure = plt.figure(number)
        path = Path(name).with_suffix(".svg")
        save_figure_as(figure, path)
        title = ", ".join(filter(None, (axes.get_title() for axes in figure.axes)))
        shown += _image(path.relative_to(conf["src_dir"]), f":alt: {title}")
    plt.close("all")
    return "\n".join(shown)


def _image(path: Path, *options: str) -> list[str]:
    """Return the reST of a figure, in lines."""
    lines = [*options, ":class: sphx-glr-figure"]
    return [f".. image:: /{path.as_posix()}", *(f"   {line}" for line in lines), ""]


class ExampleCards(SphinxDirective):
    """Show the figure, the title and the first paragraph of examples, and link to them."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a card for every example, and an entry in the table of contents."""
        names = [line.strip() for line in self.content if line.strip()]
        lines = [".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
        for name in names:
            lines += [".. container:: sphx-glr-card", ""]
            lines += [f"   {line}" for line in self._card(name)]
        return self.parse_text_to_nodes("\n".join(lines))

    def _card(self, name: str) -> Iterable[str]:
        conf = self.config.sphinx_gallery_conf
        example = Path(self.env.srcdir, conf["examples_dirs"], f"{name}.py")
        self.env.note_dependency(str(example))
        description = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
        _, first, *_ = description.split("\n\n")
        figure = Path(conf["gallery_dirs"], "images", f"sphx_glr_{name}_001.svg")
        # Without it where the gallery is not run.
        if Path(self.env.srcdir, figure).exists():
            yield from _image(figure, ":alt:", f":target: {name}.html")
        yield from ("", f":doc:`{name}`", "", *first.splitlines(), "")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("example-cards", ExampleCards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
