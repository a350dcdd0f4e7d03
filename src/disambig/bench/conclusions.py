"""What a study found, in plain sentences made from its numbers."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from disambig._core.messages import plural
from disambig.bench.baselines import behind_baselines, gaps_to_baselines
from disambig.bench.comparisons import (
    PairwiseTests,
    Ranking,
    WinTieLoss,
    pairwise_tests,
    rank_methods,
)
from disambig.bench.protocols import on_new_groups
from disambig.bench.run_table import DECIMALS, RunTable
from disambig.bench.statistics import corrected_t_test
from disambig.bench.wording import (
    MISSING,
    friedman_sentence,
    join_data,
    repeated_data_sentence,
    selection_notes,
)
from disambig.metrics.registry import direction, metric_title

_FEW_RUNS = 5


def findings(
    scores: Any,
    reference: str,
    metric: str = "accuracy",
    *,
    test_share: float,
    alpha: float = 0.05,
) -> tuple[str, ...]:
    """Return sentences on which method is best, where the reference is behind, what is missing.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    reference : str
        Label of the method that the others are compared with.
    metric : str, default="accuracy"
        Column of the records.
    test_share : float
        Share of the rows that a run was tested on: one over the number of folds.
    alpha : float, default=0.05
        Level of significance.

    See Also
    --------
    significance_table : The tests behind the sentences.
    Report : Has them as ``findings``.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import findings, make_report
    >>> scores = make_report(result).scores
    >>> sentences = findings(scores, "PLKNN", test_share=1 / 2)
    >>> print(sentences[0])  # doctest: +ELLIPSIS
    Best mean accuracy, out of 2 settings: ...
    """
    runs = RunTable.from_scores(scores, metric, reference)
    ranking = rank_methods(runs, alpha)
    tests = pairwise_tests(runs, reference)
    corrected = pairwise_tests(runs, reference, partial(corrected_t_test, test_share=test_share))
    return (
        *_best(runs, reference),
        *_best_or_level(runs, reference, tests, alpha),
        *_verdicts(runs, reference, tests, corrected, alpha),
        *_behind(runs, reference, tests, alpha),
        *_with_misses(runs),
        *on_new_groups(runs, reference),
        *gaps_to_baselines(runs, reference),
        *behind_baselines(runs),
        friedman_sentence(ranking, alpha),
        *_ranks(runs, ranking, reference),
        *repeated_data_sentence(ranking, has_p_values=ranking.friedman is not None),
        *_few_runs(runs),
        *_missing(runs),
        *selection_notes(runs),
    )


def in_brief(
    scores: Any,
    reference: str,
    metric: str = "accuracy",
    *,
    test_share: float,
    alpha: float = 0.05,
) -> tuple[str, ...]:
    """Return what was found in three points at most: who is ahead, what tests say, the scale.

    The parameters are those of ``findings``; tests are corrected for training rows that runs share.
    """
    runs = RunTable.from_scores(scores, metric, reference)
    means = {method: _mean_over_data(runs, method) for method in runs.methods + runs.bounds}
    ordered = sorted(
        (method for method in runs.methods if not np.isnan(means[method])),
        key=lambda method: -direction(metric) * means[method],
    )
    sentences = []
    if ordered:
        each = [f"{runs.display_name(method)} {means[method]:.{DECIMALS}f}" for method in ordered]
        over = f" over {plural(len(runs.data), runs.unit)}" if len(runs.data) > 1 else ""
        sentences.append(f"Mean {metric_title(metric)}{over}, the best first: {', '.join(each)}.")
    pairs = list(product(runs.data, runs.rivals(reference)))
    tests = pairwise_tests(runs, reference, partial(corrected_t_test, test_share=test_share))
    made = [test for pair in pairs if (test := tests[pair]) is not None]
    if made:
        counts = WinTieLoss.count(made, alpha)
        few = f" Tests over {runs.n_runs} runs can say little." if _has_few_runs(runs) else ""
        sentences.append(
            f"{runs.display_name(reference)} is {_by_majority(runs, reference, tests, alpha)} "
            f"(better in {counts.wins} of {plural(len(made), 'corrected t-test')}, worse in "
            f"{counts.losses}; {_by_chance(alpha, len(made))} would come out so by chance).{few}"
        )
    bounds = [
        f"{runs.full_name(bound)} has {means[bound]:.{DECIMALS}f}"
        for bound in runs.bounds
        if not np.isnan(means[bound])
    ]
    if bounds:
        sentences.append(f"For scale, {', '.join(bounds)}.")
    return tuple(sentences)


def _mean_over_data(runs: RunTable, method: str) -> float:
    """Return the mean over data of the mean scores of a method; NaN where one is missing."""
    return float(np.mean([runs.mean(data, method) for data in runs.data]))


def _by_majority(runs: RunTable, reference: str, tests: PairwiseTests, alpha: float) -> str:
    """Say what most tests against each rival come to, rivals with the same verdict together."""
    groups: dict[str, list[str]] = {"better than": [], "worse than": [], "different from": []}
    for rival in runs.rivals(reference):
        made = [test for data in runs.data if (test := tests[data, rival]) is not None]
        if made:
            counts = WinTieLoss.count(made, alpha)
            kinds = {"better than": counts.wins, "worse than": counts.losses}
            most = [kind for kind, number in kinds.items() if 2 * number > len(made)]
            groups[most[0] if most else "different from"].append(runs.display_name(rival))
    where = f" on most {runs.unit}s" if len(runs.data) > 1 else ""
    parts = []
    for kind, rivals in groups.items():
        if rivals:
            negation = "not " if kind == "different from" else ""
            parts.append(f"{negation}significantly {kind} {', '.join(rivals)}")
    return "; ".join(parts) + where


def _by_chance(alpha: float, n_tests: int) -> str:
    return f"about {alpha * n_tests:.0f}" if alpha * n_tests >= 1 else "less than one"


def _best(runs: RunTable, reference: str) -> list[str]:
    best = [runs.best_methods(data) for data in runs.data]
    counts = {method: sum(method in names for names in best) for method in runs.methods}
    ordered = sorted(counts, key=lambda method: -counts[method])
    shown = [method for method in ordered if counts[method] or method == reference]
    if not any(best):
        return [f"No method has any {metric_title(runs.metric)} to show."]
    shared = " (ties count for each)" if any(len(names) > 1 for names in best) else ""
    each = ", ".join(f"{runs.display_name(method)} {counts[method]}" for method in shown)
    out_of = plural(len(runs.data), runs.unit)
    return [f"Best mean {metric_title(runs.metric)}, out of {out_of}{shared}: {each}."]


def _best_or_level(runs: RunTable, reference: str, tests: PairwiseTests, alpha: float) -> list[str]:
    """Say on how much data no better mean is significantly better."""
    n_level, behind, untested = 0, [], []
    for data in runs.data:
        best = runs.best_methods(data)
        made = {name: test for name in best if (test := tests.get((data, name)))}
        ahead = [name for name, test in made.items() if test.verdict(alpha) == "worse"]
        if reference in best or (made and not ahead):
            n_level += 1
        elif ahead:
            behind.append(f"{data} ({', '.join(runs.display_name(name) for name in ahead)})")
        else:
            untested.append(data)
    if len(untested) == len(runs.data) or not runs.rivals(reference):
        return []
    but = f"; not on {join_data(behind)}" if behind else ""
    if untested:
        but += f"; it cannot be tested on {join_data(untested)}"
    return [
        f"{runs.display_name(reference)} is the best, or not significantly behind the best, on "
        f"{n_level} of {plural(len(runs.data), runs.unit)} (paired t-test){but}."
    ]


def _verdicts(
    runs: RunTable, reference: str, tests: PairwiseTests, corrected: PairwiseTests, alpha: float
) -> list[str]:
    shown = runs.display_name(reference)
    pairs = list(product(runs.data, runs.rivals(reference)))
    n_tests = sum(tests[pair] is not None for pair in pairs)
    if n_tests == 0:
        why = "no two runs in common" if runs.rivals(reference) else "there is none"
        return [f"{shown} cannot be tested against another method: {why}."]
    counts = WinTieLoss.count((tests[pair] for pair in pairs), alpha)
    fair = WinTieLoss.count((corrected[pair] for pair in pairs), alpha)
    by_chance = _by_chance(alpha, n_tests)
    return [
        f"In {plural(n_tests, 'paired t-test')}, {shown} is significantly better in {counts.wins}, "
        f"worse in {counts.losses}, neither in {counts.ties}; corrected for training rows that "
        f"runs share, better in {fair.wins}, worse in {fair.losses}, neither in {fair.ties}. At "
        f"the level {alpha:g}, {by_chance} of {n_tests} would come out significant by chance if no "
        "methods differed."
    ]


def _behind(runs: RunTable, reference: str, tests: PairwiseTests, alpha: float) -> list[str]:
    """Say where the reference loses, the rival with most wins first."""
    shown = runs.display_name(reference)
    losses: dict[str, list[tuple[float, str]]] = {}
    pairs = list(product(runs.rivals(reference), runs.data))
    for rival, data in pairs:
        test = tests[data, rival]
        if test and test.verdict(alpha) == "worse":
            losses.setdefault(rival, []).append((-test.difference, data))
    if not losses:
        is_tested = any(tests[data, rival] for rival, data in pairs)
        return [f"{shown} is nowhere significantly behind (paired t-test)."] if is_tested else []
    sentences = []
    for rival, behind in sorted(losses.items(), key=lambda item: -len(item[1])):
        places = [f"{data} (by {gap:.3f})" for gap, data in sorted(behind, reverse=True)]
        sentences.append(
            f"{shown} is significantly behind {runs.display_name(rival)} on {len(behind)} of "
            f"{plural(len(runs.data), runs.unit)}: {join_data(places)}."
        )
    return sentences


def _with_misses(runs: RunTable) -> list[str]:
    """Say how scores change with the share of training sets that miss the truth."""
    groups: dict[tuple[str, ...], dict[float, str]] = {}
    for data, one in runs.settings.items():
        # As strings, because NaN does not equal itself.
        setting = (one.dataset, str(one.p), str(one.r), one.groups)
        groups.setdefault(setting, {})[one.miss] = data
    by_rates: dict[tuple[str, tuple[float, ...]], list[dict[float, str]]] = {}
    for (*_, held_out), group in groups.items():
        by_rates.setdefault((held_out, tuple(sorted(group))), []).append(group)
    sentences = []
    for (held_out, rates), same in by_rates.items():
        if len(rates) > 1:
            each = [
                f"{runs.display_name(method)} "
                + ", ".join(
                    _mean_text(runs, [group[rate] for group in same], method) for rate in rates
                )
                for method in runs.methods
            ]
            names = dict.fromkeys(runs.settings[group[rates[0]]].dataset for group in same)
            sentences.append(
                f"Mean {metric_title(runs.metric)} on {join_data(names)}"
                f"{held_out and f' ({held_out})'} if a share of the training sets misses the "
                f"truth, miss = {', '.join(map('{:g}'.format, rates))}: "
                f"{'; '.join(each)}."
            )
    return sentences


def _mean_text(runs: RunTable, data: list[str], method: str) -> str:
    mean = float(np.mean([runs.mean(title, method) for title in data]))
    return MISSING if np.isnan(mean) else f"{mean:.{DECIMALS}f}"


def _ranks(runs: RunTable, ranking: Ranking, reference: str) -> list[str]:
    difference, ranks = ranking.critical_difference, ranking.ranks
    if difference is None:
        return []
    ordered = sorted(ranks, key=lambda method: ranks[method])
    each = ", ".join(f"{runs.display_name(method)} {ranks[method]:.2f}" for method in ordered)
    sentence = f"Average ranks, 1 is best: {each}."
    if reference not in ranks:
        return [sentence]
    gaps = {method: ranks[method] - ranks[reference] for method in ordered}
    ahead = [runs.display_name(method) for method, gap in gaps.items() if -gap > difference]
    behind = [runs.display_name(method) for method, gap in gaps.items() if gap > difference]
    return [
        f"{sentence} By the critical difference of {difference:.2f} "
        f"{runs.display_name(reference)} is better than {', '.join(behind) or 'no other'} and "
        f"worse than {', '.join(ahead) or 'no other'}."
    ]


def _few_runs(runs: RunTable) -> list[str]:
    return [f"Tests over {runs.n_runs} runs, as here, can say little."] * _has_few_runs(runs)


def _has_few_runs(runs: RunTable) -> bool:
    return 1 < runs.n_runs < _FEW_RUNS and len(runs.methods) > 1


def _missing(runs: RunTable) -> list[str]:
    columns = runs.methods + runs.bounds
    expected = runs.n_runs * len(columns) * len(runs.data)
    finished = sum(len(runs.values(data, method)) for data in runs.data for method in columns)
    if finished == expected:
        return []
    return [
        f"{expected - finished} of {expected} runs are missing; methods are compared on the runs "
        "that they have in common."
    ]
