"""The contents of the site in the sidebar of every page, unless ``sidebar_contents`` is off.

Sphinx resolves them anew for each page, which is almost half of the time of a build.
"""

from typing import Any

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

_BEFORE_THE_THEME = 400  # which is called at 500, and asks for the contents


def _leave_out_contents(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: Any
) -> None:
    if not app.config.sidebar_contents:
        context["toctree"] = lambda **_: ""


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the setting."""
    app.add_config_value("sidebar_contents", default=True, rebuild="html", types=[bool])
    app.connect("html-page-context", _leave_out_contents, priority=_BEFORE_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
