"""Colours of lines are told apart by everybody: in print, on light pages and on dark ones.

Dichromats see what the matrices of Machado, Oliveira and Fernandes (2009) give at full severity,
applied to linear RGB. Distances are those of CIELAB (CIE 1976, white D65); about 2 can just be
seen between two large areas side by side. Lines are thin and apart, so much more is asked here.
"""

import itertools

import numpy as np
import pytest

from disambig.bench.figure_style import COLORS, DARK_COLORS
from disambig.bench.line_styles import N_COLORS, method_styles
from web.test_page_contrast import contrast, schemes

SIGHTS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
# The smallest distance of two of the nine colours, by sight.
APART = {"usual": 20, "protanopia": 14, "deuteranopia": 14}
# The two that every study of ours compares.
NCPD_APART = 60
# The smallest difference in lightness, from 0 to 100, of two of the first six.
APART_IN_GREY = 8.5
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab_of(color, sight="usual"):
    """Return a colour, its red, green and blue from 0 to 1, in CIELAB as a sight has it."""
    parts = np.asarray(color, dtype=float)
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(SIGHTS[sight] @ linear, 0, 1)
    shares = TO_XYZ @ seen / TO_XYZ.sum(axis=1)
    is_large = shares > (6 / 29) ** 3
    x, y, z = np.where(is_large, np.cbrt(shares), shares / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palettes():
    """Return the nine colours of print and of every scheme of pages."""
    made = {
        name: [tuple(int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)) for c in colors]
        for name, colors in {"figures": COLORS, "dark figures": DARK_COLORS}.items()
    }
    for name, colors in schemes().items():
        made[name] = [colors[f"series-{i}"] for i in range(N_COLORS)]
    return made


def test_the_formula_is_that_of_cielab():
    np.testing.assert_allclose(lab_of((1, 1, 1)), [100, 0, 0], atol=1e-9)
    np.testing.assert_allclose(lab_of((1, 0, 0)), [53.24, 80.09, 67.20], atol=0.01)
    # Grey stays grey to everybody.
    for sight in SIGHTS:
        np.testing.assert_allclose(lab_of((0.5, 0.5, 0.5), sight)[1:], 0, atol=0.01)
    # Red and green that only the usual sight tells apart.
    pair = (0.75, 0.35, 0), (0.5, 0.5, 0)
    near = np.linalg.norm(lab_of(pair[0], "deuteranopia") - lab_of(pair[1], "deuteranopia"))
    assert near < 10 < 40 < np.linalg.norm(lab_of(pair[0]) - lab_of(pair[1]))


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("palette", palettes())
def test_any_two_colours_are_told_apart(palette, sight):
    places = [lab_of(color, sight) for color in palettes()[palette]]
    for (i, one), (j, other) in itertools.combinations(enumerate(places), 2):
        assert np.linalg.norm(one - other) >= APART[sight], (i, j)
    ncpd, plus = (style.color for style in method_styles(["NCPD", "NCPD+"]).values())
    assert np.linalg.norm(places[ncpd] - places[plus]) >= NCPD_APART


@pytest.mark.parametrize("palette", palettes())
def test_the_methods_of_the_paper_are_told_apart_in_grey(palette):
    styles = method_styles(["NCPD", "PLKNN", "M3PL", "IPAL", "SURE", "AGGD"])
    numbers = sorted(style.color for style in styles.values())
    assert numbers == [0, 1, 2, 3, 4, 5]
    colors = palettes()[palette]
    lightness = sorted(lab_of(colors[number])[0] for number in numbers)
    assert min(np.diff(lightness)) >= APART_IN_GREY


def test_figures_have_the_colours_of_pages_and_ncpd_plus_is_vermilion():
    assert palettes()["figures"] == palettes()["light"] == palettes()["print"]
    assert palettes()["dark figures"] == palettes()["dark"]
    assert COLORS[method_styles(["NCPD+"])["NCPD+"].color] == "#D55E00"
    assert all(contrast(color, (1, 1, 1)) >= 3 for color in palettes()["figures"])
