"""How many labels are right in the rows with several candidates: guessed, expected and checked."""

from typing import Annotated

import numpy as np
from pydantic import Field

from disambig._core.messages import about, is_or_are, plural, row_count
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.candidates.audit import likeliest_shares
from disambig.candidates.groups import group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.accuracy import Accuracy, Count, Measured, Share, accuracy_of
from disambig.tabular.true_labels import is_known

_BINS = 10
# Expected and observed errors that differ by less may well do so by chance.
_P_VALUE = 0.01


class ReliabilityBin(Measured):
    """The checked rows whose confidence is above ``low``, and at most ``high``."""

    low: Share
    high: Share
    confidence: Share  # their mean
    checked: Accuracy


class Reliability(Measured):
    """Whether confidences mean what they say: stated and observed, on the checked rows."""

    bins: tuple[ReliabilityBin, ...]  # those with rows, from the lowest confidence up
    calibration_error: Share  # mean gap between confidence and accuracy, weighted by rows
    expected_errors: Annotated[float, Field(ge=0)]
    errors: Annotated[int, Field(ge=0)]
    p_value: Share  # of so many errors or more, or so few or fewer, if confidences were right

    @property
    def disagrees(self) -> bool:
        """Whether expected and observed errors differ by more than chance explains."""
        return self.p_value < _P_VALUE


class Evidence(Measured):
    """How many labels are right in the rows with several candidates; ``str()`` gives a table.

    Rows with one candidate say nothing about a method, and are left out.
    """

    rows: Count  # with several candidates
    blind_guess: Share  # right, without any model; of weighted candidates the heaviest is taken
    weighted: bool
    expected: Share  # the mean confidence of the model's choices
    checked: Accuracy | None  # of the model's choices, where the true label is known
    reliability: Reliability | None  # on the same rows

    @property
    def blind_guess_about(self) -> str:
        """What the blind guess is, in words."""
        return "by the weights alone" if self.weighted else "one of the candidates at random"

    @property
    def warning(self) -> str:
        """What to do where confidences and checked rows disagree; empty where they do not."""
        if self.reliability is None or self.checked is None or not self.reliability.disagrees:
            return ""
        found = self.reliability
        p_value = "< 0.001" if found.p_value < 0.001 else f"= {found.p_value:.3f}"
        direction = "high" if found.errors > found.expected_errors else "low"
        are = "is" if found.errors == 1 else "are"
        was = "was" if is_or_are(found.expected_errors) == "is" else "were"
        expected = f"{about(found.expected_errors, 'choice')} {was}"
        return (
            f"In the {row_count(self.checked.n_rows)} with several candidates whose true label is "
            f"known, {expected} expected to be wrong, and "
            f"{found.errors:,} {are}. The difference is more than chance explains (p {p_value}): "
            f"the confidences are too {direction}. Check more rows, let the models learn from the "
            "checked ones (--use-truth), or calibrate the confidences on them (--calibrate truth)."
        )

    def __str__(self) -> str:
        lines = [
            f"Right labels in the {row_count(self.rows)} with several candidates:",
            f"  blind guess  {self.blind_guess:.3f}  {self.blind_guess_about}",
            f"  expected     {self.expected:.3f}  going by the confidences",
        ]
        if self.checked is not None:
            known = self.checked
            lines.append(
                f"  checked      {known.share:.3f}  {known.low:.3f} to {known.high:.3f} (95 %), "
                f"from {plural(known.n_rows, 'true label')}"
            )
        return "\n".join(lines)


def gather_evidence(
    candidates: CandidateLabels,
    chosen: AnyArray,
    confidence: FloatArray,
    truth: AnyArray | None = None,
) -> Evidence | None:
    """Return the evidence on a model's choices; None if no row has several candidates.

    The model must not have learned from the true labels of these rows.
    """
    several = candidates.sizes > 1
    if not several.any():
        return None
    confidence = confidence.clip(0, 1)
    checked = reliability = None
    if truth is not None:
        known = is_known(truth) & several
        if known.any():
            right = truth[known] == chosen[known]
            groups = candidates.groups if candidates.groups is None else candidates.groups[known]
            checked = accuracy_of(right, groups)
            reliability = measure_reliability(confidence[known], right, groups)
    return Evidence(
        rows=int(several.sum()),
        blind_guess=min(1.0, float(likeliest_shares(candidates[several]).mean())),
        weighted=candidates.weights is not None,
        expected=float(confidence[several].mean()),
        checked=checked,
        reliability=reliability,
    )


def measure_reliability(
    confidence: FloatArray, right: BoolArray, groups: IntArray | None = None
) -> Reliability:
    """Compare stated confidences with what turned out to be right.

    Rows of a group may be right or wrong together, so that more errors are due to chance.
    """
    # Open on the left, as in expected_calibration_error.
    number = np.ceil(confidence * _BINS).astype(int).clip(1, _BINS)
    bins = []
    for i in np.unique(number).tolist():
        in_bin = number == i
        bins.append(
            ReliabilityBin(
                low=(i - 1) / _BINS,
                high=i / _BINS,
                confidence=float(confidence[in_bin].mean()),
                checked=accuracy_of(right[in_bin], None if groups is None else groups[in_bin]),
            )
        )
    gaps = [one.checked.n_rows * abs(one.confidence - one.checked.share) for one in bins]
    errors = int((~right).sum())
    p_value = errors_p_value(1 - confidence, errors)
    if groups is not None:
        p_value = max(p_value, grouped_p_value(confidence - right, groups))
    return Reliability(
        bins=tuple(bins),
        calibration_error=min(1.0, sum(gaps) / len(right)),
        expected_errors=float((1 - confidence).sum()),
        errors=errors,
        p_value=p_value,
    )


def errors_p_value(doubt: FloatArray, errors: int) -> float:
    """Return the two-sided p-value of so many errors, if row i is wrong with probability doubt[i].

    The number of errors is then distributed as a Poisson binomial.
    """
    from scipy.signal import fftconvolve  # slow to import

    # Distributions of the number of errors in two rows are joined to those in four, and so on;
    # rows without doubt make their number a power of two.
    padded = np.zeros(1 << max(0, len(doubt) - 1).bit_length())
    padded[: len(doubt)] = doubt
    counts = np.column_stack([1 - padded, padded])
    while len(counts) > 1:
        counts = fftconvolve(counts[::2], counts[1::2], axes=1).clip(0)
    fewer, more = counts[0, : errors + 1].sum(), counts[0, errors:].sum()
    return float(min(1.0, 2 * min(fewer, more)))


def grouped_p_value(excess: FloatArray, groups: IntArray) -> float:
    """Return the two-sided p-value of a sum of zero mean, if only groups are independent."""
    from scipy.special import ndtr  # slow to import

    of_groups = np.bincount(group_numbers(groups, len(excess)), weights=excess)
    spread = float(np.sqrt(np.square(of_groups).sum()))
    return float(2 * ndtr(-abs(of_groups.sum()) / spread)) if spread > 0 else 1.0
