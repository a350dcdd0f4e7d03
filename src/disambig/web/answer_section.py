"""The section that opens the page of a table: what is right, what is in doubt, what to do next."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from disambig._core.messages import (
    about,
    about_number,
    capitalized,
    is_or_are,
    join_with_and,
    percent,
    plural,
    printable,
    rough_number,
    row_count,
)
from disambig.tabular.accuracy import Accuracy
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import SECONDS_PER_ANSWER
from disambig.tabular.doubt import Doubt, DoubtfulPair
from disambig.tabular.evidence import Evidence
from disambig.tabular.provenance import TRUE_LABELS, Provenance
from disambig.web.markup import element, fragment
from disambig.web.shell import Section

# What a first sitting may reach.
FIRST_ROWS = 50
_MOST_PAIRS = 3
# Pairs with less of the expected errors than this are not worth a name each.
_SPREAD = 0.1
_MOST = 0.5
_LONGEST_LABEL = 60


class Statement(NamedTuple):
    """A paragraph of the answer: what to take away, and what is to be said of it."""

    gist: str
    rest: str
    kind: str | None = None  # a class of the style sheet

    def __str__(self) -> str:
        return f"{self.gist}{self.rest}"


def answer_section(rows: CleanedTable, doubt: Doubt, evidence: Evidence | None) -> Section:
    """Return in sentences what a reader of a report wants to know first."""
    statements = [
        right_labels(rows, doubt),
        *_how_it_is_known(rows, evidence),
        *where_doubt_is(rows, doubt),
        next_step(rows, doubt),
    ]
    paragraphs = [
        element("p", {"class": one.kind}, element("strong", None, one.gist), one.rest)
        if one.gist
        else element("p", {"class": one.kind}, one.rest)
        for one in statements
    ]
    if doubt.n_marked:
        start = f"Start with the least sure of {row_count(doubt.n_marked)}"
        if doubt.n_marked == 1:
            start = "Settle it"
        link = element("a", {"class": "button", "href": "#settle"}, start)
        paragraphs.append(element("p", {"class": "screen-only"}, link))
    return Section("answer", "How many labels are right", fragment(*paragraphs))


def right_labels(rows: CleanedTable, doubt: Doubt) -> Statement:
    """Return how many of all labels are right, as the confidences say, and whose these are."""
    n_rows, errors = len(rows.candidates), doubt.errors
    labels = f"{'' if n_rows == 1 else 'All '}{plural(n_rows, 'label')}"
    if not (rows.candidates.sizes > 1).any() and errors < 0.5:
        are = "The label was" if n_rows == 1 else f"{labels} were"
        return Statement(
            f"{are} there before.",
            " No row has several candidates, so there was nothing to choose.",
            "answer",
        )
    are = is_or_are(errors) if errors > 0 else "is"
    wrong = f"{capitalized(about_number(errors))} {are} expected to be wrong"
    if n_rows == 1:
        gist = f"The label is right with a probability of {percent(1 - errors)}."
        return Statement(gist, f" {_source(rows)}", "answer")
    if errors < 0.5:
        gist = f"All {n_rows:,} labels should be right."
    else:
        share = percent(max(0.0, 1 - errors / n_rows))
        share = f"About {share}" if share[0].isdigit() else capitalized(share)
        gist = f"{share} of the {n_rows:,} labels are right."
    return Statement(gist, f" {wrong}. {_source(rows)}", "answer")


def _source(rows: CleanedTable) -> str:
    """Return how far the expected number of errors can be trusted."""
    made = rows.provenance
    if made.has_seen_rows:
        return (
            "That is the model's own estimate. It was trained on these rows, so it is "
            "overconfident: expect more errors."
        )
    if made.calibrated_on:
        return f"That is an estimate from confidences calibrated on {made.calibrated_on}."
    calibrated = "are not known to be" if made.calibrated_on is None else "were not"
    return f"That is the model's own estimate, from confidences that {calibrated} calibrated."


def _how_it_is_known(rows: CleanedTable, evidence: Evidence | None) -> Iterator[Statement]:
    """Yield what is known of the rows with several candidates, and which other labels count."""
    if evidence is not None:
        yield Statement("", f"{_ambiguous(evidence)} {_checked(evidence, rows.provenance)}")
        if evidence.warning:
            yield Statement("", evidence.warning, "warn")
    if (others := _all_rows(rows)) and evidence is not None:
        yield Statement("", others, "note")


def _ambiguous(evidence: Evidence) -> str:
    right, blind = percent(evidence.expected), percent(evidence.blind_guess)
    if evidence.rows == 1:
        guess = "the weights alone" if evidence.weighted else "a blind guess"
        return (
            "One row has several candidates: the model's choice is right with a probability of "
            f"{right}, {guess} with one of {blind}."
        )
    guess = (
        f"the weights alone would be right in {blind}"
        if evidence.weighted
        else f"a blind guess would be right in {blind}"
    )
    return (
        f"In the {evidence.rows:,} rows with several candidates, the model expects {right} of its "
        f"choices to be right; {guess}."
    )


def _checked(evidence: Evidence, made: Provenance) -> str:
    """Return what the true labels of these rows say of the model's choices.

    They prove nothing of confidences that were calibrated on them.
    """
    known, found = evidence.checked, evidence.reliability
    if made.held_out is not None:
        return (
            "Models that had not seen the row were right for "
            f"{_of_known(made.held_out)} of {row_count(made.held_out.n_rows)} whose true label is "
            "known."
        )
    if known is None or found is None:
        none = "Its true label is not" if evidence.rows == 1 else "No true label of them is"
        return f"{none} known, so this has not been checked (--truth names the column of some)."
    expected = about(found.expected_errors, "error")
    errors = f"{'is' if found.errors == 1 else 'are'} {found.errors:,}"
    if known.n_rows == 1:
        label = "Its true label" if evidence.rows == 1 else "The true label of one of them"
        return f"{label} is known: the choice is {'wrong' if found.errors else 'right'}."
    is_proof = made.calibrated_on != TRUE_LABELS
    proof = "" if is_proof else ": no proof, because they were calibrated on these labels"
    which = "all of them" if known.n_rows == evidence.rows else f"{known.n_rows:,} of them"
    return (
        f"The true label of {which} is known: there the choices are right in "
        f"{_of_known(known)}. In these rows the confidences expected {expected}, and there "
        f"{errors}{proof}."
    )


def _of_known(known: Accuracy) -> str:
    interval = f"{100 * known.low:.0f} to {100 * known.high:.0f} %"
    return f"{percent(known.share)} (95 % interval: {interval})"


def _all_rows(rows: CleanedTable) -> str:
    """Return how many rows of all had a label before anything was chosen; empty for none."""
    n_single, made = int((rows.candidates.sizes == 1).sum()), rows.provenance
    parts = []
    if n_single:
        parts.append(f"{n_single:,} {'has' if n_single == 1 else 'have'} a single candidate")
    if made.n_true_labels:
        parts.append(f"in {made.n_true_labels:,} the true label is known")
    if made.n_settled:
        were = "was" if made.n_settled == 1 else "were"
        parts.append(f"{made.n_settled:,} {were} settled by hand")
    if made.n_answered:
        were = "was" if made.n_answered == 1 else "were"
        parts.append(f"{made.n_answered:,} {were} answered without a label")
    if not parts or len(rows.candidates) == 1:
        return ""
    return f"Of all {len(rows.candidates):,} rows, {join_with_and(parts)}: they are counted too."


def where_doubt_is(rows: CleanedTable, doubt: Doubt) -> Iterator[Statement]:
    """Yield which labels may be taken for each other, and how many sets may miss the right one."""
    statements = []
    if doubt.pairs and doubt.errors >= 0.5:
        statements.append(_doubtful_pairs(doubt))
    missing = 0.0 if rows.miss_probability is None else float(rows.miss_probability.sum())
    if missing >= 0.5:
        sets = f"{capitalized(about(missing, 'set'))} {is_or_are(missing)}"
        rest = ": none of the candidates is right there."
        if doubt.outside >= 0.5:
            outside = rough_number(doubt.outside)
            rest += f" That is {outside} of the {rough_number(doubt.errors)} expected errors."
        statements.append(Statement(f"{sets} expected to miss the right label", rest))
    # What has more of the errors comes first.
    yield from reversed(statements) if doubt.outside > _MOST * doubt.errors else statements


def _doubtful_pairs(doubt: Doubt) -> Statement:
    first, whole = doubt.pairs[0], f"the {rough_number(doubt.errors)} expected errors"
    if doubt.n_pairs == 1 or doubt.errors < 1.5:
        only = "The doubt is" if doubt.n_pairs == 1 else "Most often in doubt is"
        return Statement(f"{only} {_names(first)}", f", in {row_count(first.n_rows)}.")
    said = f": {about_number(first.errors)} of {whole}, in {row_count(first.n_rows)}."
    if first.errors >= _MOST * doubt.errors:
        return Statement(f"Most of the doubt is {_names(first)}", said)
    least = max(0.5, _SPREAD * doubt.errors)
    if first.errors < least:
        gist = f"The doubt is spread over {doubt.n_pairs:,} pairs of labels."
        return Statement(gist, f" The largest is {_names(first)}{said}")
    others = [
        f"{_names(pair)} ({rough_number(pair.errors)}, in {row_count(pair.n_rows)})"
        for pair in doubt.pairs[1:_MOST_PAIRS]
        if pair.errors >= least
    ]
    then = f" Then {join_with_and(others)}." if others else ""
    return Statement(f"Most often in doubt is {_names(first)}", f"{said}{then}")


def _names(pair: DoubtfulPair) -> str:
    return " or ".join(printable(label, _LONGEST_LABEL) for label in pair.labels)


def next_step(rows: CleanedTable, doubt: Doubt) -> Statement:
    """Return how many rows to look at, how long that takes, and how many errors are left then."""
    marked, left = doubt.n_marked, doubt.left
    if not marked:
        made, advice = rows.provenance, ""
        if doubt.errors >= 0.5 and not made.n_settled and not made.n_answered:
            advice = " To mark the least sure rows, clean again with --errors-to-find 0.9."
        return Statement("Next: nothing.", f" No row is marked for a second look.{advice}")
    at_end = f"{about(doubt.left_at_end, 'error')} {is_or_are(doubt.left_at_end)}"
    rest = f" ({minutes(marked)}). If your decisions are right, {at_end} left then."
    if marked > FIRST_ROWS:
        removed = about(float(left[0] - left[FIRST_ROWS]), "error")
        rest += f" The first {FIRST_ROWS} rows remove {removed}."
    if rows.values.shape[1] == 0:
        rest += " This page does not know the values of its rows: look at them in your table."
    return Statement(f"Next: look at {row_count(marked)}", rest)


def minutes(n_rows: int) -> str:
    """Return how long a person takes to settle rows, in words."""
    seconds = n_rows * SECONDS_PER_ANSWER
    if seconds < 60:
        time = "less than a minute"
    elif seconds < 90 * 60:
        time = f"about {plural(math.floor(seconds / 60 + 0.5), 'minute')}"
    else:
        time = f"about {plural(math.floor(seconds / 3600 + 0.5), 'hour')}"
    return f"{time} at {SECONDS_PER_ANSWER} seconds each" if n_rows > 1 else time
