"""Code from the source without its docstrings, where the text beside it says the same.

``{literalinclude}`` takes an option ``:body-only:``.
"""

import ast
import textwrap
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude
from sphinx.util.typing import ExtensionMetadata

_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def without_docstrings(code: str) -> str:
    """Return code without the docstrings in it, and without the empty line that follows one."""
    lines = code.splitlines()
    gone: set[int] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(code))):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) and len(node.body) > 1:
            end = node.body[0].end_lineno or 0
            is_followed_by_gap = end < len(lines) and not lines[end].strip()
            gone |= set(range(node.body[0].lineno, end + 1 + is_followed_by_gap))
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in gone)


class CodeBody(LiteralInclude):
    """Like ``literalinclude``, with one more option."""

    option_spec: ClassVar = {**LiteralInclude.option_spec, "body-only": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the block."""
        found = super().run()
        if "body-only" in self.options:
            for block in (part for node in found for part in node.findall(nodes.literal_block)):
                code = without_docstrings(block.astext())
                block.rawsource = code
                block[:] = [nodes.Text(code)]
        return found


def setup(app: Sphinx) -> ExtensionMetadata:
    """Replace the directive."""
    app.add_directive("literalinclude", CodeBody, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
