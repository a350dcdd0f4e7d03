"""Every network method: the equations of its paper, the code that computes them, our reading.

The block ``{fidelity}`` of a page becomes a section for each, from its class, card and rule.
"""

import ast
import inspect
import re
import sys
from types import FunctionType
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from code_bodies import without_docstrings
from disambig.methods import NetworkClassifier, all_methods

_BLOCK = re.compile(r"^```\{fidelity\}\n.*?^```\n", re.M | re.S)
# A heading of numpydoc, and a sentence that says where parameters are described.
_SECTION = re.compile(r"^\w[\w ]*\n-+$", re.M)
_PARAMETERS = re.compile(
    r"(?:(?!\n\n)[^.])*\bdescribed\s+at\s+``NetworkClassifier``(?:(?!\n\n)[^.])*\."
)
# Of a rule, what computes nothing of an equation.
_BESIDE_THE_EQUATIONS = {"__init__", "start", "state", "measures", "warnings"}


def network_methods() -> list[type[NetworkClassifier]]:
    """Return them by year and name."""
    found = [method for method in all_methods().values() if issubclass(method, NetworkClassifier)]
    return sorted(found, key=lambda method: (method.card.year or 9999, method.card.name))


def page_text(text: str) -> str:
    """Return the text of a page with the sections in place of the block."""
    shown: dict[type, str] = {}
    sections = [_section(method, shown) for method in network_methods()]
    return _BLOCK.sub(lambda _: "\n".join(sections), text)


def _section(method: type[NetworkClassifier], shown: dict[type, str]) -> str:
    card = method.card
    published = ", ".join(str(part) for part in (card.paper, card.year) if part)
    parts = [
        f"## {method.__name__}\n",
        f"{card.title}, {{py:class}}`~disambig.methods.{method.__name__}`. {published}\n",
        "**Equations**\n",
        _as_rst(_description(method)),
        *_rule_parts(method, shown),
    ]
    if card.deviations:
        parts += ["**Departures**\n", *(f"- {text}" for text in card.deviations)]
    return "\n".join([*parts, ""])


def _rule_parts(method: type[NetworkClassifier], shown: dict[type, str]) -> list[str]:
    """Return what the rule of a method says of itself, and its code; once if several share it."""
    rule = type(method()._make_rule())
    if rule in shown:
        return [f"The rule is that of [{shown[rule]}](#{shown[rule].lower()}).\n"]
    shown[rule] = method.__name__
    file = inspect.getsourcefile(rule) or ""
    where = file.rpartition("/disambig/")[2]
    return [
        "**Reading**\n",
        _as_rst(_description(rule)),
        f"**Code**, in `{where}`\n",
        f"```python\n{code_of(rule)}\n```\n",
    ]


def _description(cls: type) -> str:
    """Return the docstring before its sections, without what it says of parameters."""
    text = inspect.cleandoc(cls.__doc__ or "")
    return _PARAMETERS.sub("", _SECTION.split(text)[0]).strip()


def _as_rst(text: str) -> str:
    return f"````{{eval-rst}}\n{text}\n````\n"


def code_of(rule: type) -> str:
    """Return what a rule computes, and the functions of our methods that it calls."""
    classes = [cls for cls in reversed(rule.__mro__) if _is_of_methods(cls)]
    codes = [_without_the_rest(without_docstrings(inspect.getsource(cls))) for cls in classes]
    functions: dict[str, str] = {}
    names = {n: value for cls in classes for n, value in vars(sys.modules[cls.__module__]).items()}
    waiting = list(codes)
    while waiting:
        for name in re.findall(r"\b\w+\b", waiting.pop(0)):
            value: Any = names.get(name)
            if isinstance(value, FunctionType) and _is_of_methods(value) and name not in functions:
                functions[name] = without_docstrings(inspect.getsource(value))
                waiting.append(functions[name])
                # What it calls need not be known where the rule is.
                names = vars(sys.modules[value.__module__]) | names
    return "\n\n\n".join(code.strip("\n") for code in (*functions.values(), *codes))


def _is_of_methods(value: type | FunctionType) -> bool:
    return ".methods." in value.__module__


def _without_the_rest(code: str) -> str:
    """Return the code of a class without methods that compute nothing of an equation."""
    (cls,) = ast.parse(code).body
    assert isinstance(cls, ast.ClassDef)
    gone: set[int] = set()
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name in _BESIDE_THE_EQUATIONS:
            assert node.end_lineno is not None
            gone |= set(range(node.lineno, node.end_lineno + 2))
    kept = [line for number, line in enumerate(code.splitlines(), 1) if number not in gone]
    return "\n".join(kept)


def _fill_the_page(_: Sphinx, document: str, source: list[str]) -> None:
    if document == "fidelity":
        source[0] = page_text(source[0])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Listen to the page being read, which is old whenever a method may have changed."""
    app.connect("source-read", _fill_the_page)
    app.connect("env-get-outdated", lambda *_: ["fidelity"])
    return {"parallel_read_safe": True, "parallel_write_safe": True}
