"""The table of every test: the reference against each method, on each dataset and over all."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from disambig.bench.comparisons import (
    MIN_DATASETS_OF_RANKS,
    PairwiseTests,
    Ranking,
    WinTieLoss,
    pairwise_tests,
    rank_methods,
    tests_against_rivals,
)
from disambig.bench.formats import Table
from disambig.bench.run_table import RunTable
from disambig.bench.statistics import RivalTest, corrected_t_test
from disambig.bench.wording import (
    MARKS,
    MISSING,
    count_of,
    friedman_sentence,
    join_data,
    p_value_text,
    repeated_data_sentence,
    score_text,
    selection_notes,
)
from disambig.metrics.registry import metric_title


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
    reference is significantly better over data, a circle that it is worse. Baselines come last
    and have a mean only.

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

    See Also
    --------
    comparison_table : The scores themselves.
    findings : The same in sentences.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import make_report, significance_table
    >>> scores = make_report(result).scores
    >>> table = significance_table(scores, reference="PLKNN", test_share=1 / 2)
    >>> [row[0] for row in table.rows[:3]]
    ['PLKNN', 'CLPL', 'PLSVM']
    """
    runs = RunTable.from_scores(scores, metric, reference)
    ranking = rank_methods(runs, alpha)
    rival_tests = tests_against_rivals(ranking, reference)
    plain = pairwise_tests(runs, reference)
    corrected = pairwise_tests(runs, reference, partial(corrected_t_test, test_share=test_share))

    def count(rival: str, tests: PairwiseTests) -> str:
        made = [tests[data, rival] for data in runs.data]
        return str(WinTieLoss.count(made, alpha)) if any(made) else MISSING

    def rank(method: str) -> str:
        return f"{ranking.ranks[method]:.2f}" if method in ranking.ranks else MISSING

    def over_data(rival: str) -> tuple[str, str]:
        if rival not in rival_tests:
            return MISSING, MISSING
        test = rival_tests[rival]
        holm = p_value_text(test.adjusted_p_value) + MARKS[test.verdict(alpha)]
        return p_value_text(test.p_value), holm

    def first_cells(method: str) -> tuple[str, str]:
        return runs.display_name(method), _mean_over_data(runs, method)

    rows = [(*first_cells(reference), "", "", "", "", rank(reference))]
    rows += [
        (
            *first_cells(rival),
            count(rival, plain),
            count(rival, corrected),
            *over_data(rival),
            rank(rival),
        )
        for rival in runs.rivals(reference)
    ]
    rows += [(*first_cells(bound), "", "", "", "", "") for bound in runs.bounds]
    name = runs.display_name(reference)
    return Table(
        title=f"{name} against the others: every test of {metric_title(metric)}",
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
        notes=tuple(_test_notes(ranking, rival_tests, name, alpha, test_share))
        + tuple(selection_notes(runs)),
        n_summary_rows=len(runs.bounds),
    )


def _mean_over_data(runs: RunTable, method: str) -> str:
    means = np.array([runs.mean(data, method) for data in runs.data])
    means = means[~np.isnan(means)]
    if not len(means):
        return MISSING
    return score_text(float(means.mean()), None) + count_of(len(means), len(runs.data))


def _no_diagram(ranking: Ranking) -> str:
    """Say why there is no diagram of ranks, where that is so."""
    if ranking.n_datasets >= MIN_DATASETS_OF_RANKS:
        return ""
    return (
        f" Ranks are drawn from {MIN_DATASETS_OF_RANKS} datasets on, settings of one dataset "
        f"counting once; here it is {ranking.n_datasets}."
    )


def _test_notes(
    ranking: Ranking,
    rival_tests: Mapping[str, RivalTest],
    name: str,
    alpha: float,
    test_share: float,
) -> list[str]:
    notes = [
        f"Win/tie/loss: on how much data {name} is significantly better than this method, "
        f"neither, and significantly worse, at the level {alpha:g} for each test. LR: logistic "
        "regression, a baseline.",
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
                f"•/◦ beside Holm's p: over all data, {name} is significantly better/worse than "
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
            f"{ranking.critical_difference:.2f} at the level {alpha:g}.{_no_diagram(ranking)}"
        )
    if ranking.left_out:
        notes.append(
            "Left out of the tests over data, because the methods have no run there in common: "
            f"{join_data(ranking.left_out)}."
        )
    has_p_values = bool(rival_tests) or ranking.friedman is not None
    return notes + repeated_data_sentence(ranking, has_p_values=has_p_values)
