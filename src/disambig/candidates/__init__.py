"""What a partial label is: candidate sets, how to make them, and what they can teach."""

from disambig.candidates.audit import CandidateAudit, audit_candidates
from disambig.candidates.generate import (
    corrupt_by_confusion,
    corrupt_by_flips,
    corrupt_controlled,
    corrupt_coupled,
    corrupt_to_average,
    leave_out_truth,
)
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.target import as_candidates

__all__ = [
    "CandidateAudit",
    "CandidateLabels",
    "as_candidates",
    "audit_candidates",
    "corrupt_by_confusion",
    "corrupt_by_flips",
    "corrupt_controlled",
    "corrupt_coupled",
    "corrupt_to_average",
    "leave_out_truth",
]
