"""What a package exports, in tables: every name with a link to its page, and its first line."""

import importlib
import inspect
import sys
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

import disambig

# The headings of the tables, in their order.
_GROUPS = (
    "Methods that train networks",
    "Methods without networks",
    "Baselines",
    "Classes",
    "Functions",
    "Data",
)


@cache
def public_packages() -> list[str]:
    """Return the names of the public packages, ``disambig`` itself last."""
    names = [name for name in disambig.__all__ if inspect.ismodule(getattr(disambig, name))]
    return [*(f"disambig.{name}" for name in names), "disambig"]


@cache
def public_values(package: str) -> dict[str, Any]:
    """Return what a package exports, by name, without packages and its version."""
    module = importlib.import_module(package)
    found = {name: getattr(module, name) for name in sorted(module.__all__, key=str.lower)}
    return {
        name: value
        for name, value in found.items()
        if not (name.startswith("_") or inspect.ismodule(value))
    }


def home_of(name: str, value: Any) -> str:
    """Return the package that has the page of a name: ``disambig`` repeats those of others."""
    return next(one for one in public_packages() if public_values(one).get(name) is value)


def _group(value: Any) -> str:
    if not inspect.isclass(value):
        return "Functions" if inspect.isroutine(value) else "Data"
    card = getattr(value, "card", None)
    if card is None:
        return "Classes"
    if card.role != "method":
        return "Baselines"
    is_network = issubclass(value, disambig.NetworkClassifier)
    return "Methods that train networks" if is_network else "Methods without networks"


def _row(name: str, value: Any) -> str:
    home = home_of(name, value)
    text = (inspect.getdoc(value) or "") if callable(value) else comment_on(home, name)
    first = text.partition("\n")[0].replace("``", "`")
    return f"* - {{py:obj}}`{name} <{home}.{name}>`\n  - {first}"


def comment_on(package: str, name: str) -> str:
    """Return the comment that begins with "#:" above a value, in the module that has it.

    Autodoc would look for it in the package, which only passes the name on.
    """
    modules = [module for module in sys.modules if module.startswith(f"{package}.")]
    found = (ModuleAnalyzer.for_module(module).find_attr_docs() for module in modules)
    return " ".join(next(comments["", name] for comments in found if ("", name) in comments))


class PublicNames(SphinxDirective):
    """The names of one package, by kind: ``{public-names} disambig``."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a heading and a table for every kind of names."""
        self.env.note_reread()  # names change without the page
        lines = []
        for group in _GROUPS:
            values = public_values(self.arguments[0]).items()
            rows = [_row(name, value) for name, value in values if _group(value) == group]
            if rows:
                table = ["```{list-table}", ":class: names", "", *rows, "```"]
                lines += [f"## {group}", "", *table, ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
