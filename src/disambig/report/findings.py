"""What a study found, in plain sentences made from its numbers."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from disambig.report.cells import Cells, read_cells
from disambig.report.comparison import best_methods
from disambig.report.duels import count_verdicts, duel
from disambig.report.metric_names import direction, metric_title
from disambig.report.ranking import rank_methods
from disambig.report.wording import (
    friedman_sentence,
    listed,
    repeated_data_sentence,
    selection_notes,
)
from disambig.study.statistics import corrected_t_test, paired_t_test

__all__ = ["findings"]


def findings(
    scores: Any,
    reference: str,
    metric: str = "accuracy",
    *,
    alpha: float = 0.05,
    test_share: float | None = None,
) -> str:
    """Return a list in Markdown: who is best where, where the reference is behind, what is missing.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    reference : str
        Label of the method that the others are compared with.
    metric : str, default="accuracy"
        Column of the records.
    alpha : float, default=0.05
        Level of significance.
    test_share : float, optional
        Share of the rows that a run was tested on; by default one over the number of folds.
    """
    cells = read_cells(scores, metric)
    cells.check_reference(reference)
    ranking = rank_methods(cells, alpha)
    sentences = [
        *_best(cells, reference),
        *_verdicts(cells, reference, alpha, test_share or cells.test_share),
        *_behind(cells, reference, alpha),
        *_gaps(cells, reference),
        friedman_sentence(ranking, alpha),
        *_ranks(ranking.ranks, ranking.critical_difference, reference),
        *repeated_data_sentence(ranking),
        *_missing(cells),
        *selection_notes(cells),
    ]
    return "".join(f"- {sentence}\n" for sentence in sentences)


def _best(cells: Cells, reference: str) -> list[str]:
    best = [best_methods(cells, data) for data in cells.data]
    counts = {method: sum(method in names for names in best) for method in cells.methods}
    ordered = sorted(counts, key=lambda method: -counts[method])
    shown = [method for method in ordered if counts[method] or method == reference]
    if not any(best):
        return [f"No method has a {metric_title(cells.metric)} to show."]
    shared = " (ties count for each)" if any(len(names) > 1 for names in best) else ""
    return [
        f"Best mean {metric_title(cells.metric)}, out of {_count(cells, len(cells.data))}{shared}: "
        f"{', '.join(f'{cells.shown(method)} {counts[method]}' for method in shown)}."
    ]


def _verdicts(cells: Cells, reference: str, alpha: float, test_share: float | None) -> list[str]:
    rivals = _rivals(cells, reference)
    pairs = [(data, rival) for data in cells.data for rival in rivals]
    plain = [duel(cells, data, reference, rival, paired_t_test) for data, rival in pairs]
    n_tests = len(plain) - plain.count(None)
    if n_tests == 0:
        return [f"{reference} cannot be tested against another method: no two runs in common."]
    counts = count_verdicts(plain, alpha)
    sentence = (
        f"In {n_tests} paired t-tests, {reference} is significantly "
        f"better in {counts.wins}, worse in {counts.losses}, neither in {counts.ties}"
    )
    if test_share is not None:
        test = partial(corrected_t_test, test_share=test_share)
        fair = count_verdicts(
            (duel(cells, data, reference, rival, test) for data, rival in pairs), alpha
        )
        sentence += (
            f"; corrected for training rows that runs share, better in {fair.wins}, worse in "
            f"{fair.losses}, neither in {fair.ties}"
        )
    by_chance = f"about {alpha * n_tests:.0f}" if alpha * n_tests >= 1 else "less than one"
    return [
        f"{sentence}. At the level {alpha:g}, {by_chance} of {n_tests} would come out significant "
        "by chance if no methods differed."
    ]


def _behind(cells: Cells, reference: str, alpha: float) -> list[str]:
    """Say where the reference loses, the rival with most wins first."""
    losses: dict[str, list[tuple[float, str]]] = {}
    for rival in _rivals(cells, reference):
        for data in cells.data:
            test = duel(cells, data, reference, rival, paired_t_test)
            if test is not None and test.verdict(alpha) == "worse":
                losses.setdefault(rival, []).append((-test.difference, data))
    if not losses:
        return [f"{reference} is nowhere significantly behind (paired t-test)."]
    sentences = []
    for rival, behind in sorted(losses.items(), key=lambda item: -len(item[1])):
        places = [f"{data} (by {gap:.3f})" for gap, data in sorted(behind, reverse=True)]
        sentences.append(
            f"{reference} is significantly behind {cells.shown(rival)} on {len(behind)} of "
            f"{_count(cells, len(cells.data))}: {listed(places)}."
        )
    return sentences


def _gaps(cells: Cells, reference: str) -> list[str]:
    """Say how far the reference is from each floor and ceiling."""
    sentences = []
    for bound in cells.bounds:
        gaps = {}
        for data in cells.data:
            shared = cells.shared_runs(data, (reference, bound))
            if len(shared):
                means = direction(cells.metric) * shared.mean(axis=0)
                gaps[data] = float(means[0] - means[1])
        if not gaps:
            continue
        gap = float(np.mean(list(gaps.values())))
        # A floor should be below the reference and a ceiling above it; say so where it is not.
        side = 1 if cells.roles[bound] == "floor" else -1
        wrong = [data for data, own in gaps.items() if side * own < 0]
        beyond = "below the floor" if side > 0 else "above the ceiling"
        more = f"; {beyond} on {len(wrong)}: {listed(wrong)}" if wrong else ""
        sentences.append(
            f"{reference} is on average {abs(gap):.3f} {'better' if gap > 0 else 'worse'} than "
            f"{cells.shown(bound)}{_range(cells, list(gaps.values()))}{more}."
        )
    return sentences


def _range(cells: Cells, gaps: list[float]) -> str:
    if len(gaps) == 1:
        return ""
    return f" ({min(gaps):+.3f} to {max(gaps):+.3f} over {_count(cells, len(gaps))})"


def _ranks(ranks: Mapping[str, float], difference: float | None, reference: str) -> list[str]:
    if difference is None or reference not in ranks:
        return []
    rivals = {method: rank for method, rank in ranks.items() if method != reference}
    ahead = [method for method, rank in rivals.items() if ranks[reference] - rank > difference]
    behind = [method for method, rank in rivals.items() if rank - ranks[reference] > difference]
    return [
        f"{reference} has the average rank {ranks[reference]:.2f}. By the critical difference of "
        f"{difference:.2f} it is better than {', '.join(behind) or 'no other'} and worse than "
        f"{', '.join(ahead) or 'no other'}."
    ]


def _missing(cells: Cells) -> list[str]:
    columns = cells.methods + cells.bounds
    expected = cells.n_runs * len(columns) * len(cells.data)
    finished = sum(len(cells.values(data, method)) for data in cells.data for method in columns)
    if finished == expected:
        return []
    return [
        f"{expected - finished} of {expected} runs are missing; methods are compared on the runs "
        "that they have in common."
    ]


def _rivals(cells: Cells, reference: str) -> list[str]:
    return [method for method in cells.methods if method != reference]


def _count(cells: Cells, number: int) -> str:
    return f"{number} {cells.unit}{'' if number == 1 else 's'}"
