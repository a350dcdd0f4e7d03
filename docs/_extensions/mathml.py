"""Formulas as MathML, which browsers set by themselves: nothing is fetched, nothing runs."""

import re
from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

# The number that a paper gave to an equation.
_TAG = re.compile(r"\\tag\{(?P<number>[^}]*)\}")
# After an opening bracket or an equals sign a minus belongs to what follows.
_SIGN = re.compile(r"(&#x00028;</mo>|&#x0003D;</mo>)<mo>&#x02212;</mo>")
# A function whose argument has no brackets: "log p" must not read as a product of names.
_FUNCTION = re.compile(r"<mi>(log|exp)</mi>(?!<mo stretchy=\"false\">&#x00028;|<mrow><mo )")

# Commands that the converter does not know.
_UNKNOWN = {r"\arg\max": r"\mathrm{arg\,max}", r"\arg\min": r"\mathrm{arg\,min}"}


def _converted(text: str, display: str) -> str:
    for command, known in _UNKNOWN.items():
        text = text.replace(command, known)
    formula = convert(text, display=display)
    formula = _SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', formula)
    return _FUNCTION.sub(r'<mo lspace="0.167em" rspace="0.167em">\1</mo>', formula)


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_converted(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    text = node.astext()
    tag = _TAG.search(text)
    formula = _converted(_TAG.sub("", text).strip(), "block")
    number = f'<span class="number">({escape(tag["number"])})</span>' if tag else ""
    translator.body.append(f'<div class="equation">{formula}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
