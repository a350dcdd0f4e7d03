"""The charts of a study, made once from its records."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError
from disambig.bench.charts import (
    ARROW_ROW_HEIGHT,
    MAX_ARROW_ROWS,
    Chart,
    CurvesChart,
    Dot,
    DotPanel,
    DotsChart,
    LineChart,
    RanksChart,
    Series,
)
from disambig.bench.comparisons import rank_methods
from disambig.bench.evaluate import mean_and_std
from disambig.bench.line_styles import LineStyle, method_styles, role_styles
from disambig.bench.run_table import RunTable, accuracy_by_epoch
from disambig.bench.study_results import StudyResult
from disambig.metrics import direction, metric_title

# Shares of the height: empty above the highest and below the lowest point; and how far below the
# floor, of the height between floor and best, a point has to be shown.
_MARGIN = 0.06
_NEAR = 0.5


def study_charts(result: StudyResult, scores: Any) -> dict[str, Chart]:
    """Return all charts of a study by the names of their files, those by epoch first.

    Parameters
    ----------
    result : StudyResult
        A study that has run.
    scores : DataFrame
        Its records.
    """
    study = result.plan.study
    reference = study.reference_title
    charts: dict[str, Chart] = {}
    names = RunTable.from_scores(scores, "accuracy").display_name
    for data, curves in accuracy_by_epoch(result).items():
        n_runs = max(len(runs) for runs in curves.values())
        charts[_file_name(f"epochs_{data}", charts)] = epochs_chart(
            curves,
            title=f"{data}: mean over {n_runs} runs",
            reference=reference,
            names={method: names(method) for method in curves},
        )
    is_corrupted = scores["p"].notna()
    for metric in study.metrics:
        if is_corrupted.any():
            charts[f"{metric}_curves"] = curves_chart(scores, metric, reference=reference)
        if not is_corrupted.all():
            uncorrupted = scores[~is_corrupted]
            charts[f"{metric}_dots"] = dots_chart(uncorrupted, metric, reference=reference)
        if rank_methods(RunTable.from_scores(scores, metric)).critical_difference is not None:
            charts[f"{metric}_ranks"] = ranks_chart(scores, metric, reference=reference)
    return charts


def _file_name(title: str, taken: Iterable[str]) -> str:
    """Return a name for files and links that is not taken; titles may hold any character."""
    name = re.sub(r"[^\w.+-]+", "_", title.replace("=", "")).rstrip("_.")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def curves_chart(
    scores: Any, metric: str = "accuracy", *, reference: str | None = None
) -> CurvesChart:
    """Return the mean over runs of every method against p, a panel for every dataset and r.

    A point over fewer runs than others is hollow, a missing one interrupts its line. Where points
    far below the floor would take more than half of the height, they are arrows at the lower edge.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with controlled corruption; others are left out.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method that stands out.
    """
    runs = RunTable.from_scores(scores, metric)
    styles = role_styles(runs.roles, reference)
    by_panel: dict[tuple[str, float], dict[float, str]] = {}
    for data, setting in runs.settings.items():
        if not math.isnan(setting.p):
            by_panel.setdefault((setting.dataset, setting.r), {})[setting.p] = data
    if not by_panel:
        raise ParameterError(
            "Curves need data with a share p of corrupted rows, and no record has one. "
            "Draw dots instead."
        )
    limits: dict[str, tuple[float, float] | None] = {}
    for dataset in {dataset: None for dataset, _ in by_panel}:
        panels = [by_p for (its_dataset, _), by_p in by_panel.items() if its_dataset == dataset]
        limits[dataset] = _limits(runs, [data for by_p in panels for data in by_p.values()])
    return CurvesChart(
        {
            (dataset, r): LineChart(
                f"{dataset}, r = {r:g}",
                [_curve(runs, name, style, by_p) for name, style in styles.items()],
                x_title="p, share of corrupted rows",
                y_title=metric_title(metric),
                y_range=limits[dataset],
                x_ticks=sorted(by_p),
            )
            for (dataset, r), by_p in by_panel.items()
        }
    )


def _curve(runs: RunTable, method: str, style: LineStyle, by_p: Mapping[float, str]) -> Series:
    ps = sorted(by_p)
    remarks = {i: _remark(runs, by_p[p], method) for i, p in enumerate(ps)}
    return Series(
        runs.display_name(method),
        ps,
        [runs.mean(by_p[p], method) for p in ps],
        style,
        {i: remark for i, remark in remarks.items() if remark},
    )


def _remark(runs: RunTable, data: str, method: str) -> str:
    """Return how many runs a mean is over, where that is not all; else nothing."""
    count = len(runs.values(data, method))
    return f"{count} of {runs.n_runs} runs" if 0 < count < runs.n_runs else ""


def _limits(runs: RunTable, data: list[str]) -> tuple[float, float] | None:
    """Return the ends of the scale for the curves of a dataset; None if it has no score."""
    means = {
        name: [mean for title in data if not math.isnan(mean := runs.mean(title, name))]
        for name in runs.roles
    }
    every = [mean for its_means in means.values() for mean in its_means]
    if not every:
        return None
    low = _lowest_shown(every, [m for name in runs.in_role("floor") for m in means[name]], runs)
    margin = _MARGIN * (max(every) - low) or 0.01
    top = max(every) + margin
    # Arrows have rows of their own, below the points.
    n_rows = sum(min(its_means, default=low) < low for its_means in means.values())
    share = 1 - min(n_rows, MAX_ARROW_ROWS) * ARROW_ROW_HEIGHT
    return top - (top - low + margin) / share, top


def _lowest_shown(means: list[float], floors: list[float], runs: RunTable) -> float:
    """Return the lowest point; without those far below the floor if that saves half the height."""
    lowest, highest = min(means), max(means)
    if not floors or direction(runs.metric) < 0:
        return lowest
    floor = min(floors)
    near = min(mean for mean in means if mean >= floor - _NEAR * (highest - floor))
    return near if highest - near < (highest - lowest) / 2 else lowest


def dots_chart(scores: Any, metric: str = "accuracy", *, reference: str | None = None) -> DotsChart:
    """Return mean and standard deviation of every method, a panel for all data.

    Floors and ceilings are lines across. A mean over fewer runs than others is hollow.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method that stands out.
    """
    runs = RunTable.from_scores(scores, metric)
    styles = role_styles(runs.roles, reference)
    return DotsChart(
        [
            DotPanel(
                data,
                f"{metric_title(metric)}, mean ± std",
                [_dot(runs, data, name, style) for name, style in styles.items()],
            )
            for data in runs.data
        ]
    )


def _dot(runs: RunTable, data: str, method: str, style: LineStyle) -> Dot:
    values = runs.values(data, method)
    spread = mean_and_std(values)[1] if len(values) > 1 else None
    remark = _remark(runs, data, method)
    return Dot(runs.display_name(method), runs.mean(data, method), spread, style, remark)


def ranks_chart(
    scores: Any, metric: str = "accuracy", *, reference: str | None = None, alpha: float = 0.05
) -> RanksChart:
    """Return the critical difference diagram of a study; floors and ceilings take no part.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with three methods and two datasets or more.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method that stands out.
    alpha : float, default=0.05
        Level of significance of Nemenyi's test.
    """
    runs = RunTable.from_scores(scores, metric)
    ranking = rank_methods(runs, alpha)
    if ranking.critical_difference is None:
        raise ParameterError(f"A critical difference diagram needs {ranking.lacks}.")
    return RanksChart(
        f"Average rank by {metric_title(metric)}, over {len(ranking.data)} {runs.unit}s",
        {runs.display_name(method): rank for method, rank in ranking.ranks.items()},
        ranking.critical_difference,
        caption="The best is on the left. Methods under one thick bar cannot be told apart at the "
        f"level {alpha:g} (Nemenyi's test): their ranks differ by less than the critical "
        "difference.",
        reference=None if reference is None else runs.display_name(reference),
    )


def epochs_chart(
    curves: Mapping[str, Any],
    *,
    title: str,
    reference: str | None = None,
    names: Mapping[str, str] | None = None,
) -> LineChart:
    """Return the mean over runs of every variant after each epoch; the legend says where it ends.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_runs, n_epochs)
        Held-out accuracy of the variants, by label.
    title : str
        What was trained on.
    reference : str, optional
        Label of the variant that stands out.
    names : mapping of str to str, optional
        What the legend calls a variant, where that is not its label.
    """
    if not curves:
        raise ParameterError("There are no curves to draw. Give at least one variant.")
    series = []
    for label, style in method_styles(curves, reference).items():
        values = np.asarray(curves[label], dtype=float)
        if values.ndim != 2 or values.size == 0:
            raise ParameterError(
                f"A curve has a row for every run and a column for every epoch. {label!r} has the "
                f"shape {values.shape}."
            )
        means = values.mean(axis=0).tolist()
        name = (names or {}).get(label, label)
        at_end = f"{name}: {means[-1]:.3f} at the end"
        series.append(Series(name, range(1, len(means) + 1), means, style, label=at_end))
    return LineChart(title, series, x_title="epoch", y_title="held-out accuracy")
