"""The section of a report about candidate sets that may miss the right label."""

from collections.abc import Iterable, Iterator

import numpy as np

from disambig._core.messages import about, capitalized, is_or_are, percent, rough_number
from disambig._core.typing import FloatArray, IntArray
from disambig.bench.formats import Table
from disambig.bench.wording import MISSING
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.web.markup import element, fragment, note, table_html
from disambig.web.shell import Section

_MOST_ROWS = 20
_MOST_LABELS = 5
_EVEN = 0.5


def misses_section(rows: CleanedTable) -> list[Section]:
    """Return the section, or nothing where misses were not estimated."""
    probability, label = rows.miss_probability, rows.label_if_missed
    if probability is None or label is None:
        return []
    expected = float(probability.sum())
    sets, likely = about(expected, "set"), int((probability > _EVEN).sum())
    of_all = f" ({percent(expected / len(probability))} of all)" if expected else ""
    sentences = [
        f"{capitalized(sets)}{of_all} {is_or_are(expected)} expected to miss the right label"
        + (f", {likely:,} of them more likely than not." if likely else "."),
    ]
    if rows.provenance.misses is not None:
        sentences.append(str(rows.provenance.misses))
    parts = [element("p", None, " ".join(sentences))]
    if left_out := _labels_left_out(rows, probability, label):
        parts.append(element("p", None, f"Missing most often, in expected rows: {left_out}."))
    worst = _worst_rows(rows, probability, label)
    if worst.rows:
        parts.append(table_html(worst, name="misses-table"))
    else:
        parts.append(element("p", None, "No row is marked for a second look because of this."))
    parts.append(
        note(
            "Judged by models that had not seen the row; rows with a single label too. The number "
            "is the sum of the probabilities of all rows, and only as good as these."
        )
    )
    return [Section("misses", "Sets that may miss the right label", fragment(*parts))]


def _labels_left_out(rows: CleanedTable, probability: FloatArray, label: IntArray) -> str:
    """Return the labels that sets miss most often, each with the expected number of rows."""
    known = label >= 0
    names = rows.candidates.classes
    expected = np.bincount(label[known], weights=probability[known], minlength=len(names))
    most = np.argsort(-expected, kind="stable")[:_MOST_LABELS].tolist()
    shown = [i for i in most if expected[i] >= _EVEN]
    return ", ".join(f"{names[i]} {rough_number(float(expected[i]))}" for i in shown)


def _worst_rows(rows: CleanedTable, probability: FloatArray, label: IntArray) -> Table:
    """Return the marked rows whose set most probably misses the right label."""
    marked = np.flatnonzero(rows.second_look & rows.set_may_miss)
    ordered = marked[np.argsort(-probability[marked], kind="stable")]
    shown = ordered[:_MOST_ROWS]
    classes = rows.candidates.classes
    header = ["row", "candidates", "chosen", "probability of a miss", "label if missed"]
    columns: list[Iterable[str]] = [
        map(str, (shown + 1).tolist()),
        _sets(rows, shown),
        (str(classes[place]) for place in rows.chosen[shown].tolist()),
        (f"{value:.2f}" for value in probability[shown]),
        (str(classes[place]) if place >= 0 else MISSING for place in label[shown].tolist()),
    ]
    if rows.id is not None:
        names = DecidedRows(rows.values, rows.id).names_of(shown.tolist())
        header.insert(1, rows.id)
        columns.insert(1, names)
    more = f"{len(ordered):,} rows are marked for this. " if len(ordered) > len(shown) else ""
    return Table(
        title="The rows whose set is most likely to miss it",
        header=tuple(header),
        rows=tuple(zip(*columns, strict=True)),
        notes=(
            f"{more}They can be settled in the list of rows, where they can also be shown alone.",
        ),
    )


def _sets(rows: CleanedTable, shown: IntArray) -> Iterator[str]:
    """Yield the candidates of each row with their confidences."""
    _, columns = rows.candidates.pairs()
    classes = rows.candidates.classes
    starts, sizes = rows.candidates.starts, rows.candidates.sizes
    for row in shown.tolist():
        pairs = range(starts[row], starts[row] + sizes[row])
        yield ", ".join(f"{classes[columns[i]]} {rows.confidences[i]:.2f}" for i in pairs)
