"""How often the reference wins, by dataset: for studies with many settings of each."""

from collections.abc import Sequence
from typing import Any

from disambig.report.cells import Cells, read_cells
from disambig.report.duels import WinTieLoss, count_verdicts, duel
from disambig.report.metric_names import metric_title
from disambig.report.table import Table
from disambig.report.wording import selection_notes
from disambig.study.statistics import paired_t_test

__all__ = ["win_table"]


def win_table(
    scores: Any, metric: str = "accuracy", *, reference: str, alpha: float = 0.05
) -> Table:
    """Return a row for every dataset and r: the reference against each rival, over all p.

    Floors and ceilings have the last columns and take no part in the sum of all rivals.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    metric : str, default="accuracy"
        Column of the records.
    reference : str
        Label of the method that the others are compared with.
    alpha : float, default=0.05
        Level of significance of every single test.
    """
    cells = read_cells(scores, metric)
    cells.check_reference(reference)
    groups: dict[str, list[str]] = {}
    for data, setting in cells.settings.items():
        groups.setdefault(_group_title(setting.dataset, setting.r), []).append(data)
    rows = [
        (title, *_counts(cells, own, reference, alpha))
        for title, own in {**groups, "all": list(cells.data)}.items()
    ]
    shown = cells.shown(reference)
    return Table(
        title=f"{shown} against the others: win/tie/loss by {metric_title(metric)}",
        header=(
            "data",
            *map(cells.shown, cells.rivals(reference)),
            "all",
            *map(cells.shown, cells.bounds),
        ),
        rows=tuple(rows),
        notes=(
            f"How often {shown} is significantly better, neither, significantly worse: paired "
            f"t-tests over runs (seeds and folds), one for every p, at the level {alpha:g} each.",
            *_bound_notes(cells),
            *selection_notes(cells),
        ),
        n_summary_rows=1,
    )


def _group_title(dataset: str, r: float) -> str:
    return dataset if r != r else f"{dataset}, r={r:g}"  # NaN where nothing was corrupted


def _bound_notes(cells: Cells) -> list[str]:
    if not cells.bounds:
        return []
    return ["Floors and ceilings are tested in the same way; 'all' is without them."]


def _counts(cells: Cells, data: Sequence[str], reference: str, alpha: float) -> list[str]:
    def count(other: str) -> WinTieLoss:
        tests = (duel(cells, own, reference, other, paired_t_test) for own in data)
        return count_verdicts(tests, alpha)

    counts = [count(rival) for rival in cells.rivals(reference)]
    total = WinTieLoss(
        sum(own.wins for own in counts),
        sum(own.ties for own in counts),
        sum(own.losses for own in counts),
    )
    return [str(own) for own in (*counts, total, *map(count, cells.bounds))]
