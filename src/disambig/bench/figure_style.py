"""The style of figures in print: fonts, colours, markers; and the files they are saved as."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.rcsetup import cycler
from matplotlib.textpath import TextPath

from disambig._core.files import write_atomically
from disambig.bench.line_styles import LineStyle

LEGEND_TYPE = 8.5
# Those of light pages. All are told apart by people who do not see red or green, and the first six,
# those of the methods in the paper, in grey too: tests/web/test_palette.py computes it.
COLORS = (
    "#0B5FA5",
    "#6A0035",
    "#1B8A54",
    "#111111",
    "#564600",
    "#4D97D7",
    "#D161A8",
    "#706DD5",
    "#D55E00",
)
_SETTINGS: Any = {
    "axes.prop_cycle": cycler(color=COLORS),
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": LEGEND_TYPE,
    "legend.frameon": False,
    "legend.handlelength": 3.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "lines.scale_dashes": False,
    # Laid out at the resolution of the file.
    "figure.dpi": 160,
    "savefig.dpi": "figure",
    # Ids inside an SVG follow from its content alone.
    "svg.hashsalt": "disambig",
    "svg.fonttype": "path",
    # Labels are plain text; a dollar sign in one is a dollar sign.
    "text.parse_math": False,
}
INK = "#111111"
# Those of dark pages, in the same order.
DARK_COLORS = (
    "#6CB6FF",
    "#BF254F",
    "#51EAB6",
    "#F2F4F7",
    "#A99856",
    "#4380B4",
    "#EBA2CD",
    "#927AEA",
    "#FF7A33",
)
_PAPER, _DARK_PAPER = "#FFFFFF", "#12161B"
_DARK_INK = "#E6E9ED"
_BOUND_COLOR = "#666666"
# How much of its colour a pale line keeps; the rest is that of the paper.
_PALE = 0.4
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "*", "h", "d")
_ARROW = Outline(
    [(0, 1), (0, -1), (-0.6, -0.2), (0, -1), (0.6, -0.2)],
    [Outline.MOVETO, Outline.LINETO, Outline.MOVETO, Outline.LINETO, Outline.LINETO],
)
# Files hold neither date nor version.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in one style inside the block, whatever matplotlib's settings; they are left alone."""
    with mpl.rc_context():
        use_figure_style()
        yield


def use_figure_style() -> None:
    """Draw in this style from here on, as the gallery of the documentation does."""
    mpl.rcdefaults()
    mpl.rcParams.update(_SETTINGS)


def color_of(style: LineStyle) -> str:
    """Return the colour of a line."""
    if style.color is None:
        return _BOUND_COLOR
    color = COLORS[style.color]
    return _pale(color, _PAPER) if style.is_pale else color


def _pale(color: str, paper: str) -> str:
    parts = zip(to_rgb(color), to_rgb(paper), strict=True)
    red, green, blue = (ground - _PALE * (ground - part) for part, ground in parts)
    return to_hex((red, green, blue))


def dark_color(color: str) -> str | None:
    """Return what takes the place of a colour on a dark page; None is a colour that stays.

    Colours of the palette have one of the same number, greys lie between the dark paper and ink.
    """
    for light, dark in zip(COLORS, DARK_COLORS, strict=True):
        if color == light.lower():
            return dark.lower()
        if color == _pale(light, _PAPER):
            return _pale(dark, _DARK_PAPER)
    red, green, blue = to_rgb(color)
    if not red == green == blue:
        return None
    lightness = red
    ends = zip(to_rgb(_DARK_INK), to_rgb(_DARK_PAPER), strict=True)
    red, green, blue = (ink + lightness * (paper - ink) for ink, paper in ends)
    return to_hex((red, green, blue))


def follow_dark_mode(svg: str) -> str:
    """Return a figure whose colours change where the page, or the system, is dark.

    By a style sheet inside it: programs that know none draw the light figure. Its ground is
    painted, so that it can be read on any page.
    """
    rules = [f"svg {{ fill: {_DARK_INK.lower()} }}"]  # text that names no colour is black
    for part, light in sorted(set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", svg))):
        if (dark := dark_color(light)) is not None:
            rules.append(f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}')
    style = f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"
    return re.sub(r"(<svg [^>]*>)", lambda opening: f"{opening[1]}\n {style}", svg, count=1)


def line_keywords(style: LineStyle) -> dict[str, Any]:
    """Return the keywords of a line.

    The reference lies below the others, so that it hides none of them, and pale lines below it;
    baselines are thin, grey and unmarked.
    """
    width, size, zorder = (2.8, 6.5, 2.0) if style.is_strong else (1.3, 4.5, 3.0)
    if style.is_pale:
        zorder = 1.5
    if style.is_bound:
        width, size, zorder = 1.2, 0, 1
    return {
        "color": color_of(style),
        "linestyle": (0, style.dash) if style.dash else "-",
        "linewidth": width,
        "marker": "" if style.marker is None else _MARKERS[style.marker],
        "markersize": size,
        "zorder": zorder,
    }


def band_keywords(style: LineStyle) -> dict[str, Any]:
    """Return the keywords of a band around a line; it lies below all lines."""
    return {"color": color_of(style), "alpha": 0.18, "linewidth": 0, "zorder": 0.9}


def arrow_keywords(color: str) -> dict[str, Any]:
    """Return the keywords of a line that consists of arrows downwards."""
    return {
        "linestyle": "",
        "marker": _ARROW,
        "markersize": 7,
        "markerfacecolor": "none",
        "markeredgecolor": color,
        "markeredgewidth": 1.3,
    }


def text_width(text: str, size: float, *, weight: str = "normal") -> float:
    """Return the width in inches of a line of text, its size in points."""
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight=weight)
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) / 72


def save_figure(figure: Figure, stem: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and as SVG, which follows dark mode; return both paths.

    Parameters
    ----------
    figure : Figure
        From ``draw_figure``.
    stem : path
        Path without suffix.

    See Also
    --------
    draw_figure : Draws it.

    Examples
    --------
    >>> import tempfile
    >>> from disambig.bench import RanksChart, draw_figure, save_figure
    >>> ranks = {"NCPD": 1.2, "SURE": 1.9, "PLKNN": 2.9}
    >>> chart = RanksChart("Ranks", ranks, difference=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = save_figure(draw_figure(chart), f"{folder}/ranks")
    >>> [path.name for path in paths]
    ['ranks.png', 'ranks.svg']
    """
    paths = [Path(f"{os.fspath(stem)}.{suffix}") for suffix in _METADATA]
    for path in paths:
        save_figure_as(figure, path)
    return paths


def save_figure_as(figure: Figure, path: Path) -> None:
    """Write a figure as what the suffix of its path says: PNG, or SVG, which follows dark mode."""
    suffix = path.suffix.removeprefix(".")
    content = io.BytesIO()  # because matplotlib does not say that a disk is full
    with figure_style():
        figure.savefig(content, format=suffix, metadata=_METADATA[suffix])
    data = content.getvalue()
    if suffix == "svg":
        data = follow_dark_mode(data.decode("utf-8")).encode("utf-8")
    with write_atomically(path) as temporary:
        temporary.write_bytes(data)
