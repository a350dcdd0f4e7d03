"""A self-contained page: everything is inside; it may request and run nothing else."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from disambig._version import __version__


@dataclass(frozen=True)
class Section:
    """A part of a page, with a place in its contents."""

    name: str  # the id that links use
    title: str
    body: Markup


def render_page(
    *,
    title: str,
    lead: str,
    sections: Sequence[Section],
    scripts: Sequence[str] = ("charts.js", "tables.js"),
    styles: Sequence[str] = ("style.css",),
    data: Mapping[str, object] | None = None,
    connects: bool = False,
) -> str:
    """Return a page as one HTML file.

    Below its heading it has a lead of a sentence or two, or none. Scripts and styles are files
    among the assets, in this order; ``data`` is what scripts read, by the id of the element that
    holds it. If the page connects, they may send requests to the server that it comes from, and
    pictures may come from there.
    """
    looks = [_asset(name) for name in styles]
    sources = [_asset(name) for name in scripts]
    allowed = " ".join(map(_digest, sources)) or "'none'"
    partner = "'self'" if connects else "'none'"
    # Only these scripts may run, whatever else gets into the page.
    policy = "; ".join(
        (
            "default-src 'none'",
            "img-src 'self' data:" if connects else "img-src data:",
            f"style-src {' '.join(map(_digest, looks))}",
            f"script-src {allowed}",
            f"connect-src {partner}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return render_template(
        "page.html",
        title=title,
        lead=lead,
        sections=sections,
        styles=[Markup(look) for look in looks],  # noqa: S704  # our own files
        scripts=[Markup(source) for source in sources],  # noqa: S704  # our own files
        data={name: _json(value) for name, value in (data or {}).items()},
        policy=policy,
        version=__version__,
    )


def render_template(name: str, **values: object) -> Markup:
    """Fill in a template among the assets; every string is escaped."""
    return Markup(_templates().get_template(name).render(**values))  # noqa: S704  # it escapes


def _json(value: object) -> Markup:
    """Return JSON that cannot end the element it is in: HTML characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704  # no HTML character is left in it


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return (resources.files("disambig.web") / "assets" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("disambig.web", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
