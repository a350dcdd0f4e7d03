"""HTML and SVG elements, in which every text is escaped."""

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

__all__ = ["details_list", "element", "fragment", "note"]

# Elements of HTML that have no end.
_WITHOUT_CONTENT = frozenset({"br", "hr", "input", "meta"})


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: str) -> Markup:
    """Return an element; texts among attributes and children are escaped, markup is kept.

    Parameters
    ----------
    tag : str
        Its name.
    attributes : mapping of str to object, optional
        Those that are None or False are left out, those that are True have no value.
    *children : str
        Texts, or markup that this function made.
    """
    parts = [Markup("<{}").format(tag)]
    for name, value in (attributes or {}).items():
        if value is True:
            parts.append(Markup(" {}").format(name))
        elif value is not None and value is not False:
            parts.append(Markup(' {}="{}"').format(name, _text(value)))
    parts.append(Markup(">"))
    if tag not in _WITHOUT_CONTENT:
        parts += [escape(child) for child in children]
        parts.append(Markup("</{}>").format(tag))
    return fragment(*parts)


def fragment(*children: str) -> Markup:
    """Return texts and markup one after the other; texts are escaped."""
    return Markup("").join(children)


def details_list(details: Iterable[tuple[str, str]]) -> Markup:
    """Return names and what is to be said of each."""
    parts = (
        fragment(element("dt", None, name), element("dd", None, said)) for name, said in details
    )
    return element("dl", {"class": "details"}, *parts)


def note(words: str) -> Markup:
    """Return a remark, in small type."""
    return element("p", {"class": "note"}, words)


def _text(value: object) -> str:
    # Coordinates need no more digits than a screen has pixels.
    return f"{value:.6g}" if isinstance(value, float) else str(value)
