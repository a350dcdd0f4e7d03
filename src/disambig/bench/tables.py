"""The tables of a report: accuracies, wins, the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from disambig.bench.formats import Table
from disambig.bench.run_table import Cells, read_cells
from disambig.bench.significance import WinTieLoss, best_methods, count_verdicts, duel
from disambig.bench.statistics import PairedTest, paired_t_test
from disambig.bench.wording import MARKS, MISSING, count_of, mean_text, score_text, selection_notes
from disambig.metrics import direction, metric_title

__all__ = ["Published", "comparison_table", "published_table", "win_table"]


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


# Mean and standard deviation, by dataset and method.
Published = Mapping[str, Mapping[str, tuple[float, float]]]


def published_table(scores: Any, published: Published) -> Table:
    """Return two rows for every dataset of the paper: accuracy as we and as they measured it.

    Datasets that we have no score on are left out. Methods that the paper does not know come after
    its own, floors and ceilings last.

    Parameters
    ----------
    scores : DataFrame
        Records of a study on the datasets' own candidate sets.
    published : mapping
        Mean and standard deviation, by dataset and method.
    """
    cells = read_cells(scores, "accuracy")
    methods = list(dict.fromkeys(name for figures in published.values() for name in figures))
    columns = list(dict.fromkeys([*methods, *cells.methods, *cells.bounds]))
    rows = []
    for dataset, figures in published.items():
        if any(len(cells.values(dataset, name)) for name in methods):
            rows.append((dataset, "ours", *(_ours(cells, dataset, name) for name in columns)))
            rows.append(("", "paper", *(_theirs(figures.get(name)) for name in columns)))
    return Table(
        title="Accuracy beside the paper's",
        header=(
            "data",
            "",
            *(cells.shown(name) if name in cells.roles else name for name in columns),
        ),
        rows=tuple(rows),
        notes=(
            "The folds are not those of the paper, which does not publish them.",
            *selection_notes(cells),
        ),
    )


def _ours(cells: Cells, dataset: str, method: str) -> str:
    values = cells.values(dataset, method)
    return mean_text(values) + count_of(len(values), cells.n_runs)


def _theirs(figure: tuple[float, float] | None) -> str:
    return MISSING if figure is None else score_text(*figure)
