"""The columns that cleaning adds to a table."""

__all__ = ["CLEAN_COLUMNS"]

CLEAN_COLUMNS = (
    "chosen_label",
    "confidence",
    "margin",
    "second_look",
    "candidate_confidences",
)
