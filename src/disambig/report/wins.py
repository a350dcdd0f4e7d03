"""How often the reference wins, by dataset: for studies with many settings of each."""

from collections.abc import Iterable
from typing import Any

from disambig.report.cells import Cells, read_cells
from disambig.report.duels import WinTieLoss, count_verdicts, duel
from disambig.report.metric_names import metric_title
from disambig.report.table import Table
from disambig.study.statistics import paired_t_test

__all__ = ["win_table"]


def win_table(
    scores: Any, metric: str = "accuracy", *, reference: str, alpha: float = 0.05
) -> Table:
    """Return a row for every dataset and r: the reference against each rival, over all p.

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
    rivals = [method for method in cells.methods if method != reference]
    groups: dict[str, list[str]] = {}
    for data, setting in cells.settings.items():
        groups.setdefault(_group_title(setting.dataset, setting.r), []).append(data)
    rows = [
        (title, *_counts(cells, own, reference, rivals, alpha)) for title, own in groups.items()
    ]
    return Table(
        title=f"{reference} against the others: win/tie/loss by {metric_title(metric)}",
        header=("data", *(cells.shown(rival) for rival in rivals), "all"),
        rows=(*rows, ("all", *_counts(cells, cells.data, reference, rivals, alpha))),
        notes=(
            f"How often {reference} is significantly better, neither, significantly worse: paired "
            f"t-tests over runs (seeds and folds), one for every p, at the level {alpha:g} each.",
        ),
        n_summary_rows=1,
    )


def _group_title(dataset: str, r: float) -> str:
    return dataset if r != r else f"{dataset}, r={r:g}"  # NaN where nothing was corrupted


def _counts(
    cells: Cells, data: Iterable[str], reference: str, rivals: Iterable[str], alpha: float
) -> list[str]:
    own = list(data)
    counts = [
        count_verdicts((duel(cells, d, reference, rival, paired_t_test) for d in own), alpha)
        for rival in rivals
    ]
    total = WinTieLoss(
        sum(count.wins for count in counts),
        sum(count.ties for count in counts),
        sum(count.losses for count in counts),
    )
    return [str(count) for count in (*counts, total)]
