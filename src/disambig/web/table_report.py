"""The page of a cleaned table."""

from collections.abc import Iterator, Sequence

import numpy as np

from disambig._core.messages import plural, rough_number, row_count
from disambig.bench.formats import Table
from disambig.bench.wording import MISSING
from disambig.candidates.audit import CandidateAudit, audit_candidates
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.doubt import find_doubt
from disambig.tabular.evidence import Evidence, gather_evidence
from disambig.tabular.provenance import TRUE_LABELS
from disambig.web.answer_section import Statement, answer_section, next_step, right_labels
from disambig.web.charts.reliability import reliability_diagram
from disambig.web.doubt_section import doubt_section
from disambig.web.doubtful_rows import (
    SETTLE_SCRIPTS,
    SETTLE_STYLES,
    doubtful_data,
    settle_section,
)
from disambig.web.groups_section import groups_section
from disambig.web.making_section import making_section
from disambig.web.markup import element, fragment, table_html
from disambig.web.misses_section import misses_section
from disambig.web.shell import Section, render_page


def table_page(
    rows: CleanedTable,
    *,
    title: str,
    most_rows: int = DEFAULT_ROWS_SHOWN,
    source: str = "",
    command: Sequence[str] = (),
) -> str:
    """Return the report of a cleaned table, or of a model, as one HTML file.

    Parameters
    ----------
    rows : CleanedTable
        The rows of a cleaned table, or of a model.
    title : str
        The title of the page.
    most_rows : int, default=10,000
        Most rows to show for review; the most doubtful come first.
    source : str, optional
        The table that was cleaned, to be named on the page.
    command : sequence of str, optional
        Arguments of ``disambig`` that make the page. It says how to make it again.

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
    audit, doubt, evidence = audit_candidates(rows.candidates), find_doubt(rows), _evidence(rows)
    sections = [
        answer_section(rows, doubt, evidence),
        *doubt_section(rows, doubt),
        Section("classes", "Label by label", table_html(_classes(rows, audit), name="labels")),
        settle_section(),
        *_reliability(rows, evidence),
        *misses_section(rows),
        *groups_section(rows),
        making_section(rows, audit, source=source, command=command),
    ]
    return render_page(
        title=title,
        lead=_lead(rows),
        sections=sections,
        scripts=("charts.js", "tables.js", "copy.js", "print.js", *SETTLE_SCRIPTS),
        styles=SETTLE_STYLES,
        data={"doubtful": doubtful_data(rows, most=most_rows)},
    )


def table_answer(rows: CleanedTable) -> tuple[Statement, Statement]:
    """Return what the page says first, for a terminal: how many labels are right, what to do."""
    doubt = find_doubt(rows)
    return right_labels(rows, doubt), next_step(rows, doubt)


def _evidence(rows: CleanedTable) -> Evidence | None:
    """Return what the cleaning has said, or what the table itself says."""
    return rows.evidence or gather_evidence(
        rows.candidates, rows.candidates.classes[rows.chosen], rows.confidence
    )


def _lead(rows: CleanedTable) -> str:
    judged_by = rows.provenance.judged_by
    n_labels = len(rows.candidates.classes)
    chosen = f" Labels were chosen by {judged_by}." if judged_by else ""
    return (
        f"{row_count(len(rows.candidates))} and {plural(n_labels, 'label')}. Every row has "
        f"candidate labels, one of which should be right.{chosen}"
    )


def _reliability(rows: CleanedTable, evidence: Evidence | None) -> Iterator[Section]:
    if evidence is None or evidence.reliability is None:
        return
    body = reliability_diagram(evidence.reliability)
    if rows.provenance.calibrated_on == TRUE_LABELS:
        remark = (
            "The confidences were calibrated on these labels, so it proves nothing that they agree."
        )
        body = fragment(element("p", None, remark), body)
    yield Section("reliability", "Are the confidences right?", body)


def _classes(rows: CleanedTable, audit: CandidateAudit) -> Table:
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
        "expected wrong": map(rough_number, errors),
        "second look": map("{:,}".format, looks.tolist()),
    }
    return Table(
        title="What happened to every label",
        header=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        notes=(
            "The last four columns are about the rows for which the label was chosen, including "
            "those with a single candidate.",
        ),
    )
