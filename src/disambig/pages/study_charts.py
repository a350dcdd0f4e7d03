"""The charts of a study: what its figures show, for a browser."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from disambig.pages.charts.dots import Dot, dot_chart
from disambig.pages.charts.lines import line_chart
from disambig.pages.charts.ranks import rank_diagram
from disambig.pages.charts.series import Series, legend
from disambig.pages.markup import element, fragment
from disambig.report.cells import Cells
from disambig.report.curve_limits import corrupted_settings, curve_limits, mean_of
from disambig.report.method_looks import Look, cell_looks, method_looks
from disambig.report.metric_names import metric_title
from disambig.report.ranking import rank_methods
from disambig.study.crossval import mean_and_std

__all__ = ["curve_charts", "dot_charts", "epoch_charts", "rank_chart"]


def curve_charts(cells: Cells, reference: str) -> Markup:
    """Return a panel for every dataset and r; where there are several r, a block for each dataset.

    Panels of a dataset share their scale.
    """
    places = corrupted_settings(cells)
    looks = cell_looks(cells, reference)
    limits = curve_limits(cells, places)
    panels: dict[tuple[float, str], dict[float, str]] = {}
    for data, own in places.items():
        panels.setdefault((own.r, own.dataset), {})[own.p] = data
    has_blocks = len({r for r, _ in panels}) > 1
    blocks: dict[str, list[Markup]] = {}
    has_hollow = has_arrows = False
    for (r, dataset), by_p in sorted(panels.items(), key=lambda panel: panel[0][0]):
        series = [_curve(cells, name, look, by_p) for name, look in looks.items()]
        has_hollow |= any(one.remarks for one in series)
        bottom = limits[dataset][0] if dataset in limits else -np.inf
        has_arrows |= any(y < bottom for one in series for y in one.y)
        panel = line_chart(
            f"{dataset}, r = {r:g}",
            series,
            x_title="p, share of corrupted rows",
            y_title=metric_title(cells.metric),
            y_range=limits.get(dataset),
            x_ticks=sorted(by_p),
            has_legend=False,
        )
        blocks.setdefault(dataset if has_blocks else "", []).append(panel)
    names = [cells.shown(name) for name in looks]
    return fragment(
        legend(names, list(looks.values()), has_hollow=has_hollow, has_arrows=has_arrows),
        *(element("div", {"class": "charts small"}, *block) for block in blocks.values()),
    )


def dot_charts(cells: Cells, data: Sequence[str], reference: str) -> Markup:
    """Return a panel for each of these data: the methods below each other."""
    looks = cell_looks(cells, reference)
    panels = [
        dot_chart(
            own,
            [_dot(cells, own, name, look) for name, look in looks.items()],
            x_title=f"{metric_title(cells.metric)}, mean ± std",
        )
        for own in data
    ]
    bounds = {name: look for name, look in looks.items() if look.is_bound}
    counts = [len(cells.values(own, name)) for own in data for name in looks]
    has_hollow = any(0 < count < cells.n_runs for count in counts)
    names = [cells.shown(name) for name in bounds]
    return fragment(
        legend(names, list(bounds.values()), has_hollow=has_hollow),
        element("div", {"class": "charts small"}, *panels),
    )


def rank_chart(cells: Cells, reference: str) -> Markup | None:
    """Return the diagram of critical differences; None with too few methods or data for one."""
    ranking = rank_methods(cells)
    if ranking.critical_difference is None:
        return None
    return rank_diagram(
        f"Average rank by {metric_title(cells.metric)}, over {len(ranking.data)} {cells.unit}s",
        {cells.shown(method): rank for method, rank in ranking.ranks.items()},
        ranking.critical_difference,
        caption="The best is on the left. Methods under one thick bar cannot be told apart at the "
        "level 0.05 (Nemenyi's test): their ranks differ by less than the critical difference.",
        reference=cells.shown(reference),
    )


def epoch_charts(
    curves: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], cells: Cells, reference: str
) -> Markup:
    """Return held-out accuracy after each epoch, a panel for all data where it was followed."""
    panels = []
    for data, of_data in curves.items():
        looks = method_looks(of_data, reference)
        n_runs = max(len(runs) for runs in of_data.values())
        series = []
        for method, runs in of_data.items():
            means = np.mean(np.asarray(runs, dtype=float), axis=0).tolist()
            epochs = range(1, len(means) + 1)
            series.append(Series(cells.shown(method), epochs, means, looks[method]))
        panels.append(
            line_chart(
                data,
                series,
                x_title="epoch",
                y_title="held-out accuracy",
                caption=f"Mean over {n_runs} runs after each epoch.",
            )
        )
    return element("div", {"class": "charts"}, *panels)


def _curve(cells: Cells, method: str, look: Look, data: Mapping[float, str]) -> Series:
    ps = sorted(data)
    counts = [len(cells.values(data[p], method)) for p in ps]
    return Series(
        cells.shown(method),
        ps,
        [mean_of(cells, data[p], method) for p in ps],
        look,
        {i: _count(cells, n) for i, n in enumerate(counts) if 0 < n < cells.n_runs},
    )


def _dot(cells: Cells, data: str, method: str, look: Look) -> Dot:
    values: Any = cells.values(data, method)
    remark = _count(cells, len(values)) if 0 < len(values) < cells.n_runs else ""
    if len(values) < 2:
        return Dot(cells.shown(method), mean_of(cells, data, method), None, look, remark)
    return Dot(cells.shown(method), *mean_and_std(values), look, remark)


def _count(cells: Cells, n_runs: int) -> str:
    return f"{n_runs} of {cells.n_runs} runs"
