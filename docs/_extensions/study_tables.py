"""Tables of a study below its report: its pages are written by a command, which knows no site."""

import re

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

_TABLES = "\n\n```{toctree}\n:glob:\n:hidden:\n\n*\n```\n"


def _put_tables_below(_: Sphinx, document: str, source: list[str]) -> None:
    if re.fullmatch(r"results/[^/]+/report", document):
        source[0] += _TABLES


def setup(app: Sphinx) -> ExtensionMetadata:
    """Listen to pages being read."""
    app.connect("source-read", _put_tables_below)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
