"""What cleaning did to a table, as numbers and in words."""

import pandas as pd

from disambig.workbench.estimate import Accuracy, Count, Measured, known_accuracy
from disambig.workbench.task import TableTask

__all__ = ["CleanSummary", "summarise_cleaning"]


class CleanSummary(Measured):
    """What cleaning did.

    Attributes
    ----------
    rows, rows_with_one_label, rows_for_a_second_look : int
        Of the table.
    expected_errors : float
        How many of the chosen labels are wrong, going by their confidences.
    accuracy : Accuracy or None
        Share of chosen labels that are right, where true labels are known.
    """

    rows: Count
    rows_with_one_label: int
    rows_for_a_second_look: int
    expected_errors: float
    accuracy: Accuracy | None

    def __str__(self) -> str:
        lines = [
            f"{self.rows:,} rows, {self.rows - self.rows_with_one_label:,} of them with several "
            "labels: one is chosen for each.",
            f"About {self.expected_errors:,.0f} choices are expected to be wrong. "
            f"{self.rows_for_a_second_look:,} rows deserve a second look (column second_look).",
        ]
        if self.accuracy is not None:
            lines.append(str(self.accuracy))
        return "\n".join(lines)


def summarise_cleaning(task: TableTask, cleaned: pd.DataFrame) -> CleanSummary:
    """Return what cleaning did; ``cleaned`` is what ``clean_task`` returned for the task."""
    accuracy = None
    if task.truth is not None:
        accuracy = known_accuracy(task.truth, cleaned["chosen_label"].to_numpy())
    return CleanSummary(
        rows=len(cleaned),
        rows_with_one_label=int((task.candidates.sizes == 1).sum()),
        rows_for_a_second_look=int(cleaned["second_look"].sum()),
        expected_errors=float((1 - cleaned["confidence"]).sum()),
        accuracy=accuracy,
    )
