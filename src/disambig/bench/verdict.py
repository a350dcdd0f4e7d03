"""What a study found, in one sentence: how its reference does against each rival."""

from functools import partial
from typing import Any

from disambig._core.messages import join_with_and, plural
from disambig.bench.comparisons import WinTieLoss, pairwise_tests
from disambig.bench.run_table import DECIMALS, RunTable
from disambig.bench.statistics import corrected_t_test

_LEVEL, _BETTER, _WORSE = "level with", "significantly better than", "significantly worse than"


def in_one_sentence(
    scores: Any,
    reference: str,
    metric: str = "accuracy",
    *,
    test_share: float,
    alpha: float = 0.05,
) -> str:
    """Say whom the reference is level with, better than and worse than; "" without a test.

    A rival is level if no more tests are significant than would be by chance. The parameters are
    those of ``findings``; tests are corrected for training rows that runs share.
    """
    runs = RunTable.from_scores(scores, metric, reference)
    tests = pairwise_tests(runs, reference, partial(corrected_t_test, test_share=test_share))
    groups: dict[str, list[str]] = {_LEVEL: [], _BETTER: [], _WORSE: []}
    for rival in runs.rivals(reference):
        made = [test for data in runs.data if (test := tests[data, rival]) is not None]
        if made:
            by_chance = alpha * len(made)
            relation, where = _relation(WinTieLoss.count(made, alpha), by_chance)
            groups[relation].append(_name(runs, rival) + (where if len(runs.data) > 1 else ""))
    of_all = f" of {plural(len(runs.data), runs.unit)}" if len(runs.data) > 1 else ""
    said = [
        f"{relation} {join_with_and(names)}{'' if relation == _LEVEL else of_all}"
        for relation, names in groups.items()
        if names
    ]
    if not said:
        return ""
    by_tests = f"by corrected t-tests over {plural(runs.n_runs, 'run')}"
    return f"{_name(runs, reference)} is {'; '.join(said)}, {by_tests}."


def _relation(counts: WinTieLoss, by_chance: float) -> tuple[str, str]:
    """Return how the reference does against a rival, and on how much data."""
    wins, losses = counts.wins, counts.losses
    if max(wins, losses) <= by_chance:
        return _LEVEL, ""
    if wins == losses:
        return _LEVEL, f" (better on {wins}, worse on {losses})"
    if wins > losses:
        return _BETTER, f" on {wins}" + (f" (worse on {losses})" if losses > by_chance else "")
    return _WORSE, f" on {losses}" + (f" (better on {wins})" if wins > by_chance else "")


def _name(runs: RunTable, method: str) -> str:
    """Return the name of a method, on a single dataset with its mean."""
    name = runs.display_name(method)
    data, *more = runs.data
    return name if more else f"{name} ({runs.mean(data, method):.{DECIMALS}f})"
