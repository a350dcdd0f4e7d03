"""The section about expected errors: how fast a review removes them, and between which labels."""

import numpy as np
from markupsafe import Markup

from disambig._core.messages import plural, rough_number, row_count
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.doubt import Doubt
from disambig.web.answer_section import FIRST_ROWS
from disambig.web.charts.grids import heat_map
from disambig.web.charts.named_bars import NamedBar, named_bars
from disambig.web.charts.review_curve import Stop, review_curve
from disambig.web.markup import element, fragment
from disambig.web.shell import Section

_MOST_BARS = 6
_MOST_CLASSES = 25
# Of more rows the first ones would be drawn at the axis.
_MOST_APART = 100
# A map of so many labels fits below the bars.
_MOST_BESIDE = 10


def doubt_section(rows: CleanedTable, doubt: Doubt) -> list[Section]:
    """Return the section, or nothing where no error is expected."""
    if doubt.errors < 0.05:
        return []
    curve = review_curve(doubt.left, _stops(doubt))
    beside: list[Markup] = []
    below: list[Markup] = []
    if doubt.pairs:
        names, cells = _label_map(rows, doubt)
        beside.append(_pair_bars(doubt))
        (beside if len(names) <= _MOST_BESIDE else below).append(cells)
    others = element("div", None, *beside) if beside else ""
    charts = element("div", {"class": "charts"}, curve, others)
    body = fragment(charts, *below)
    return [Section("doubt", "Where errors are expected", body)]


def _stops(doubt: Doubt) -> list[Stop]:
    """Return where a review may stop: after a first sitting, and after the rows that are marked."""
    is_apart = FIRST_ROWS < doubt.n_marked <= _MOST_APART * FIRST_ROWS
    first = [Stop(FIRST_ROWS, f"{FIRST_ROWS} rows")] if is_apart else []
    marked = Stop(doubt.n_marked, f"second look, {row_count(doubt.n_marked)}")
    return [*first, marked] if doubt.n_marked else first


def _pair_bars(doubt: Doubt) -> Markup:
    bars = [
        NamedBar(
            " or ".join(pair.labels),
            pair.errors,
            rough_number(pair.errors),
            f"in {row_count(pair.n_rows)}",
        )
        for pair in doubt.pairs[:_MOST_BARS]
    ]
    if more := doubt.n_pairs - len(bars):
        rest = doubt.errors - doubt.outside - sum(bar.value for bar in bars)
        name = f"{plural(more, 'other pair')}"
        bars.append(NamedBar(name, rest, rough_number(rest), "together", has_bar=False))
    if doubt.outside >= 0.5:
        outside = rough_number(doubt.outside)
        bars.append(NamedBar("none of the candidates", doubt.outside, outside, "", has_bar=False))
    return named_bars(
        "Doubt by pair of labels",
        bars,
        header=("labels", "expected errors", ""),
        caption="Expected errors: one of the two labels was chosen, and the other is right.",
    )


def _label_map(rows: CleanedTable, doubt: Doubt) -> tuple[list[str], Markup]:
    """Return the labels with the most expected errors, and what they may be taken for."""
    table = doubt.by_label
    involved = np.asarray(table.sum(axis=0)).ravel() + np.asarray(table.sum(axis=1)).ravel()
    order = np.argsort(-involved, kind="stable")
    order = order[involved[order] > 0][:_MOST_CLASSES]
    names = [str(rows.candidates.classes[place]) for place in order.tolist()]
    values = table[order][:, order].toarray()
    # A name is not taken for itself.
    texts = [
        ["" if i == j else rough_number(value) for j, value in enumerate(row)]
        for i, row in enumerate(values.tolist())
    ]
    left_out = int((involved > 0).sum()) - len(order)
    caption = (
        "Expected errors by the label that was chosen (on the left) and the one that is right (on "
        "top)."
    )
    if left_out:
        caption += f" The {len(order)} most doubtful labels; {left_out:,} others are left out."
    return names, heat_map(
        "Chosen label and right label",
        names,
        values.tolist(),
        texts=texts,
        tip="{} chosen, {} right",
        header=("chosen", "right", "expected errors"),
        caption=caption,
    )
