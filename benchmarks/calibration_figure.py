"""The figure of ``benchmarks/calibration.py``: stated against actual errors."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from calibration_trials import SETS
from disambig.bench.figure_style import COLORS, INK
from disambig.datasets.card import dataset_title

WAYS = ("given", "calibrated")
# By what factor stated errors may be off: on average, and at worst.
TYPICAL, AT_WORST = 1.25, 1.6
TITLES = {"given": "as given", "calibrated": "calibrated by candidate sets"}
TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# By kind of sets, method and dataset: what every draw found.
Found = dict[tuple[str, str, str], list[dict[str, Any]]]


def shares_of_rows(draws: list[dict[str, Any]], way: str) -> tuple[float, float]:
    """Return the actual and the stated number of errors as shares of the rows."""
    rows = sum(draw["rows"] for draw in draws)
    wrong, stated = (sum(d[way][measure] for d in draws) for measure in ("wrong", "stated"))
    return wrong / rows, stated / rows


def draw_figure(found: Found) -> Figure:
    """Draw stated against actual errors, a point for every method and dataset."""
    points = {
        (way, method, name): shares_of_rows(draws, way)
        for (kind, method, name), draws in found.items()
        if kind == "random"
        for way in WAYS
    }
    ends = np.array([np.min([*points.values()]) / 1.3, np.max([*points.values()]) * 1.3])
    ticks = [tick for tick in TICKS if ends[0] < tick < ends[1]]
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    panels = dict(zip(WAYS, figure.subplots(1, 2, sharex=True, sharey=True), strict=True))
    for way, axes in panels.items():
        for limit, shade in ((AT_WORST, 0.08), (TYPICAL, 0.12)):
            axes.fill_between(ends, ends / limit, ends * limit, color=INK, alpha=shade, linewidth=0)
        axes.plot(ends, ends, color=INK, linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
        axes.set(title=TITLES[way], xlabel="share of choices that are wrong")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
            axis.set_minor_locator(NullLocator())
    for (way, method, name), point in points.items():
        is_plus = method == "ncpd_plus"
        size, zorder = (6.5, 4) if is_plus else (5, 3)
        panels[way].plot(*point, **marker_of(name, is_plus), markersize=size, zorder=zorder)
    panels["given"].set(ylabel="share said to be wrong")
    handles = [panels["given"].plot([], [], **marker_of(name, False))[0] for name in SETS]
    handles += panels["given"].plot([], [], "o", color=INK)
    labels = [*map(dataset_title, SETS), "NCPD+ (filled)"]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=1)
    figure.suptitle(
        f"A point for every method and dataset; grey: off by a factor of {TYPICAL:g} and "
        f"{AT_WORST:g} at most",
        fontsize=9,
    )
    return figure


def marker_of(name: str, is_filled: bool) -> dict[str, Any]:
    """Return what a dataset's points look like."""
    place = SETS.index(name)
    color = COLORS[place]
    inside = color if is_filled else "none"
    return {"marker": MARKERS[place], "linestyle": "", "color": color, "markerfacecolor": inside}
