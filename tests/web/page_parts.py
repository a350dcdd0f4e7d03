"""What tests of pages ask of markup: it is parsed, never searched by eye."""

from html.parser import HTMLParser
from xml.etree import ElementTree

HOSTILE = "<script>alert(1)</script>\"'&<b onclick=x>"
_EMPTY = frozenset({"br", "hr", "input", "meta", "link"})
# Through these a page asks for something or runs something.
_ASKING = {"src", "srcset", "action", "formaction", "data", "poster", "background", "style"}
_FOREIGN = {"iframe", "object", "embed", "base", "img", "form", "b"}  # the last is of HOSTILE


class _Tree(HTMLParser):
    """Builds a tree as a browser would, and refuses what a browser would have to repair."""

    def __init__(self):
        super().__init__()
        self.builder, self.open = ElementTree.TreeBuilder(), []

    def handle_starttag(self, tag, attributes):
        self.builder.start(tag, {name: value or "" for name, value in attributes})
        if tag in _EMPTY:
            self.builder.end(tag)
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.builder.end(tag)

    def handle_data(self, data):
        if self.open:
            self.builder.data(data)


def as_tree(markup):
    """Parse markup; names of tags and attributes become lower case, as in HTML."""
    parser = _Tree()
    parser.feed(str(markup))
    parser.close()
    assert not parser.open, f"not closed: {parser.open}"
    return parser.builder.close()


class Elements:
    """All elements of a page."""

    def __init__(self, html):
        self.tree = as_tree(html)

    def named(self, tag, **attributes):
        """Return elements by tag and attributes; ``class_`` is the attribute class."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            one
            for one in self.tree.iter(tag)
            if all(one.get(name) == value for name, value in wanted.items())
        ]

    def texts(self, tag, **attributes):
        """Return the whole text of each of these elements."""
        return ["".join(one.itertext()) for one in self.named(tag, **attributes)]

    def tips(self):
        """Return what tips say, in order."""
        return [one.get("data-tip") for one in self.tree.iter() if "data-tip" in one.attrib]


def of_class(tree, name):
    """Return the elements with a class, in order."""
    return [one for one in tree.iter() if name in one.get("class", "").split()]


def numbers(element, *names):
    """Return attributes as numbers."""
    return tuple(float(element.get(name)) for name in names)


def assert_safe(html):
    """Check that nothing in a page could run or be fetched, whatever names are in it."""
    for one in as_tree(html).iter():
        assert one.tag not in _FOREIGN, one.tag
        for name, value in one.attrib.items():
            assert name not in _ASKING, one.attrib
            assert not name.startswith("on"), one.attrib
            if name in ("href", "xlink:href"):
                assert value.startswith(("#", "data:")), one.attrib
