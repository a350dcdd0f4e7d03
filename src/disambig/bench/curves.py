"""Scores against the share of corrupted rows or of misses, or by what is held out: as lines."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_choice
from disambig.bench.charts import (
    ARROW_ROW_HEIGHT,
    MAX_ARROW_ROWS,
    CurvesChart,
    LineChart,
    Series,
)
from disambig.bench.comparisons import rank_methods
from disambig.bench.line_styles import LineStyle, role_styles
from disambig.bench.plan import NEW_GROUPS
from disambig.bench.run_table import RunTable, Setting
from disambig.bench.wording import (
    errors_text,
    lr_note,
    runs_remark,
    standard_error,
)
from disambig.datasets.card import dataset_title
from disambig.metrics.registry import direction, metric_title

# Shares of the height: empty above the highest and below the lowest point; and how far below the
# baseline, of the height between it and the best, a point has to be shown.
_MARGIN = 0.06
_NEAR = 0.5
# What scores are drawn against.
_AXES = {
    "p": "p, share of corrupted rows",
    "miss": "miss, share of training sets without the truth",
    "groups": "what is held out",
}
_AGAINST = {
    "p": "against p",
    "miss": "against the share of training sets that miss the truth",
    "groups": "with rows and with whole groups held out",
}
_FIXED = {"p": "miss rate", "miss": "p", "groups": "p and one miss rate"}
_Axis = Literal["p", "miss", "groups"]
# By dataset and r: what its curves are made of, by their place on the axis.
_Panels = dict[tuple[str, float], dict[float, str]]


def curves_chart(
    scores: Any,
    metric: str = "accuracy",
    *,
    reference: str | None = None,
    by: _Axis = "p",
) -> CurvesChart:
    """Return the mean over runs of every method against p, a panel for every dataset and r.

    With ``by="miss"`` they are against the share of training sets that the truth was left out of,
    with ``by="groups"`` there is a place for rows and one for whole groups that are held out.

    Around the reference lies a band of one standard error. Methods whose average rank is in the
    lower half are pale. A point over fewer runs than others is hollow, a missing one interrupts its
    line. Where points far below the baseline would take more than half of the height, they are
    arrows at the lower edge.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with controlled corruption; others are left out. Against p they must
        have the same miss rate, against the miss rate the same p, by groups both.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method to highlight.
    by : {"p", "miss", "groups"}, default="p"
        What scores are drawn against.

    See Also
    --------
    dots_chart : For data with its own candidate sets.
    draw_figure : Draws the chart.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import curves_chart, make_report
    >>> chart = curves_chart(make_report(result).scores, reference="PLKNN")
    >>> chart.datasets
    ['glass']
    """
    runs = RunTable.from_scores(scores, metric)
    pale = _lower_half(runs) - {reference}
    styles = {
        name: replace(style, is_pale=name in pale)
        for name, style in role_styles(runs.roles, reference).items()
    }
    protocols = list(dict.fromkeys(setting.groups for setting in runs.settings.values()))
    by_panel = _panels(runs, by, protocols)
    limits: dict[str, tuple[float, float] | None] = {}
    for dataset in {dataset: None for dataset, _ in by_panel}:
        panels = [by_x for (its_dataset, _), by_x in by_panel.items() if its_dataset == dataset]
        settings = [data for by_x in panels for data in by_x.values()]
        limits[dataset] = _limits(runs, settings, reference)
    return CurvesChart(
        {
            (dataset, r): LineChart(
                _panel_title(runs.settings[next(iter(by_x.values()))], by),
                [_curve(runs, name, style, by_x) for name, style in styles.items()],
                x_title=_AXES[by],
                y_title=metric_title(metric),
                y_range=limits[dataset],
                x_ticks=sorted(by_x),
                x_names=[_short(protocols[int(x)]) for x in sorted(by_x)] if by == "groups" else (),
            )
            for (dataset, r), by_x in by_panel.items()
        },
        caption=_curves_caption(runs, reference, pale, by),
    )


def _short(protocol: str) -> str:
    return protocol.replace(f"{NEW_GROUPS}, ", "+ ") or "rows"


def _panels(runs: RunTable, by: _Axis, protocols: list[str]) -> _Panels:
    """Return the settings of every panel by their place on the axis; r of own sets is 0."""
    check_choice("by", by, tuple(_AXES))
    panels: _Panels = {}
    for data, setting in runs.settings.items():
        if by == "p" and math.isnan(setting.p):
            continue
        panel = panels.setdefault((setting.dataset, 0 if math.isnan(setting.r) else setting.r), {})
        places = {"p": setting.p, "miss": setting.miss, "groups": protocols.index(setting.groups)}
        x = places[by]
        if panel.setdefault(x, data) != data:
            raise ParameterError(
                f"A curve has one score for each {by}, and {panel[x]!r} and {data!r} are two. "
                f"Give the records of one {_FIXED[by]}."
            )
    if not panels:
        raise ParameterError(
            "Curves need data with a share p of corrupted rows, and no record has one. "
            "Draw dots instead."
        )
    return panels


def _panel_title(setting: Setting, by: _Axis) -> str:
    parts = [dataset_title(setting.dataset)]
    if by != "p" and not math.isnan(setting.p):
        parts.append(f"p = {setting.p:g}")
    if not math.isnan(setting.r):
        parts.append(f"r = {setting.r:g}")
    if by != "miss" and setting.miss:
        parts.append(f"miss = {setting.miss:g}")
    if by != "groups" and setting.groups:
        parts.append(setting.groups)
    return ", ".join(parts)


def _lower_half(runs: RunTable) -> set[str]:
    """Return the methods whose average rank is worse than the middle one."""
    ranks = rank_methods(runs).ranks
    return {method for method, rank in ranks.items() if rank > (len(ranks) + 1) / 2}


def _curves_caption(runs: RunTable, reference: str | None, pale: set[str], by: str) -> str:
    has_band = reference in runs.methods
    band = f" The band around {reference} is {errors_text(runs)}." if has_band else ""
    back = (
        f" Pale: average rank over all {runs.unit}s worse than {(len(runs.methods) + 1) / 2:g}, "
        f"the middle of {len(runs.methods)}."
        if pale
        else ""
    )
    against = f"Mean {metric_title(runs.metric)} over runs {_AGAINST[by]}."
    if by == "groups" and any(", " in setting.groups for setting in runs.settings.values()):
        against += " A plus is before what groups promise."
    return f"{against}{band}{back}{lr_note(runs)}"


def _curve(runs: RunTable, method: str, style: LineStyle, by_x: Mapping[float, str]) -> Series:
    xs = sorted(by_x)
    remarks = {i: runs_remark(runs, by_x[x], method) for i, x in enumerate(xs)}
    errors = [standard_error(runs.values(by_x[x], method)) for x in xs]
    return Series(
        runs.display_name(method),
        xs,
        [runs.mean(by_x[x], method) for x in xs],
        style,
        [math.nan if error is None else error for error in errors],
        {i: remark for i, remark in remarks.items() if remark},
    )


def _limits(runs: RunTable, data: list[str], reference: str | None) -> tuple[float, float] | None:
    """Return the ends of the scale for the curves of a dataset; None if it has no score."""
    means = {
        name: [mean for title in data if not math.isnan(mean := runs.mean(title, name))]
        for name in runs.roles
    }
    every = [mean for its_means in means.values() for mean in its_means]
    if not every:
        return None
    baselines = [mean for name in runs.in_role("candidate_baseline") for mean in means[name]]
    low = _lowest_shown(every, baselines, runs)
    highest = max(every)
    if reference is not None:
        for title in data:
            mean, error = runs.mean(title, reference), standard_error(runs.values(title, reference))
            if error is not None and mean >= low:
                low, highest = min(low, mean - error), max(highest, mean + error)
    margin = _MARGIN * (highest - low) or 0.01
    top = highest + margin
    # Arrows have rows of their own, below the points.
    n_rows = sum(min(its_means, default=low) < low for its_means in means.values())
    share = 1 - min(n_rows, MAX_ARROW_ROWS) * ARROW_ROW_HEIGHT
    return top - (top - low + margin) / share, top


def _lowest_shown(means: list[float], baselines: list[float], runs: RunTable) -> float:
    """Return the lowest point; without those far below a baseline if that saves half the height."""
    lowest, highest = min(means), max(means)
    if not baselines or direction(runs.metric) < 0:
        return lowest
    baseline = min(baselines)
    near = min(mean for mean in means if mean >= baseline - _NEAR * (highest - baseline))
    return near if highest - near < (highest - lowest) / 2 else lowest
