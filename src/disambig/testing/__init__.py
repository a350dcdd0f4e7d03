"""Checks for partial-label methods, ours and other people's."""

from disambig.testing.checks import check_partial_label_estimator, partial_label_checks

__all__ = ["check_partial_label_estimator", "partial_label_checks"]
