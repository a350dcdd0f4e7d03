"""What a package exports, in a table: where each name is described, and its first line."""

import importlib
import inspect

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata


class PublicNames(SphinxDirective):
    """The names of one package that others below it describe: ``{public-names} disambig``."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_reread()  # names change without the page
        package = importlib.import_module(self.arguments[0])
        rows = ["| name | what it is |", "| --- | --- |"]
        for name in sorted(package.__all__, key=str.lower):
            value = getattr(package, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                home = ".".join(value.__module__.split(".")[:2])
                home = package.__name__ if "._" in home else home
                first, *_ = (inspect.getdoc(value) or "").splitlines()
                first = first.replace("``", "`")
                rows.append(f"| {{py:obj}}`{name} <{home}.{name}>` | {first} |")
        return self.parse_text_to_nodes("\n".join(rows))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
