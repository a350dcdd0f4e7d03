"""What a chart shows, without how it is drawn: pages and print draw the same descriptions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from disambig._core.errors import ParameterError
from disambig.bench.line_styles import LineStyle
from disambig.bench.statistics import groups_alike

# Share of a panel's height that a row of arrows takes. Lines beyond the last row share rows.
ARROW_ROW_HEIGHT = 0.07
MAX_ARROW_ROWS = 5
# What bars and bands are, in all charts.
ONE_ERROR = "± 1 standard error"


@dataclass(frozen=True)
class Legend:
    """Which line is which, and what bands, bars, hollow markers and arrows are."""

    entries: tuple[tuple[str, LineStyle], ...]
    has_hollow: bool = False
    has_arrows: bool = False
    has_bars: bool = False
    band: tuple[str, LineStyle] | None = None  # what it shows, and around which line


@dataclass(frozen=True)
class Series:
    """A line of a chart, with points from left to right; it is interrupted where y is NaN."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: LineStyle
    # Standard errors of the points, NaN where there is none; empty where nothing is known.
    errors: Sequence[float] = ()
    # By the number of a point, which is hollow then.
    remarks: Mapping[int, str] = field(default_factory=dict)
    # What the legend says, if not the name.
    label: str | None = None

    @property
    def band(self) -> list[tuple[float, float]]:
        """The ends of the band around each point of the line that stands out; else nothing."""
        if not self.style.is_strong:
            return []
        return [(y - error, y + error) for y, error in zip(self.y, self.errors, strict=False)]


@dataclass(frozen=True)
class LineChart:
    """Lines over one pair of axes, with a band around the one that stands out.

    Without ``y_range`` the vertical axis holds all values; with it, points below are arrows at the
    lower edge. Without ``x_ticks`` round values are named. With ``has_end_bars`` there is no band
    but a bar at the right end of every line.

    Attributes
    ----------
    title : str
        Above the chart.
    series : sequence of Series
        The lines.
    x_title, y_title : str
        Beside the axes.
    caption : str, default=""
        What a reader has to know.
    y_range : tuple of two floats, optional
        Ends of the vertical axis.
    x_ticks : sequence of float, optional
        Values that are named on the horizontal axis.
    x_names : sequence of str, optional
        What these values are called, where they only number what is there.
    has_end_bars : bool, default=False
        Whether lines end in a bar instead of having a band.

    See Also
    --------
    epochs_chart : Makes one from curves over epochs.
    draw_figure : Draws it.

    Examples
    --------
    >>> from disambig.bench import epochs_chart
    >>> chart = epochs_chart({"NCPD": [[0.5, 0.7, 0.8], [0.4, 0.6, 0.8]]}, title="Lost")
    >>> chart.title, chart.has_end_bars
    ('Lost', True)
    """

    title: str
    series: Sequence[Series]
    x_title: str
    y_title: str
    caption: str = ""
    y_range: tuple[float, float] | None = None
    x_ticks: Sequence[float] | None = None
    x_names: Sequence[str] = ()
    has_end_bars: bool = False

    @property
    def bands(self) -> list[Series]:
        """The lines with a band around them."""
        return [] if self.has_end_bars else [one for one in self.series if one.band]

    @property
    def legend(self) -> Legend:
        """What the lines are."""
        band = next(((f"{one.name} {ONE_ERROR}", one.style) for one in self.bands), None)
        return Legend(
            band=band,
            entries=tuple((one.label or one.name, one.style) for one in self.series),
            has_hollow=any(one.remarks and one.style.marker is not None for one in self.series),
            has_arrows=bool(self.arrow_rows()),
            has_bars=self.has_end_bars and any(one.errors for one in self.series),
        )

    def name_of(self, x: float) -> str:
        """Return what a place on the horizontal axis is called."""
        names = dict(zip(self.x_ticks or (), self.x_names, strict=False))
        return names.get(x, f"{x:g}")

    def arrow_rows(self) -> dict[int, int]:
        """Return the row of arrows, from below, for the number of every line that needs one."""
        low = self.y_range[0] if self.y_range else -math.inf
        below = [i for i, one in enumerate(self.series) if any(y < low for y in one.y)]
        return {i: row % MAX_ARROW_ROWS for row, i in enumerate(below)}


@dataclass(frozen=True)
class CurvesChart:
    """Scores against the share of corrupted rows, or of misses: panels by dataset and r.

    All have the same lines; those of a dataset share their scale.

    Attributes
    ----------
    panels : mapping of (str, float) to LineChart
        By dataset and r; r is 0 for the candidate sets that a dataset has.
    caption : str, default=""
        What a reader has to know.

    See Also
    --------
    curves_chart : Makes one from the records of a study.
    draw_figure : Draws it.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import curves_chart, make_report
    >>> chart = curves_chart(make_report(result).scores)
    >>> list(chart.panels)
    [('glass', 1.0)]
    """

    panels: Mapping[tuple[str, float], LineChart]
    caption: str = ""

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets, in their order."""
        return list(dict.fromkeys(dataset for dataset, _ in self.panels))

    @property
    def rs(self) -> list[float]:
        """The numbers of false labels, from the smallest."""
        return sorted({r for _, r in self.panels})

    @property
    def legend(self) -> Legend:
        """What the lines of all panels are."""
        legends = [panel.legend for panel in self.panels.values()]
        return Legend(
            legends[0].entries,
            has_hollow=any(legend.has_hollow for legend in legends),
            has_arrows=any(legend.has_arrows for legend in legends),
            band=next((legend.band for legend in legends if legend.band), None),
        )

    def with_r(self, r: float) -> "CurvesChart":
        """Return the panels of one r; their scale stays that of all."""
        if r not in self.rs:
            known = ", ".join(f"{level:g}" for level in self.rs)
            raise ParameterError(
                f"'r' must be one that data was corrupted with: {known}. Got {r:g}."
            )
        panels = {key: panel for key, panel in self.panels.items() if key[1] == r}
        return replace(self, panels=panels)


@dataclass(frozen=True)
class Dot:
    """A mean and its standard error; with a remark, the marker is hollow."""

    name: str
    mean: float  # NaN where there is none
    error: float | None  # None of a single value
    style: LineStyle
    remark: str = ""


@dataclass(frozen=True)
class DotPanel:
    """The methods below each other, a mean in each row; baselines are lines across."""

    title: str
    x_title: str
    dots: Sequence[Dot]

    @property
    def rows(self) -> list[Dot]:
        """The methods."""
        return [dot for dot in self.dots if not dot.style.is_bound]

    @property
    def bounds(self) -> list[Dot]:
        """Baselines."""
        return [dot for dot in self.dots if dot.style.is_bound]


@dataclass(frozen=True)
class DotsChart:
    """Mean scores with standard errors: a panel for all data, with the same methods in each.

    Attributes
    ----------
    panels : sequence of DotPanel
        One for all data that were compared on.
    caption : str, default=""
        What a reader has to know.

    See Also
    --------
    dots_chart : Makes one from the records of a study.
    draw_figure : Draws it.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import dots_chart, make_report
    >>> chart = dots_chart(make_report(result).scores)
    >>> [dot.name for dot in chart.panels[0].rows]
    ['PLKNN', 'CLPL', 'PLSVM']
    """

    panels: Sequence[DotPanel]
    caption: str = ""

    @property
    def legend(self) -> Legend:
        """What the lines are; rows have names of their own."""
        dots = [dot for panel in self.panels for dot in panel.rows]
        bounds = tuple((dot.name, dot.style) for dot in self.panels[0].bounds)
        return Legend(
            bounds,
            has_hollow=any(dot.remark for dot in dots),
            has_bars=any(dot.error for dot in dots),
        )


@dataclass(frozen=True)
class RanksChart:
    """Demsar's diagram: average ranks on a line, and bars over methods that are alike.

    Attributes
    ----------
    title : str
        Above the chart.
    ranks : mapping of str to float
        Average rank by method, 1 is best; two methods or more.
    difference : float
        Ranks that are farther apart differ significantly.
    caption : str, default=""
        What a reader has to know.
    reference : str, optional
        The method that stands out.

    See Also
    --------
    ranks_chart : Makes one from the records of a study.
    draw_figure : Draws it.

    Examples
    --------
    >>> from disambig.bench import RanksChart
    >>> ranks = {"SURE": 1.9, "NCPD": 1.2, "PLKNN": 2.9}
    >>> chart = RanksChart("Ranks", ranks, difference=1.0)
    >>> chart.names
    ['NCPD', 'SURE', 'PLKNN']
    >>> chart.bars
    [(1.2, 1.9), (1.9, 2.9)]
    """

    title: str
    ranks: Mapping[str, float]  # by method, 1 is best; two methods or more
    difference: float  # ranks that are farther apart differ significantly
    caption: str = ""
    reference: str | None = None

    @property
    def names(self) -> list[str]:
        """The methods, the best first."""
        return sorted(self.ranks, key=lambda name: self.ranks[name])

    @property
    def left(self) -> list[str]:
        """The better half, named on the left from the top: the best first."""
        return self.names[: (len(self.ranks) + 1) // 2]

    @property
    def right(self) -> list[str]:
        """The other half, named on the right from the top: the worst first."""
        return self.names[(len(self.ranks) + 1) // 2 :][::-1]

    @property
    def bars(self) -> list[tuple[float, float]]:
        """The best and the worst rank of every group that cannot be told apart."""
        ranks = sorted(self.ranks.values())
        groups = groups_alike(ranks, self.difference)
        return [(ranks[group[0]], ranks[group[-1]]) for group in groups]

    def bar_levels(self, gap: float) -> list[int]:
        """Return a level for each bar, the lowest at which so many ranks stay free before it."""
        ends: list[float] = []
        levels = []
        for best, worst in self.bars:
            free = [level for level, end in enumerate(ends) if end + gap < best]
            level = free[0] if free else len(ends)
            ends[level : level + 1] = [worst]
            levels.append(level)
        return levels


Chart = LineChart | CurvesChart | DotsChart | RanksChart
