"""The dark twin of a figure: the same SVG in the colours that our pages have in the dark."""

import re
from importlib import resources
from pathlib import Path

_COLOR = re.compile(r"#[0-9a-fA-F]{6}\b")
_ROOT = re.compile(r"<svg ")


def _schemes() -> list[dict[str, str]]:
    """Return the variables of light and of dark pages that are colours."""
    style = resources.files("disambig.web") / "assets" / "style.css"
    _, *blocks = style.read_text(encoding="utf-8").split(":root {")
    return [
        dict(re.findall(r"--([\w-]+): (#\w{6});", block[: block.index("}")]))
        for block in blocks[:2]
    ]


_LIGHT, _DARK = _schemes()
# By what print and light pages have; colours of lines are the same in both.
PALETTE = {_LIGHT[name]: _DARK[name] for name in _LIGHT if name.startswith("series-")}


def dark_svg(svg: str) -> str:
    """Return a figure in dark colours.

    Lines of the palette take the colour of the same number, greys lie between the paper and the ink
    of dark pages, and other colours stay. Matplotlib writes black text without a colour: it
    inherits the one of the whole.
    """
    recolored = _COLOR.sub(lambda found: _dark_color(found[0].lower()), svg)
    return _ROOT.sub(f'<svg fill="{_DARK["ink"]}" ', recolored, count=1)


def dark_path(path: Path) -> Path:
    """Return where the dark twin of a figure lies."""
    return path.with_name(f"{path.stem}_dark{path.suffix}")


def is_grey(color: str) -> bool:
    """Whether red, green and blue are the same."""
    return len(set(_parts(color))) == 1


def _dark_color(color: str) -> str:
    if color in PALETTE:
        return PALETTE[color]
    if not is_grey(color):
        return color
    share = _parts(color)[0] / 255  # of white
    ink, paper = _parts(_DARK["ink"]), _parts(_DARK["paper"])
    mixed = (round((1 - share) * i + share * p) for i, p in zip(ink, paper, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _parts(color: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue
