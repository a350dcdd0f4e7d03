"""A page for every public name of a package, written beside the page of the package.

The names are those of ``__all__``, so no list is kept by hand. A page of a class describes what the
class adds, and lists what it inherits from other public classes, with a link to their page.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from public_names import comment_on, home_of, public_packages, public_values

_MEMBERS = (FunctionType, property, cached_property, classmethod, staticmethod)


def _write_pages(app: Sphinx) -> None:
    """Write the pages, and remove those of names that are gone; leave the others untouched."""
    for package in public_packages():
        folder = Path(app.srcdir) / "api" / package.rpartition(".")[2]
        folder.mkdir(exist_ok=True)
        pages = {
            folder / f"{name}.rst": _page(package, name, value)
            for name, value in public_values(package).items()
            if home_of(name, value) == package
        }
        for old in set(folder.glob("*.rst")) - set(pages):
            old.unlink()
        for path, text in pages.items():
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def _page(package: str, name: str, value: Any) -> str:
    """Return the page of a name in reStructuredText."""
    parts = [name, "=" * len(name), "", f".. currentmodule:: {package}", ""]
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, Exception) else "class"
        bases = ["   :show-inheritance:"] if _public_bases(value)[1:] else []
        parts += [f".. auto{kind}:: {name}", *bases, "", *_own_members(value), ""]
        parts += _inherited_methods(value)
        for section in ("Parameters", "Attributes"):
            parts += _inherited_entries(value, section)
    elif inspect.isroutine(value):
        parts += [f".. autofunction:: {name}"]
    else:
        parts += [f".. data:: {name}", "", f"   {comment_on(package, name)}"]
    return "\n".join([*parts, ""])


def _own_members(cls: type) -> Iterator[str]:
    """Yield the members that a class describes; some are of a base class that is not public."""
    for name, home in _members(cls).items():
        if home is cls:
            value = inspect.getattr_static(cls, name)
            kind = "property" if isinstance(value, property | cached_property) else "method"
            yield f"   .. auto{kind}:: {cls.__name__}.{name}"


def _members(cls: type) -> dict[str, type]:
    """Return the public methods and properties of a class, each with the class that describes it.

    That is the one that defines it or, where this is not public, the most basic one that is.
    """
    found = {}
    for name in dict.fromkeys(name for base in cls.__mro__ for name in vars(base)):
        definer = _definer(cls, name)
        is_ours = definer.__module__.startswith("disambig.")
        if is_ours and not name.startswith("_") and isinstance(vars(definer)[name], _MEMBERS):
            heirs = [base for base in _public_bases(cls) if _definer(base, name) is definer]
            found[name] = heirs[-1]
    return found


def _definer(cls: type, name: str) -> type:
    return next((base for base in cls.__mro__ if name in vars(base)), object)


def _public_bases(cls: type) -> list[type]:
    """Return the public classes that a class inherits from, itself first."""
    public = {
        id(value) for package in public_packages() for value in public_values(package).values()
    }
    return [base for base in cls.__mro__ if base is cls or id(base) in public]


def _inherited_entries(cls: type, section: str) -> Iterator[str]:
    """Yield a list of the parameters or attributes that only a base class describes."""
    known = set(_described(cls, section))
    heading = f"Inherited {section.lower()}"
    for base in _public_bases(cls)[1:]:
        entries = {
            name: text
            for name, text in _described(base, section).items()
            if name not in known
            and (section != "Parameters" or name in inspect.signature(cls).parameters)
        }
        known.update(entries)
        if entries:
            if heading:
                yield from (heading, "-" * len(heading), "")
            heading = ""
            yield from (f"Described by {_link(base)}:", "")
            yield from (*entries.values(), "")


def _described(cls: type, section: str) -> dict[str, str]:
    """Return the entries of one section of a docstring, by name, as items of a list."""
    pattern = rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)"
    match = re.search(pattern, inspect.cleandoc(cls.__doc__ or ""), re.DOTALL | re.MULTILINE)
    found = {}
    for entry in re.split(r"\n(?=\w)", match[1].strip()) if match else []:
        head, _, text = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        found[name] = f"- **{name}** (*{kind}*) \N{EN DASH} {' '.join(text.split())}"
    return found


def _inherited_methods(cls: type) -> Iterator[str]:
    """Yield a table of the methods and properties that other classes describe."""
    inherited = {name: home for name, home in _members(cls).items() if home is not cls}
    if not inherited:
        return
    heading = "Inherited methods"
    yield from (heading, "-" * len(heading), "")
    yield from (".. list-table::", "   :class: names", "")
    for name, home in sorted(inherited.items()):
        first, *_ = (inspect.getdoc(getattr(cls, name)) or "").splitlines()
        yield f"   * - {_link(home, name)}"
        yield f"     - {first}"
    yield ""
    if hasattr(cls, "get_params"):
        yield from ("``get_params`` and ``set_params`` are those of scikit-learn.", "")


def _link(cls: type, member: str = "") -> str:
    path = f"{home_of(cls.__name__, cls)}.{cls.__name__}"
    return f":py:obj:`{member} <{path}.{member}>`" if member else f":py:obj:`~{path}`"


def _unlink_words(_: Sphinx, document: nodes.document) -> None:
    """Leave words in the type of a parameter alone: "of shape" is not ``CandidateLabels.shape``."""
    for reference in list(document.findall(pending_xref)):
        if reference["reftype"] == "class" and reference["reftarget"].islower():
            reference.replace_self(reference.children)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before any page is read."""
    app.connect("builder-inited", _write_pages)
    app.connect("doctree-read", _unlink_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
