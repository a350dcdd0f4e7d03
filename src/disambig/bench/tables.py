"""The tables of a report: scores, wins, every test, the paper's figures beside ours."""

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from disambig.bench.comparisons import (
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
    mean_and_std_text,
    p_value_text,
    repeated_data_sentence,
    score_text,
    selection_notes,
)
from disambig.metrics import direction, metric_title

# Mean and standard deviation, by dataset and method.
Published = Mapping[str, Mapping[str, tuple[float, float]]]


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
    runs = RunTable.from_scores(scores, metric, reference)
    rivals = runs.rivals(reference)
    tests = pairwise_tests(runs, reference)
    columns = runs.methods + runs.bounds

    def cell(data: str, method: str) -> str:
        test = tests[data, method] if method in rivals else None
        values = runs.values(data, method)
        mark = MARKS[test.verdict(alpha)] if test else ""
        return mean_and_std_text(values) + mark + count_of(len(values), runs.n_runs)

    rows = [(data, *(cell(data, method) for method in columns)) for data in runs.data]
    counts = {
        rival: str(WinTieLoss.count((tests[data, rival] for data in runs.data), alpha))
        for rival in rivals
    }
    rows.append(("win/tie/loss", *(counts.get(method, "") for method in columns)))
    return Table(
        title=f"{metric_title(metric)}: mean ± standard deviation".capitalize(),
        header=("data", *map(runs.display_name, columns)),
        rows=tuple(rows),
        notes=tuple(_comparison_notes(runs, reference, tests, alpha)),
        emphasised=frozenset(
            (i, 1 + columns.index(method))
            for i, data in enumerate(runs.data)
            for method in runs.best_methods(data)
        ),
        n_summary_rows=1,
    )


def _comparison_notes(
    runs: RunTable, reference: str, tests: PairwiseTests, alpha: float
) -> list[str]:
    name = runs.display_name(reference)
    less = " Less is better." if direction(runs.metric) < 0 else ""
    notes = [
        f"•/◦: {name} is significantly better/worse than this method by the paired t-test over "
        f"runs (seeds and folds), at the level {alpha:g} for each test. Win/tie/loss counts this "
        f"for {name}.{less}",
        "The best mean of the methods stands out. Floors and ceilings are shown for scale and "
        "take no part.",
    ]
    columns = runs.methods + runs.bounds
    counts = [len(runs.values(data, method)) for data in runs.data for method in columns]
    if any(0 < count < runs.n_runs for count in counts):
        notes.append(
            f"(n of {runs.n_runs}): only n runs finished. The mean is over these, tests are over "
            "the runs that both methods have."
        )
    if 0 in counts:
        notes.append(f"{MISSING}: no run gave a value.")
    made = [tests[data, rival] for data in runs.data for rival in runs.rivals(reference)]
    if None in made:
        untested = f"{made.count(None)} of {len(made)}"
        notes.append(f"Not tested, for want of two runs in common: {untested}.")
    return notes + selection_notes(runs)


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
    runs = RunTable.from_scores(scores, metric, reference)
    rivals, tests = runs.rivals(reference), pairwise_tests(runs, reference)
    groups: dict[str, list[str]] = {}
    for data, setting in runs.settings.items():
        r = "" if np.isnan(setting.r) else f", r={setting.r:g}"
        groups.setdefault(setting.dataset + r, []).append(data)

    def count(group: list[str], *others: str) -> str:
        return str(WinTieLoss.count((tests[pair] for pair in product(group, others)), alpha))

    name = runs.display_name(reference)
    notes = [
        f"How often {name} is significantly better, neither, significantly worse: paired "
        f"t-tests over runs (seeds and folds), one for every p, at the level {alpha:g} each."
    ]
    if runs.bounds:
        notes.append("Floors and ceilings are tested in the same way; 'all' is without them.")
    return Table(
        title=f"{name} against the others: win/tie/loss by {metric_title(metric)}",
        header=(
            "data",
            *map(runs.display_name, rivals),
            "all",
            *map(runs.display_name, runs.bounds),
        ),
        rows=tuple(
            (
                title,
                *(count(group, rival) for rival in rivals),
                count(group, *rivals),
                *(count(group, bound) for bound in runs.bounds),
            )
            for title, group in {**groups, "all": list(runs.data)}.items()
        ),
        notes=(*notes, *selection_notes(runs)),
        n_summary_rows=1,
    )


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
    return mean_and_std_text(means) + count_of(len(means), len(runs.data))


def _test_notes(
    ranking: Ranking,
    rival_tests: Mapping[str, RivalTest],
    name: str,
    alpha: float,
    test_share: float,
) -> list[str]:
    notes = [
        f"Win/tie/loss: on how much data {name} is significantly better than this method, "
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
            f"{ranking.critical_difference:.2f} at the level {alpha:g}."
        )
    if ranking.left_out:
        notes.append(
            "Left out of the tests over data, because the methods have no run there in common: "
            f"{join_data(ranking.left_out)}."
        )
    has_p_values = bool(rival_tests) or ranking.friedman is not None
    return notes + repeated_data_sentence(ranking, has_p_values=has_p_values)


def published_table(scores: Any, published: Published) -> Table:
    """Return two rows for every dataset of the paper: accuracy as we and as they measured it.

    Datasets that we have no score on are left out. Methods that the paper does not have come after
    those that it has, floors and ceilings last.

    Parameters
    ----------
    scores : DataFrame
        Records of a study on the datasets' own candidate sets.
    published : mapping
        Mean and standard deviation, by dataset and method.
    """
    runs = RunTable.from_scores(scores, "accuracy")
    methods = list(dict.fromkeys(name for figures in published.values() for name in figures))
    columns = list(dict.fromkeys([*methods, *runs.methods, *runs.bounds]))

    def ours(dataset: str, method: str) -> str:
        values = runs.values(dataset, method)
        return mean_and_std_text(values) + count_of(len(values), runs.n_runs)

    rows = []
    for dataset, figures in published.items():
        if any(len(runs.values(dataset, name)) for name in methods):
            theirs = (
                score_text(*figures[name]) if name in figures else MISSING for name in columns
            )
            rows.append((dataset, "ours", *(ours(dataset, name) for name in columns)))
            rows.append(("", "paper", *theirs))
    names = (runs.display_name(name) if name in runs.roles else name for name in columns)
    return Table(
        title="Accuracy beside the paper's",
        header=("data", "", *names),
        rows=tuple(rows),
        notes=(
            "The folds are not those of the paper, which does not publish them.",
            *selection_notes(runs),
        ),
    )
