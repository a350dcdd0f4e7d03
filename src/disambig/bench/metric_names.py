"""What a metric is called in prose, and which way is up."""

__all__ = ["direction", "metric_title"]

_LOWER_IS_BETTER = {"brier_score", "expected_calibration_error"}
_TITLES = {"brier_score": "Brier score"}


def direction(metric: str) -> int:
    """Return 1 where more is better, -1 where less is."""
    return -1 if metric in _LOWER_IS_BETTER else 1


def metric_title(metric: str) -> str:
    """Return the name of a metric as people write it."""
    return _TITLES.get(metric, metric.replace("_", " "))
