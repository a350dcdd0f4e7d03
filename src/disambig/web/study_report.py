"""The page of a study."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from markupsafe import Markup

from disambig.bench.crossval import mean_and_std
from disambig.bench.curve_limits import corrupted_settings, curve_limits, mean_of
from disambig.bench.method_looks import Look, cell_looks, method_looks
from disambig.bench.ranking import rank_methods
from disambig.bench.report import Report
from disambig.bench.run_details import failure_table, run_details, seconds_table
from disambig.bench.run_table import Cells, accuracy_by_epoch, read_cells
from disambig.bench.settings import can_be_toml, given_settings, settings_text
from disambig.metrics import metric_title
from disambig.web.charts.comparisons import Dot, dot_chart, rank_diagram
from disambig.web.charts.lines import line_chart
from disambig.web.charts.series import Series, legend
from disambig.web.markup import details_list, element, fragment, note, table_html
from disambig.web.shell import Section, render_page

__all__ = ["curve_charts", "dot_charts", "epoch_charts", "rank_chart", "study_page"]


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


_BOUNDS = (
    "Floors and ceilings are there for scale: a floor is what a method should be above, a ceiling "
    "learned from the true labels. They are the last columns or rows of tables and the thin grey "
    "lines of charts."
)
_CURVES = (
    "The mean over runs against the share of rows that were given false labels; r is how many each "
    "of them got. Panels of a dataset have the same scale."
)
_AGAIN = "Save them as a TOML file beside the data, and 'disambig study FILE' runs the study again."
_AGAIN_IN_PYTHON = (
    "In JSON, because TOML has no word for null. In Python, Study(**json.loads(...)) is the "
    "study, to be run again beside the data."
)
_DOTS = "The mean over runs and its standard deviation, on data with candidate sets of its own."


def study_page(report: Report, *, command: str | None = None) -> str:
    """Return the report of a study as one HTML file.

    Parameters
    ----------
    report : Report
        What to show.
    command : str, optional
        What made it.
    """
    study = report.result.plan.study
    return render_page(
        title=study.name,
        lead=_lead(report),
        sections=[_found(report), *_results(report), _run(report, command), *_failures(report)],
    )


def _lead(report: Report) -> str:
    study, result = report.result.plan.study, report.result
    n_jobs = len(result.jobs())
    jobs = f"{n_jobs} job{'' if n_jobs == 1 else 's'}, {len(result.failed)} failed."
    about = " ".join(study.about.split())
    return f"{about} Protocol: {study.protocol.sentence}. {jobs}".lstrip()


def _found(report: Report) -> Section:
    missing = [element("li", {"class": "warn"}, line) for line in report.missing]
    return Section(
        "found",
        "What was found",
        fragment(
            element("ul", None, *missing) if missing else "",
            element("ul", None, *(element("li", None, line) for line in report.findings)),
        ),
    )


def _results(report: Report) -> Iterator[Section]:
    main, *others = report.tables_in_order()
    table = table_html(report.tables[main], name=main)
    yield Section("main", "The table", fragment(table, note(_BOUNDS)))
    yield from _charts(report)
    if others:
        tables = (table_html(report.tables[name], name=name) for name in others)
        yield Section("tables", "More tables", fragment(*tables))


def _charts(report: Report) -> Iterator[Section]:
    study = report.result.plan.study
    reference = study.reference_title
    by_epoch = accuracy_by_epoch(report.result)
    if by_epoch:
        cells = read_cells(report.scores, "accuracy")
        yield Section("epochs", "Accuracy by epoch", epoch_charts(by_epoch, cells, reference))
    for metric in study.metrics:
        cells, title = read_cells(report.scores, metric), metric_title(metric)
        title = title[:1].upper() + title[1:]
        corrupted = corrupted_settings(cells)
        if corrupted:
            body = fragment(note(_CURVES), curve_charts(cells, reference))
            yield Section(f"{metric}-curves", f"{title} with more and more false labels", body)
        others = [data for data in cells.data if data not in corrupted]
        if others:
            body = fragment(note(_DOTS), dot_charts(cells, others, reference))
            yield Section(f"{metric}-dots", f"{title} by dataset", body)
        ranks = rank_chart(cells, reference)
        if ranks is not None:
            yield Section(f"{metric}-ranks", f"Ranks by {metric_title(metric)}", ranks)


def _run(report: Report, command: str | None) -> Section:
    study = report.result.plan.study
    details = run_details(report.result)
    if command:
        details.insert(0, ("Command", element("code", None, command)))
    # The name of a file says enough; where it was is nobody's business.
    settings = given_settings(study, lambda path: PurePath(path).name)
    frame = {"tabindex": 0, "role": "region", "aria-label": "Settings of the study"}
    return Section(
        "run",
        "How it was run",
        fragment(
            details_list(details),
            element("h3", None, "Settings"),
            note(_AGAIN if can_be_toml(settings) else _AGAIN_IN_PYTHON),
            element("pre", frame, element("code", None, settings_text(settings))),
            table_html(seconds_table(report.scores), name="seconds"),
        ),
    )


def _failures(report: Report) -> Iterator[Section]:
    if report.result.failed:
        table = table_html(failure_table(report.result), name="failures")
        yield Section("failed", "What failed", table)
