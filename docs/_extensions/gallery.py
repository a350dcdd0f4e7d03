"""The gallery: its figures in our style, light and dark, and cards that lead to its examples.

conf.py names ``use_style`` and ``save_pairs`` to sphinx-gallery, by their names. The directive
``example-cards`` takes names of examples, one a line.
"""

import ast
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from dark_figures import dark_path, dark_svg
from disambig.bench.figure_style import use_figure_style


def use_style(_conf: Mapping[str, Any], _example: str) -> None:
    """Draw the figures of the next example in our style."""
    use_figure_style()


def svg_of(figure: Figure) -> str:
    """Return a figure as SVG on nothing, so that the page is its paper."""
    content = io.StringIO()
    figure.savefig(
        content, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
    )
    return content.getvalue()


def save_pairs(_block: Any, variables: Mapping[str, Any], conf: Mapping[str, Any]) -> str:
    """Save every open figure for light and for dark pages; return the reST that shows them."""
    shown = []
    for number, name in zip(plt.get_fignums(), variables["image_path_iterator"], strict=False):
        figure = plt.figure(number)
        path = Path(name).with_suffix(".svg")
        svg = svg_of(figure)
        path.write_text(svg, encoding="utf-8")
        dark_path(path).write_text(dark_svg(svg), encoding="utf-8")
        title = ", ".join(filter(None, (axes.get_title() for axes in figure.axes)))
        source = "/" + path.relative_to(conf["src_dir"]).as_posix()
        shown.append("\n".join(_pair(source, f":alt: {title}", ":class: sphx-glr-figure")))
    plt.close("all")
    return "\n".join(shown)


def _pair(source: str, *options: str) -> Iterable[str]:
    """Return the reST of a figure and its dark twin, in lines."""
    for path, scheme in ((source, "only-light"), (str(dark_path(Path(source))), "only-dark")):
        yield f".. image:: {path}"
        for option in options:
            is_class = option.startswith(":class:")
            yield f"   {option} {scheme}" if is_class else f"   {option}"
        yield ""


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
            options = (":alt:", f":target: {name}.html", ":class: sphx-glr-figure")
            yield from _pair(f"/{figure.as_posix()}", *options)
        yield from ("", f":doc:`{name}`", "", *first.splitlines(), "")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("example-cards", ExampleCards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
