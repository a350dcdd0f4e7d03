"""The table of a paper: every method on every dataset, marked where the reference differs."""

from typing import Any

from disambig.report.cells import Cells, read_cells
from disambig.report.duels import best_methods, count_verdicts, duel
from disambig.report.metric_names import direction, metric_title
from disambig.report.table import Table
from disambig.report.wording import MARKS, MISSING, count_of, mean_text, selection_notes
from disambig.study.statistics import PairedTest, paired_t_test

__all__ = ["comparison_table"]


def comparison_table(
    scores: Any, metric: str = "accuracy", *, reference: str, alpha: float = 0.05
) -> Table:
    """Return a row for all data and a column for every method: mean ± standard deviation.

    A bullet says that the reference is significantly better than this method, a circle that it is
    significantly worse, by the paired t-test over the runs that both have. The last row counts
    both, and the rest. Floors and ceilings come last and are not tested.

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
    rivals = cells.rivals(reference)
    tests = {
        (data, rival): duel(cells, data, reference, rival, paired_t_test)
        for data in cells.data
        for rival in rivals
    }
    columns = cells.methods + cells.bounds
    rows = [
        (
            data,
            *(_cell(cells, data, method, tests.get((data, method)), alpha) for method in columns),
        )
        for data in cells.data
    ]
    counts = {
        rival: str(count_verdicts((tests[data, rival] for data in cells.data), alpha))
        for rival in rivals
    }
    rows.append(("win/tie/loss", *(counts.get(method, "") for method in columns)))
    emphasised = frozenset(
        (i, 1 + columns.index(method))
        for i, data in enumerate(cells.data)
        for method in best_methods(cells, data)
    )
    return Table(
        title=f"{metric_title(metric)}: mean ± standard deviation".capitalize(),
        header=("data", *(cells.shown(method) for method in columns)),
        rows=tuple(rows),
        notes=tuple(_notes(cells, reference, alpha, list(tests.values()))),
        emphasised=emphasised,
        n_summary_rows=1,
    )


def _cell(cells: Cells, data: str, method: str, test: PairedTest | None, alpha: float) -> str:
    values = cells.values(data, method)
    mark = MARKS[test.verdict(alpha)] if test else ""
    return mean_text(values) + mark + count_of(len(values), cells.n_runs)


def _notes(cells: Cells, reference: str, alpha: float, tests: list[PairedTest | None]) -> list[str]:
    shown = cells.shown(reference)
    less = " Less is better." if direction(cells.metric) < 0 else ""
    notes = [
        f"•/◦: {shown} is significantly better/worse than this method by the paired t-test over "
        f"runs (seeds and folds), at the level {alpha:g} for each test. Win/tie/loss counts this "
        f"for {shown}.{less}",
        "The best mean of the methods stands out. Floors and ceilings are shown for scale and "
        "take no part.",
    ]
    columns = cells.methods + cells.bounds
    counts = [len(cells.values(data, method)) for data in cells.data for method in columns]
    if any(0 < count < cells.n_runs for count in counts):
        notes.append(
            f"(n of {cells.n_runs}): only n runs finished. The mean is over these, tests are over "
            "the runs that both methods have."
        )
    if 0 in counts:
        notes.append(f"{MISSING}: no run finished.")
    untested = tests.count(None)
    if untested:
        notes.append(f"Not tested, for want of two runs in common: {untested} of {len(tests)}.")
    return notes + selection_notes(cells)
