"""Every example of the gallery runs and draws figures in the style of the site."""

import importlib
import io
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Text
from threadpoolctl import threadpool_limits

from disambig.bench.figure_style import dark_color, figure_style

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted([*(ROOT / "examples").glob("plot_*.py"), ROOT / "examples/ncpd_in_one_file.py"])
pytestmark = pytest.mark.slow


# A figure with bars says which of these they are; estimates have intervals that are not symmetric.
WHAT_BARS_ARE = ("± 1 standard error", "with 95 % intervals")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_run_and_draw(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(example.parent)  # as for a script
    monkeypatch.setattr(plt, "show", lambda: None)
    backend = mpl.get_backend()
    plt.switch_backend("agg")
    try:
        with threadpool_limits(1), figure_style():  # more threads would wait for each other
            runpy.run_path(str(example), run_name="__main__")
            figures = [plt.figure(number) for number in plt.get_fignums()]
            drawn = [svg_of(figure) for figure in figures]
        assert figures
        for figure, svg in zip(figures, drawn, strict=True):
            assert all(axes.get_title() for axes in figure.axes)
            assert wrong_colors(svg) == []
            if has_errors(figure):
                words = " ".join(text.get_text() for text in figure.findobj(Text))
                assert any(what in words for what in WHAT_BARS_ARE)
    finally:
        plt.close("all")
        plt.switch_backend(backend)
    assert capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def svg_of(figure):
    content = io.StringIO()
    figure.savefig(content, format="svg")
    return content.getvalue()


def wrong_colors(svg):
    """Return the colours of a figure that are neither grey nor of our palette."""
    colors = {color.lower() for color in re.findall(r"#[0-9a-fA-F]{6}\b", svg)}
    return sorted(color for color in colors if dark_color(color) is None)


def has_errors(figure):
    return any(
        isinstance(one, (ErrorbarContainer, FillBetweenPolyCollection))
        for axes in figure.axes
        for one in (*axes.containers, *axes.collections)
    )


def test_the_gallery_saves_a_figure_that_follows_dark_mode(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    gallery = importlib.import_module("gallery")
    with figure_style():
        _, axes = plt.subplots()
        axes.plot([0, 1], color="C8")
        axes.set_title("a line")
        variables = {"image_path_iterator": iter([str(tmp_path / "images_001.png")])}
        shown = gallery.save_figures(None, variables, {"src_dir": tmp_path})
    assert plt.get_fignums() == []
    svg = (tmp_path / "images_001.svg").read_text()
    assert '[style*="stroke: #d55e00"] { stroke: #ff7a33 !important }' in svg
    # Axes are black on light pages, the ground is white.
    assert '[style*="stroke: #000000"] { stroke: #e6e9ed !important }' in svg
    assert '[style*="fill: #ffffff"] { fill: #12161b !important }' in svg
    assert ".. image:: /images_001.svg\n   :alt: a line\n   :class: sphx-glr-figure" in shown
