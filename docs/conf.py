"""The site: what Sphinx is told."""

import os
import re
import sys
from importlib import resources
from pathlib import Path

from disambig import __version__

# Examples are small: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "warning")  # of a cluster in an example
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "disambig"
author = "The disambig developers"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "code_bodies",
    "commands",
    "fidelity",
    "gallery",
    "mathml",
    "method_table",
    "public_names",
    "sidebar",
    "study_tables",
]
exclude_patterns = ["_extensions"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# Tables of a study begin with a heading of the second level, because its report takes them in.
suppress_warnings = ["myst.header"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what a parameter is, in words
napoleon_google_docstring = False
# Attributes as a list, like parameters, and by their own name.
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "copyfile_regex": r"index\.rst",  # its contents, in an order of our own
    "filename_pattern": r"/(plot_|ncpd_in_one_file)",  # what is run
    "download_all_examples": False,
    "show_signature": False,
    "image_scrapers": ("gallery.save_figures",),
    "reset_modules": ("matplotlib", "gallery.use_style"),
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"disambig {release}"
html_static_path = ["_static"]
html_css_files = ["site.css", "gallery.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False

# One look for the site and for the pages that disambig writes: their style sheet has the colours.
_FURO_NAMES = {
    "paper": ["color-background-primary", "color-card-background"],
    "wash": [
        "color-background-secondary",
        "color-background-hover",
        "color-code-background",
        "color-inline-code-background",
        "color-sidebar-background",
        "color-api-background",
        "color-table-header-background",
    ],
    "ink": ["color-foreground-primary", "color-code-foreground"],
    "soft": ["color-foreground-secondary", "color-foreground-muted"],
    "line": [
        "color-background-border",
        "color-card-border",
        "color-table-border",
        "color-foreground-border",
    ],
    "accent": [
        "color-brand-primary",
        "color-brand-content",
        "color-brand-visited",
        "color-api-name",
        "color-api-pre-name",
    ],
    "warn": ["color-problematic"],
}
_FONTS = {
    "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
    "font-stack--monospace": 'ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace',
}


def _colours(style: str) -> dict[str, str]:
    """Return the variables of the first ``:root`` in a style sheet, by the names of the theme."""
    own = dict(re.findall(r"--([\w-]+): ([^;]+);", style[: style.index("}")]))
    return {theirs: own[name] for name, names in _FURO_NAMES.items() for theirs in names}


_style = (resources.files("disambig.web") / "assets" / "style.css").read_text(encoding="utf-8")
_, _light, _dark, *_ = _style.split(":root {")
html_theme_options = {
    "light_css_variables": _colours(_light) | _FONTS,
    "dark_css_variables": _colours(_dark),
}
