"""The charts of a study, made once from its records."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError
from disambig.bench.charts import (
    Chart,
    CurvesChart,
    Dot,
    DotPanel,
    DotsChart,
    LineChart,
    RanksChart,
    Series,
)
from disambig.bench.comparisons import MIN_DATASETS_OF_RANKS, rank_methods
from disambig.bench.curves import curves_chart
from disambig.bench.line_styles import LineStyle, method_styles, role_styles
from disambig.bench.run_table import RunTable, accuracy_by_epoch, held_out_groups, miss_rates
from disambig.bench.study_results import StudyResult
from disambig.bench.wording import (
    errors_text,
    lr_note,
    runs_remark,
    standard_error,
)
from disambig.datasets.card import dataset_title
from disambig.metrics.registry import metric_title


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
        charts[_file_name(f"epochs_{data}", charts)] = epochs_chart(
            curves,
            title=dataset_title(data),
            reference=reference,
            names={method: names(method) for method in curves},
        )
    scores = scores.assign(miss=miss_rates(scores), groups=held_out_groups(scores))
    setting = ["dataset", "p", "r"]
    by_rate = scores.groupby([*setting, "groups"], dropna=False)
    by_protocol = scores.groupby([*setting, "miss"], dropna=False)
    n_rates = by_rate["miss"].transform("nunique")
    is_plain = scores["p"].isna() & (n_rates == 1)
    has_protocols = by_protocol["groups"].transform("nunique") > 1
    for metric in study.metrics:
        charts |= _curves_charts(scores, n_rates > 1, metric, reference)
        in_lines, in_dots = scores[is_plain & has_protocols], scores[is_plain & ~has_protocols]
        if len(in_lines):
            chart = curves_chart(in_lines, metric, reference=reference, by="groups")
            charts[f"{metric}_groups"] = chart
        if len(in_dots):
            charts[f"{metric}_dots"] = dots_chart(in_dots, metric, reference=reference)
        ranking = rank_methods(RunTable.from_scores(scores, metric))
        is_testable = ranking.critical_difference is not None
        if is_testable and ranking.n_datasets >= MIN_DATASETS_OF_RANKS:
            charts[f"{metric}_ranks"] = ranks_chart(scores, metric, reference=reference)
    return charts


def _curves_charts(
    scores: Any, has_rates: Any, metric: str, reference: str
) -> dict[str, CurvesChart]:
    """Return curves against p for every miss rate, and against the miss rate for every p.

    Data with several miss rates (``has_rates``) and a single p has no curve against p. Where rows
    and whole groups were held out, each has its own curves.
    """
    charts = {}
    protocols = scores["groups"].unique().tolist()
    settings = ["dataset", "r", "miss", "groups"]
    n_ps = scores.groupby(settings, dropna=False)["p"].transform("nunique")
    against_p = scores[~has_rates | (n_ps > 1)]
    for (miss, groups), records in against_p.groupby(["miss", "groups"]):
        if records["p"].notna().any():
            name = f"{metric}_curves" + (f"_miss{miss:g}" if miss else "")
            name += _suffix(groups, protocols)
            charts[name] = curves_chart(records, metric, reference=reference)
    for (p, groups), records in scores[has_rates].groupby(["p", "groups"], dropna=False):
        name = f"{metric}_misses" + ("" if math.isnan(p) else f"_p{p:g}")
        name += _suffix(groups, protocols)
        charts[name] = curves_chart(records, metric, reference=reference, by="miss")
    return charts


def _suffix(groups: str, protocols: list[str]) -> str:
    """Return what tells the files of one protocol from those of the first."""
    return "" if groups == protocols[0] else f"_{re.sub('[^a-z0-9.]+', '_', groups)}"


def _file_name(title: str, taken: Iterable[str]) -> str:
    """Return a name for files and links that is not taken; titles may hold any character."""
    name = re.sub(r"[^\w.+-]+", "_", title.replace("=", "")).rstrip("_.")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def dots_chart(scores: Any, metric: str = "accuracy", *, reference: str | None = None) -> DotsChart:
    """Return mean and standard error of every method, a panel for all data.

    Baselines are lines across. A mean over fewer runs than others is hollow.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method to highlight.

    See Also
    --------
    curves_chart : For corrupted data.
    draw_figure : Draws the chart.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import dots_chart, make_report
    >>> chart = dots_chart(make_report(result).scores, reference="PLKNN")
    >>> [panel.title for panel in chart.panels]
    ['glass, p=0.3, r=1', 'glass, p=0.7, r=1']
    """
    runs = RunTable.from_scores(scores, metric)
    styles = role_styles(runs.roles, reference)
    return DotsChart(
        [
            DotPanel(
                _shown_data(runs, data),
                metric_title(metric),
                [_dot(runs, data, name, style) for name, style in styles.items()],
            )
            for data in runs.data
        ],
        caption=f"Mean {metric_title(metric)}; bars are {errors_text(runs)}.{lr_note(runs)}",
    )


def _shown_data(runs: RunTable, data: str) -> str:
    """Return the label of data, in which a known dataset has its proper name."""
    dataset = runs.settings[data].dataset
    return dataset_title(dataset) + data.removeprefix(dataset)


def _dot(runs: RunTable, data: str, method: str, style: LineStyle) -> Dot:
    values = runs.values(data, method)
    remark = runs_remark(runs, data, method)
    mean, error = runs.mean(data, method), standard_error(values)
    return Dot(runs.display_name(method), mean, error, style, remark)


def ranks_chart(
    scores: Any, metric: str = "accuracy", *, reference: str | None = None, alpha: float = 0.05
) -> RanksChart:
    """Return the critical difference diagram of a study; baselines take no part.

    Reports have it from ten datasets on.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with three methods and two datasets or more.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method to highlight.
    alpha : float, default=0.05
        Level of significance of Nemenyi's test.

    See Also
    --------
    significance_table : The ranks as numbers, with tests.
    draw_figure : Draws the chart.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import make_report, ranks_chart
    >>> chart = ranks_chart(make_report(result).scores)
    >>> sorted(chart.ranks)
    ['CLPL', 'PLKNN', 'PLSVM']
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
    n_runs: int | None = None,
) -> LineChart:
    """Return the mean over runs of every variant after each epoch, with a bar at the end.

    The bar is one standard error of the mean over runs.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_runs, n_epochs)
        Held-out accuracy of the variants, by label.
    title : str
        Title of the chart, such as the name of the dataset.
    reference : str, optional
        Label of the variant to highlight.
    names : mapping of str to str, optional
        Names of variants in the legend, if they differ from the labels.
    n_runs : int, optional
        Number of runs to name in the caption, if the curves are already means.

    See Also
    --------
    draw_figure : Draws the chart.

    Examples
    --------
    >>> from disambig.bench import epochs_chart
    >>> curves = {"NCPD": [[0.5, 0.7], [0.4, 0.6]], "w/o NC": [[0.5, 0.6]]}
    >>> chart = epochs_chart(curves, title="Lost", reference="NCPD")
    >>> [line.name for line in chart.series]
    ['NCPD', 'w/o NC']
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
        errors = (standard_error(by_run) for by_run in values.T)
        name = (names or {}).get(label, label)
        series.append(
            Series(
                name,
                range(1, len(means) + 1),
                means,
                style,
                [math.nan if error is None else error for error in errors],
                label=f"{name} {means[-1]:.3f}",
            )
        )
    n_runs = n_runs or max(len(curves[label]) for label in curves)
    return LineChart(
        title,
        series,
        x_title="epoch",
        y_title="held-out accuracy",
        caption=f"Mean over {n_runs} runs (folds and seeds), and its value after the last epoch; "
        "bars there are one standard error of that mean.",
        has_end_bars=True,
    )
