"""The page of a study."""

from collections.abc import Iterator
from pathlib import PurePath

from markupsafe import Markup

from disambig._core.messages import plural
from disambig.bench.charts import Chart, CurvesChart, DotsChart, LineChart, RanksChart
from disambig.bench.report import Report
from disambig.bench.run_details import failure_table, run_details, seconds_table
from disambig.bench.settings import can_be_toml, given_settings, settings_text
from disambig.metrics.registry import metric_title
from disambig.web.charts.comparisons import dot_charts, rank_diagram
from disambig.web.charts.lines import curve_charts, line_chart
from disambig.web.markup import details_list, element, fragment, note, table_html
from disambig.web.shell import Section, render_page

_BASELINES = (
    "LR is logistic regression: on a random candidate of every row, and on the true labels. Both "
    "are there for scale and are not bounds: a method that learns otherwise can be worse than the "
    "first or better than the second. They are the last columns or rows of tables and the thin "
    "grey lines of charts."
)
_CURVES = (
    "p is the share of rows that were given false labels, r how many each of them got. Panels of a "
    "dataset have the same scale."
)
_AGAIN = "Save them as a TOML file beside the data, and 'disambig study FILE' runs the study again."
_AGAIN_IN_PYTHON = (
    "In JSON, because TOML cannot write null. In Python, Study(**json.loads(...)) makes the study "
    "again; run it beside the data."
)
_DOTS = "Data with its own candidate sets."


def study_page(report: Report, *, command: str | None = None) -> str:
    """Return the report of a study as one HTML file.

    Parameters
    ----------
    report : Report
        What to show.
    command : str, optional
        The command that made it.

    See Also
    --------
    disambig.bench.make_report : Makes the report from the records of a study.
    disambig.bench.write_report : Writes the page with tables and figures into a folder.

    Examples
    --------
    Continues the example of :func:`disambig.bench.run_study`:

    >>> from disambig.bench import make_report
    >>> from disambig.web import study_page
    >>> page = study_page(make_report(result))
    >>> print(page[:15])
    <!doctype html>
    """
    study = report.result.plan.study
    return render_page(
        title=study.heading,
        lead=_lead(report),
        sections=[_found(report), *_results(report), _run(report, command), *_failures(report)],
    )


def _lead(report: Report) -> str:
    study, result = report.result.plan.study, report.result
    jobs = f"{plural(len(result.jobs()), 'job')}, {len(result.failed)} failed."
    about = " ".join(study.about.split())
    return f"{about} Protocol: {study.protocol.sentence}. {jobs}".lstrip()


def _found(report: Report) -> Section:
    caveats = [element("li", {"class": "warn"}, line) for line in report.caveats]
    details = element("ul", None, *(element("li", None, line) for line in report.findings))
    return Section(
        "found",
        "What was found",
        fragment(
            element("ul", None, *caveats) if caveats else "",
            element("ul", None, *(element("li", None, line) for line in report.brief)),
            element("details", None, element("summary", None, "In detail"), details),
        ),
    )


def _results(report: Report) -> Iterator[Section]:
    main, *others = report.tables_in_order()
    table = table_html(report.tables[main], name=main)
    yield Section("main", "The table", fragment(table, note(_BASELINES)))
    yield from _charts(report)
    if others:
        tables = (table_html(report.tables[name], name=name) for name in others)
        yield Section("tables", "More tables", fragment(*tables))


def _charts(report: Report) -> Iterator[Section]:
    epochs = [chart for chart in report.charts.values() if isinstance(chart, LineChart)]
    if epochs:
        drawn = element("div", {"class": "charts"}, *map(line_chart, epochs))
        yield Section("epochs", "Accuracy by epoch", drawn)
    for metric in report.result.plan.study.metrics:
        name = metric_title(metric)
        title = name[:1].upper() + name[1:]
        headings = {
            "curves": f"{title} with more and more false labels",
            "groups": f"{title} where rows and where whole groups are held out",
            "dots": f"{title} by dataset",
            "ranks": f"Ranks by {name}",
        }
        for kind, heading in headings.items():
            chart = report.charts.get(f"{metric}_{kind}")
            if chart is not None:
                yield Section(f"{metric}-{kind}", heading, _draw(chart, kind))


def _draw(chart: Chart, kind: str) -> Markup:
    match chart:
        case CurvesChart():
            about = f"{chart.caption} {_CURVES if kind == 'curves' else ''}".rstrip()
            return fragment(note(about), curve_charts(chart))
        case DotsChart():
            return fragment(note(f"{_DOTS} {chart.caption}"), dot_charts(chart))
        case RanksChart():
            return rank_diagram(chart)
        case LineChart():
            return line_chart(chart)


def _run(report: Report, command: str | None) -> Section:
    study = report.result.plan.study
    details = run_details(report.result)
    if command:
        details.insert(0, ("Command", element("code", None, command)))
    # Only the names of files: where they were is private.
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
