"""What must hold for every page: read by a parser of HTML, as a browser would."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from web.page_parts import assert_safe


@dataclass
class _Inline:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class ReadPage(HTMLParser):
    """A page as a parser sees it: its elements, and the texts of its scripts and styles."""

    html: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    inline: list[_Inline] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open = ""
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open = tag
            self.inline.append(_Inline(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inline[-1].text += data
        elif data.strip():
            self.words.append(data.strip())

    @property
    def text(self) -> str:
        """All that is to be read, in one line."""
        return re.sub(r"\s+", " ", " ".join(self.words))

    def data(self, name: str) -> Any:
        """Return what scripts read under a name."""
        (found,) = (part for part in self.inline if part.attributes.get("id") == name)
        return json.loads(found.text)

    @property
    def policy(self) -> dict[str, list[str]]:
        """The content security policy."""
        (content,) = (
            attributes["content"] or ""
            for tag, attributes in self.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        return {words[0]: words[1:] for words in map(str.split, content.split(";"))}


def check_self_contained(html: str, *, connects: bool = False) -> ReadPage:
    """Make sure that a page runs its own texts and nothing else, and return it."""
    page = ReadPage(html)
    programs = [part for part in page.inline if part.tag == "script" and not part.attributes]
    data = [part for part in page.inline if part.tag == "script" and part.attributes]
    styles = [part for part in page.inline if part.tag == "style"]
    assert all(part.attributes["type"] == "application/json" for part in data)
    policy = page.policy
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == [_digest(part.text) for part in programs]
    assert policy["style-src"] == [_digest(part.text) for part in styles]
    assert policy["connect-src"] == ["'self'" if connects else "'none'"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert programs
    assert styles
    assert_safe(html)
    return page


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
