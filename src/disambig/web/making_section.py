"""The section that closes the page of a table: how it was made, and what went into it."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from markupsafe import Markup

from disambig._core.messages import row_count
from disambig.bench.charts import LineChart, Series
from disambig.bench.line_styles import LineStyle
from disambig.candidates.audit import CandidateAudit
from disambig.tabular.cleaned_table import CleanedTable
from disambig.web.charts.grids import bar_chart, heat_map
from disambig.web.charts.histogram import histogram
from disambig.web.charts.lines import line_chart
from disambig.web.markup import details_list, element, fragment
from disambig.web.shell import Section

_MOST_CLASSES = 25
_MOST_SIZES = 12
_BIN = 0.05
_NARROW_BIN = 0.025
_STYLE = LineStyle(color=0, marker=0, dash=())
# The measures of a training that are drawn: their names for readers, and what they are.
_MEASURES = {
    "T": ("Share of small losses used, T", "How much of its losses a network learns from."),
    "simple": (
        "Simple rows",
        "Share of the rows for which a network has singled out a candidate; in the others, "
        "candidates keep equal confidences.",
    ),
    "agreement": ("Agreement", "How often the networks predict the same label."),
    "covering_rate": ("Covering rate", "How often the prediction is one of the candidates."),
}


def making_section(
    rows: CleanedTable, audit: CandidateAudit, *, source: str = "", command: Sequence[str] = ()
) -> Section:
    """Return when, from what and by which commands a table and its page were made.

    ``source`` is the table that was cleaned, ``command`` the arguments of disambig that made the
    page. Settings, and charts of sets, confidences and trainings, are closed at first.
    """
    made = rows.provenance
    entries: list[tuple[str, str]] = []
    if made.made_at:
        entries.append(("cleaned on", _date(made.made_at)))
    if source:
        entries.append(("from", source))
    if made.command:
        entries.append(("clean again", _command(made.command, "clean-again")))
    if command:
        entries.append(("make this page again", _command(command, "page-again")))
    sets = element("div", {"class": "charts"}, _size_chart(audit), _pair_chart(audit))
    several = rows.candidates.sizes > 1
    charts = [
        element("h3", None, "The candidate sets"),
        sets,
        element("h3", None, "How sure the choices are") if several.any() else "",
        _confidences(rows) if several.any() else "",
    ]
    if rows.histories:
        n = len(rows.histories)
        whose = f"the mean over {n:,} trainings" if n > 1 else "one training"
        about = f"By epoch, as seen while training, with dropout: {whose}."
        charts += [
            element("h3", None, "How training went"),
            element("p", {"class": "note"}, about),
            element("div", {"class": "charts small"}, *_training(rows.histories)),
        ]
    closed = element(
        "details",
        {"class": "more"},
        element("summary", None, "Settings, candidate sets, confidences, training"),
        details_list(made.about.items()) if made.about else "",
        *charts,
    )
    body = fragment(details_list(entries) if entries else "", closed)
    return Section("details", "How it was made", body)


def _date(made_at: str) -> str:
    """Return a date and a time in UTC for people; a text that holds none stays as it is."""
    try:
        return f"{datetime.fromisoformat(made_at):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return made_at


def _command(words: Sequence[str], name: str) -> Markup:
    """Return a command in one line, with a button that a script shows."""
    line = element("code", {"id": name}, f"disambig {shlex.join(words)}")
    copy = {"type": "button", "class": "copy", "data-copy": name, "hidden": True}
    return element("span", {"class": "command"}, line, element("button", copy, "Copy"))


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
    together = audit.cooccurrence[order][:, order].toarray().tolist()
    left_out = audit.n_classes - len(order)
    caption = (
        "Number of rows in which two labels are both candidates; on the diagonal, in which a label "
        "is a candidate. Labels that are always together cannot be told apart."
    )
    if left_out:
        caption += f" The {len(order)} most frequent labels; {left_out:,} others are left out."
    texts = [[f"{count:,}" for count in row] for row in together]
    return heat_map("Labels that occur together", names, together, texts=texts, caption=caption)


def _confidences(rows: CleanedTable) -> Markup:
    """Return how sure the choices are, and up to where they are marked for a second look."""
    chosen = rows.candidates.sizes > 1
    # Of these the true label was chosen, because it is known.
    chosen[list(rows.unaided_confidences)] = False
    confidence = rows.confidence[chosen]
    # Of so many candidates one has at least that, unless the right label may be none of them.
    least = min(1 / int(rows.candidates.sizes.max()), float(confidence.min(initial=1)))
    width = _NARROW_BIN if least >= 0.5 else _BIN
    n_bins = max(1, round((1 - np.floor(least / width + 1e-9) * width) / width))
    edges = [round(1 - width * place, 3) for place in range(n_bins, -1, -1)]
    counts, _ = np.histogram(confidence, bins=edges)
    marked = rows.confidence[rows.second_look & chosen]
    threshold = None
    if len(marked):
        threshold = (float(marked.max()), f"second look: up to {marked.max():.2f}")
    return histogram(
        "Confidence of the chosen label",
        counts.tolist(),
        edges,
        x_title="confidence",
        caption=f"{row_count(int(chosen.sum()))} with several candidates and no known true label.",
        threshold=threshold,
    )


def _training(histories: Sequence[Mapping[str, Sequence[float | None]]]) -> list[Markup]:
    """Return a chart for every measure: their lines would lie on each other in one."""
    charts = []
    for name, (title, caption) in _MEASURES.items():
        runs = [history[name] for history in histories if name in history]
        if runs:
            means = _means_by_epoch(runs)
            one = Series(title, range(1, len(means) + 1), means, _STYLE)
            chart = LineChart(
                title, [one], x_title="epoch", y_title="share", y_range=(0, 1), caption=caption
            )
            charts.append(line_chart(chart, has_legend=False))
    return charts


def _means_by_epoch(runs: Sequence[Sequence[float | None]]) -> list[float]:
    """Return the mean after every epoch, over the trainings that got that far."""
    means = []
    for epoch in range(max(map(len, runs))):
        reached = [
            value for run in runs if (value := run[epoch] if epoch < len(run) else None) is not None
        ]
        means.append(float(np.mean(reached)) if reached else float("nan"))
    return means
