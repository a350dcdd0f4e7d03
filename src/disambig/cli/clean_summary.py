"""What cleaning did to a table, as numbers and in words."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from disambig.workbench.task import TableTask

__all__ = ["clean_summary", "summary_in_words"]


def clean_summary(task: "TableTask", cleaned: "pd.DataFrame", out: str) -> dict[str, Any]:
    """Return the numbers; the accuracy where true labels are known."""
    from disambig.workbench.estimate import known_accuracy  # keeps --help quick

    accuracy = None
    if task.truth is not None:
        accuracy = known_accuracy(task.truth, cleaned["chosen_label"].to_numpy())
    return {
        "out": out,
        "rows": len(cleaned),
        "one_candidate": int((task.candidates.sizes == 1).sum()),
        "second_look": int(cleaned["second_look"].sum()),
        "expected_errors": round(float((1 - cleaned["confidence"]).sum()), 1),
        "accuracy": None if accuracy is None else accuracy.model_dump(),
    }


def summary_in_words(summary: dict[str, Any]) -> str:
    """Return the numbers as sentences."""
    rows, several = summary["rows"], summary["rows"] - summary["one_candidate"]
    lines = [
        f"{rows:,} rows, {several:,} of them with several labels: one is chosen for each.",
        f"About {summary['expected_errors']:,.0f} choices are expected to be wrong. "
        f"{summary['second_look']:,} rows deserve a second look (column second_look).",
    ]
    if summary["accuracy"] is not None:
        known = summary["accuracy"]
        lines.append(
            f"Right in {known['share']:.1%} of the {known['n_rows']:,} rows whose true label is "
            f"known (95 % interval {known['low']:.1%} to {known['high']:.1%})."
        )
    if summary["out"] != "-":
        lines.append(f"The table is in {summary['out']}.")
    return "\n".join(lines)
