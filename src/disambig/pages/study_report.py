"""The report of a study as one page: what was found, tables, charts, and how to run it again."""

from collections.abc import Iterator
from pathlib import PurePath

from disambig.pages.markup import details_list, element, fragment, note
from disambig.pages.shell import Section, render_page
from disambig.pages.study_charts import curve_charts, dot_charts, epoch_charts, rank_chart
from disambig.pages.tables import table_html
from disambig.report.cells import read_cells
from disambig.report.contents import Report
from disambig.report.curve_limits import corrupted_settings
from disambig.report.metric_names import metric_title
from disambig.report.run_details import failure_table, run_details, seconds_table
from disambig.report.scores import accuracy_by_epoch
from disambig.study.settings_text import can_be_toml, given_settings, settings_text

__all__ = ["study_page"]

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
