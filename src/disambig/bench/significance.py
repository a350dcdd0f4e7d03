"""Which differences are significant, for every pair of methods."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from disambig._core.typing import FloatArray
from disambig.bench.formats import Table
from disambig.bench.ranking import Ranking, rank_methods, tests_against_rivals
from disambig.bench.run_table import Cells, read_cells
from disambig.bench.statistics import PairedTest, RivalTest, corrected_t_test, paired_t_test
from disambig.bench.wording import (
    DECIMALS,
    MARKS,
    MISSING,
    count_of,
    friedman_sentence,
    join_data,
    mean_text,
    p_value_text,
    repeated_data_sentence,
    selection_notes,
)
from disambig.metrics import direction, metric_title

__all__ = ["Test", "WinTieLoss", "best_methods", "count_verdicts", "duel", "significance_table"]


Test = Callable[[FloatArray, FloatArray], PairedTest]


@dataclass(frozen=True)
class WinTieLoss:
    """How often the reference is significantly better, neither, and significantly worse."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def duel(cells: Cells, data: str, first: str, second: str, test: Test) -> PairedTest | None:
    """Test ``first`` against ``second`` on the runs that both have.

    Oriented so that a positive difference is good for ``first``, whatever the metric. None where
    they share fewer than two runs.
    """
    shared = direction(cells.metric) * cells.shared_runs(data, (first, second))
    return test(shared[:, 0], shared[:, 1]) if len(shared) > 1 else None


def count_verdicts(tests: Iterable[PairedTest | None], alpha: float) -> WinTieLoss:
    """Count what tests of the reference against a rival say; those not made count nowhere."""
    verdicts = [test.verdict(alpha) for test in tests if test is not None]
    return WinTieLoss(verdicts.count("better"), verdicts.count("tie"), verdicts.count("worse"))


def best_methods(cells: Cells, data: str) -> list[str]:
    """Return the methods with the best mean as shown, among the cells that are fullest."""
    values = {method: cells.values(data, method) for method in cells.methods}
    most = max(len(runs) for runs in values.values())
    if most == 0:
        return []
    means = {
        method: direction(cells.metric) * round(float(np.mean(runs)), DECIMALS)
        for method, runs in values.items()
        if len(runs) == most
    }
    return [method for method, mean in means.items() if mean == max(means.values())]


def significance_table(
    scores: Any,
    metric: str = "accuracy",
    *,
    reference: str,
    test_share: float,
    alpha: float = 0.05,
) -> Table:
    """Return a row for every method: how the reference does against it.

    Wins, ties and losses are counted over data, by the paired t-test and by its correction for
    overlapping training rows; Wilcoxon's test and the ranks are over the mean scores of data. What
    cannot be computed is a dash, and a note says why. A bullet beside Holm's p-value says that the
    reference is significantly better over data, a circle that it is worse. Floors and ceilings
    come last and have a mean only.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    metric : str, default="accuracy"
        Column of the records.
    reference : str
        Label of the method that the others are compared with.
    test_share : float
        Share of the rows that a run was tested on: one over the number of folds.
    alpha : float, default=0.05
        Level of significance.
    """
    cells = read_cells(scores, metric)
    cells.check_reference(reference)
    ranking = rank_methods(cells, alpha)
    rival_tests = tests_against_rivals(ranking, reference)
    corrected = partial(corrected_t_test, test_share=test_share)
    rows = []
    for method in (reference, *cells.rivals(reference)):
        is_rival = method != reference
        rows.append(
            (
                cells.shown(method),
                _mean_over_data(cells, method),
                _counts(cells, reference, method, paired_t_test, alpha) if is_rival else "",
                _counts(cells, reference, method, corrected, alpha) if is_rival else "",
                *(_over_data(rival_tests.get(method), alpha) if is_rival else ("", "")),
                f"{ranking.ranks[method]:.2f}" if method in ranking.ranks else MISSING,
            )
        )
    rows += [
        (cells.shown(method), _mean_over_data(cells, method), "", "", "", "", "")
        for method in cells.bounds
    ]
    return Table(
        title=f"{cells.shown(reference)} against the others: every test of {metric_title(metric)}",
        header=(
            "method",
            "mean over data",
            "win/tie/loss, paired t-test",
            "win/tie/loss, corrected t-test",
            "Wilcoxon p",
            "Holm p",
            "average rank",
        ),
        rows=tuple(rows),
        notes=tuple(_notes(cells, ranking, rival_tests, reference, alpha, test_share)),
        n_summary_rows=len(cells.bounds),
    )


def _mean_over_data(cells: Cells, method: str) -> str:
    means = [np.mean(values) for values in _filled(cells, method)]
    return mean_text(np.array(means)) + count_of(len(means), len(cells.data))


def _filled(cells: Cells, method: str) -> Iterable[Any]:
    return (values for data in cells.data if len(values := cells.values(data, method)))


def _counts(cells: Cells, reference: str, rival: str, test: Test, alpha: float) -> str:
    tests = [duel(cells, data, reference, rival, test) for data in cells.data]
    return str(count_verdicts(tests, alpha)) if any(tests) else MISSING


def _over_data(test: RivalTest | None, alpha: float) -> tuple[str, str]:
    if test is None:
        return MISSING, MISSING
    mark = MARKS[test.verdict(alpha)]
    return p_value_text(test.p_value), p_value_text(test.adjusted_p_value) + mark


def _notes(
    cells: Cells,
    ranking: Ranking,
    rival_tests: Mapping[str, RivalTest],
    reference: str,
    alpha: float,
    test_share: float,
) -> list[str]:
    shown = cells.shown(reference)
    notes = [
        f"Win/tie/loss: on how much data {shown} is significantly better than this method, "
        f"neither, and significantly worse, at the level {alpha:g} for each test. The mean is over "
        "data, and so is its standard deviation.",
        "The corrected t-test (Nadeau and Bengio) allows for training rows that runs share; "
        f"each run tests on {test_share:.3g} of the rows.",
    ]
    if len(ranking.data) > 1:
        notes.append(
            f"Wilcoxon's test, Holm's correction of it and the ranks (1 is best) are over "
            f"{len(ranking.data)} mean scores of each method."
        )
        if rival_tests:
            notes.append(
                f"•/◦ beside Holm's p: over all data, {shown} is significantly better/worse than "
                f"this method by Wilcoxon's test, at the level {alpha:g} for all of them together."
            )
    else:
        notes.append(
            "There is no Wilcoxon test: it needs two datasets or more with all methods, and there "
            f"are {len(ranking.data)}."
        )
    notes.append(friedman_sentence(ranking, alpha))
    if ranking.critical_difference is not None:
        notes.append(
            f"Critical difference of two average ranks (Nemenyi): "
            f"{ranking.critical_difference:.2f} at the level {alpha:g}."
        )
    if ranking.left_out:
        notes.append(
            "Left out of the tests over data, because the methods have no run there in common: "
            f"{join_data(list(ranking.left_out))}."
        )
    has_p_values = bool(rival_tests) or ranking.friedman is not None
    notes += repeated_data_sentence(ranking, has_p_values=has_p_values)
    return notes + selection_notes(cells)
