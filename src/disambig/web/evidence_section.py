"""The section that opens the page of a table: how many labels are right, and how that is known."""

from disambig._core.messages import row_count
from disambig.bench.wording import MISSING
from disambig.tabular.evidence import Evidence
from disambig.web.markup import element, fact_list, fragment, note
from disambig.web.shell import Section


def evidence_section(evidence: Evidence) -> Section:
    """Return what a blind guess, the confidences and the checked rows say, side by side."""
    known = evidence.checked
    checked = (
        (MISSING, "checked: no true label is known (--truth names their column)")
        if known is None
        else (
            f"{known.share:.3f}",
            f"checked: {known.low:.3f} to {known.high:.3f} (95 %), from {known.n_rows:,} true "
            "labels",
        )
    )
    facts = [
        (f"{evidence.blind_guess:.3f}", f"blind guess: {evidence.blind_guess_about}"),
        (f"{evidence.expected:.3f}", "expected: the mean confidence of the model's choices"),
        checked,
    ]
    rows = row_count(evidence.rows)
    body = fragment(
        element("p", None, f"Share of right labels in the {rows} with several candidates:"),
        fact_list(facts),
        element("p", {"class": "warn"}, evidence.warning) if evidence.warning else "",
        note(
            "Rows with one candidate are left out, because there was nothing to choose. What is "
            "expected is only as good as the model's confidences; what is checked is the model's "
            "choice, made without the true label of the row."
        ),
    )
    return Section("evidence", "How many labels are right", body)
