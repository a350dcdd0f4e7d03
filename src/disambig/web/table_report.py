"""The page of a cleaned table."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from disambig.bench.charts import LineChart, Series
from disambig.bench.formats import Table
from disambig.bench.line_styles import nth_style
from disambig.bench.wording import MISSING
from disambig.candidates.audit import CandidateAudit, audit_candidates
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.evidence import Evidence, gather_evidence
from disambig.web.charts.grids import bar_chart, heat_map
from disambig.web.charts.lines import line_chart
from disambig.web.charts.reliability import reliability_diagram
from disambig.web.doubtful_rows import SETTLE_SCRIPTS, doubtful_data, settle_section
from disambig.web.evidence_section import evidence_section
from disambig.web.markup import details_list, element, fact_list, fragment, note, table_html
from disambig.web.misses_section import misses_section
from disambig.web.shell import Section, render_page

_MOST_CLASSES = 25
_MOST_SIZES = 12
_BINS = 20
# The measures of a training that are drawn, and their names for readers.
_MEASURES = {
    "T": "share of small losses used, T",
    "simple": "share of simple rows",
    "agreement": "agreement of the networks",
    "covering_rate": "covering rate",
}


def table_page(rows: CleanedTable, *, title: str, most_rows: int = DEFAULT_ROWS_SHOWN) -> str:
    """Return the report of a cleaned table, or of a model, as one HTML file.

    Parameters
    ----------
    rows : CleanedTable
        The rows of a cleaned table, or of a model.
    title : str
        The title of the page.
    most_rows : int, default=10,000
        Most rows to show for review; the most doubtful come first.

    See Also
    --------
    disambig.tabular.read_cleaned : Makes ``rows`` from a cleaned table.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import clean_table, read_cleaned
    >>> from disambig.web import table_page
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> page = table_page(read_cleaned(cleaned), title="Vehicles")
    >>> print(page[:15])
    <!doctype html>
    """
    audit = audit_candidates(rows.candidates)
    of_sets = element("div", {"class": "charts"}, _size_chart(audit), _pair_chart(audit))
    evidence = rows.evidence or gather_evidence(
        rows.candidates, rows.candidates.classes[rows.chosen], rows.confidence
    )
    sections = [] if evidence is None else [evidence_section(evidence)]
    sections += [
        Section("overview", "Overview", _overview(rows, audit)),
        Section("sets", "The candidate sets", of_sets),
    ]
    if rows.histories:
        sections.append(Section("training", "How disambiguation went", _training(rows.histories)))
    sections += [
        Section("confidence", "How sure the labels are", _confidence(rows, evidence)),
        *misses_section(rows),
        Section("classes", "Class by class", _classes(rows, audit)),
        settle_section(),
    ]
    if about := rows.provenance.about:
        sections.append(Section("details", "How it was made", details_list(about.items())))
    return render_page(
        title=title,
        lead="Every row has candidate labels, one of which should be right. This page shows the "
        "chosen label for each row, how sure it is, and which rows to check.",
        sections=sections,
        scripts=("charts.js", "tables.js", *SETTLE_SCRIPTS),
        data={"doubtful": doubtful_data(rows, most=most_rows)},
    )


def _overview(rows: CleanedTable, audit: CandidateAudit) -> Markup:
    n_several = int((rows.candidates.sizes > 1).sum())
    facts = [
        (f"{audit.n_samples:,}", "rows"),
        (f"{audit.n_classes:,}", "labels"),
        (f"{n_several:,}", "rows with several candidates"),
        (f"{audit.average_candidates:.2f}", "candidates per row, on average"),
        (f"{rows.expected_errors:,.1f}", "chosen labels expected to be wrong"),
        (f"{int(rows.second_look.sum()):,}", "rows worth a second look"),
    ]
    parts = [fact_list(facts)]
    if rows.provenance.judged_by:
        parts.append(element("p", None, f"Labels were chosen by {rows.provenance.judged_by}."))
    if rows.provenance.accuracy:
        parts.append(element("p", None, rows.provenance.accuracy))
    parts.append(
        note(
            "A label of confidence c is expected to be wrong with probability 1 - c. This needs no "
            "true labels; the estimate is only as good as the model's confidences.",
        )
    )
    return fragment(*parts)


def _size_chart(audit: CandidateAudit) -> Markup:
    sizes = audit.size_histogram
    counts = {str(size): sizes.get(size, 0) for size in range(1, min(max(sizes), _MOST_SIZES) + 1)}
    larger = sum(count for size, count in sizes.items() if size > _MOST_SIZES)
    if larger:
        counts[f"> {_MOST_SIZES}"] = larger
    return bar_chart(
        "Set sizes",
        list(counts),
        list(counts.values()),
        x_title="candidates per row",
        y_title="rows",
        caption="Rows by number of candidates. A row with one candidate needs no choice.",
    )


def _pair_chart(audit: CandidateAudit) -> Markup:
    order = np.argsort(-audit.candidate_counts, kind="stable")[:_MOST_CLASSES]
    names = [str(audit.classes[place]) for place in order.tolist()]
    together = audit.cooccurrence[order][:, order].toarray()
    left_out = audit.n_classes - len(order)
    caption = (
        "Number of rows in which two labels are both candidates; on the diagonal, in which a label "
        "is a candidate. Labels that are always together cannot be told apart."
    )
    if left_out:
        caption += f" The {len(order)} most frequent labels; {left_out:,} others are left out."
    return heat_map("Labels that occur together", names, together.tolist(), caption=caption)


def _training(histories: Sequence[Mapping[str, Sequence[float | None]]]) -> Markup:
    series: list[Series] = []
    for name, title in _MEASURES.items():
        runs = [history[name] for history in histories if name in history]
        if runs:
            means = _means_by_epoch(runs)
            style = nth_style(len(series))
            series.append(Series(title, range(1, len(means) + 1), means, style))
    n = len(histories)
    whose = f"the mean over {n} trainings" if n > 1 else "one training"
    chart = LineChart(
        "By epoch",
        series,
        x_title="epoch",
        y_title="share",
        y_range=(0, 1),
        caption=f"As seen while training, with dropout; {whose}. A row is simple once a network "
        "has singled out one candidate for it; other rows keep equal confidences. The "
        "covering rate is the share of predictions inside the candidate sets.",
    )
    return line_chart(chart)


def _means_by_epoch(runs: Sequence[Sequence[float | None]]) -> list[float]:
    """Return the mean after every epoch, over the trainings that got that far."""
    means = []
    for epoch in range(max(map(len, runs))):
        reached = [
            value for run in runs if (value := run[epoch] if epoch < len(run) else None) is not None
        ]
        means.append(float(np.mean(reached)) if reached else float("nan"))
    return means


def _confidence(rows: CleanedTable, evidence: Evidence | None) -> Markup:
    several = rows.candidates.sizes > 1
    edges = np.linspace(0, 1, _BINS + 1).round(2)  # so that 0.7 is where a bar begins
    counts, _ = np.histogram(rows.confidence[several], bins=edges)
    labels = [f"{low:.2f}" for low in edges[:-1]]
    tips = [
        f"{count:,} rows\nconfidence {low:.2f} to {high:.2f}"
        for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    ]
    bars = bar_chart(
        "Confidence of the chosen label",
        labels,
        counts.tolist(),
        x_title="confidence (lower end of each bar)",
        y_title="rows",
        caption=f"{int(several.sum()):,} rows with several candidates.",
        tips=tips,
    )
    if evidence is None or evidence.reliability is None:
        return bars
    diagram = reliability_diagram(evidence.reliability)
    return element("div", {"class": "charts"}, bars, diagram)


def _classes(rows: CleanedTable, audit: CandidateAudit) -> Markup:
    n_classes, chosen = audit.n_classes, rows.chosen
    n_chosen = np.bincount(chosen, minlength=n_classes).tolist()
    errors = np.bincount(chosen, weights=1 - rows.confidence, minlength=n_classes).tolist()
    looks = np.bincount(chosen[rows.second_look], minlength=n_classes)
    columns = {
        "label": map(str, audit.classes),
        "candidate in": map("{:,}".format, audit.candidate_counts.tolist()),
        "alone in": map("{:,}".format, audit.alone_counts.tolist()),
        "chosen for": map("{:,}".format, n_chosen),
        "mean confidence": (
            f"{1 - wrong / count:.3f}" if count else MISSING
            for wrong, count in zip(errors, n_chosen, strict=True)
        ),
        "expected wrong": map("{:.1f}".format, errors),
        "second look": map("{:,}".format, looks.tolist()),
    }
    table = Table(
        title="What happened to every label",
        header=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        notes=(
            "The last four columns are about the rows for which the label was chosen, including "
            "those with a single candidate.",
        ),
    )
    return table_html(table, name="classes-table")
