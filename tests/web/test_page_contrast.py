"""Colours of the style sheet, by the formula of WCAG 2.2: text 4.5 to 1, graphics 3 to 1."""

import re
from importlib import resources

import pytest

from disambig.web.charts.grids import opacity_of

STYLE = (resources.files("disambig.web") / "assets" / "style.css").read_text("utf-8")
TEXTS = ("ink", "soft", "accent", "warn", "good")
GRAPHICS = (*(f"series-{i}" for i in range(9)), "bound", "accent")


def variables(block):
    return {
        name: tuple(int(value[i : i + 2], 16) / 255 for i in (0, 2, 4))
        for name, value in re.findall(r"--([\w-]+):\s*#([0-9a-f]{6})", block)
    }


def schemes():
    """Return the variables of each scheme; dark and print replace those of light."""
    found = re.findall(r"(@media[^{]*\{\s*)?:root\s*\{([^}]*)\}", STYLE)
    blocks = {}
    for media, block in found:
        name = next((name for name in ("dark", "print") if name in media), "light")
        blocks[name] = variables(block)
    return {name: blocks["light"] | block for name, block in blocks.items()}


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_is_that_of_wcag():
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)) == 1


def test_there_are_three_schemes_with_all_colours():
    assert set(schemes()) == {"light", "dark", "print"}
    for colors in schemes().values():
        assert {*TEXTS, *GRAPHICS, "paper", "wash", "on-accent", "line"} <= set(colors)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
@pytest.mark.parametrize("ground", ["paper", "wash"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(scheme, ground, text):
    colors = schemes()[scheme]
    assert contrast(colors[text], colors[ground]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
@pytest.mark.parametrize("mark", GRAPHICS)
def test_lines_and_markers_can_be_seen(scheme, mark):
    colors = schemes()[scheme]
    assert contrast(colors[mark], colors["paper"]) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_numbers_in_cells_of_every_shade_can_be_read(scheme):
    colors = schemes()[scheme]
    for share in [i / 100 for i in range(101)]:
        opacity = opacity_of(share)
        mixed = tuple(
            a * opacity + b * (1 - opacity)
            for a, b in zip(colors["accent"], colors["paper"], strict=True)
        )
        text = colors["ink" if share <= 0.6 else "on-accent"]
        assert contrast(text, mixed) >= 4.5, share


def test_shades_grow_with_their_share():
    shades = [opacity_of(i / 100) for i in range(101)]
    assert shades == sorted(shades)
    assert (shades[0], shades[-1]) == (0, 1)
