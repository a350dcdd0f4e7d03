"""The tables of a report: scores, wins, every test, the paper's figures beside ours."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from disambig.bench.comparisons import (
    PairwiseTests,
    WinTieLoss,
    pairwise_tests,
)
from disambig.bench.formats import Table
from disambig.bench.run_table import RunTable
from disambig.bench.wording import (
    MARKS,
    MISSING,
    count_of,
    mean_and_std_text,
    score_text,
    selection_notes,
)
from disambig.metrics.registry import direction, metric_title

_ABOUT_BASELINES = (
    " Baselines (LR: logistic regression) come last; they are shown for scale and take no part."
)
# Mean and standard deviation, by dataset and method.
Published = Mapping[str, Mapping[str, tuple[float, float]]]


def comparison_table(
    scores: Any, metric: str = "accuracy", *, reference: str, alpha: float = 0.05
) -> Table:
    """Return a table of mean ± standard deviation: a row per dataset, a column per method.

    A bullet says that the reference is significantly better than this method, a circle that it is
    significantly worse, by the paired t-test over the runs that both have. The last row counts
    both, and the rest. Baselines come last and are not tested.

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

    See Also
    --------
    significance_table : Every test of the same scores.
    win_table : Wins, ties and losses over all p.
    to_markdown : The table as text.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import comparison_table, make_report
    >>> scores = make_report(result).scores
    >>> table = comparison_table(scores, reference="PLKNN")
    >>> [row[0] for row in table.rows]
    ['glass, p=0.3, r=1', 'glass, p=0.7, r=1', 'win/tie/loss']
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
        title=_scores_title(runs),
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


def _scores_title(runs: RunTable) -> str:
    what = metric_title(runs.metric)
    over = f": mean ± standard deviation over {runs.n_runs} runs" if runs.n_runs > 1 else ""
    return what[:1].upper() + what[1:] + over


def _comparison_notes(
    runs: RunTable, reference: str, tests: PairwiseTests, alpha: float
) -> list[str]:
    name = runs.display_name(reference)
    less = " Less is better." if direction(runs.metric) < 0 else ""
    notes = [
        f"•/◦: {name} is significantly better/worse than this method by the paired t-test over "
        f"runs (seeds and folds), at the level {alpha:g} for each test. Win/tie/loss counts this "
        f"for {name}.{less}",
        f"The best mean of the methods stands out.{_ABOUT_BASELINES if runs.bounds else ''}",
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
        notes.append(f"Not tested, because two runs in common are needed: {untested}.")
    return notes + selection_notes(runs)


def win_table(
    scores: Any, metric: str = "accuracy", *, reference: str, alpha: float = 0.05
) -> Table:
    """Return a row for every dataset, r and miss rate: the reference against each rival.

    Wins, ties and losses are counted over all p.

    Baselines have the last columns and take no part in the sum of all rivals.

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

    See Also
    --------
    comparison_table : The scores themselves.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import make_report, win_table
    >>> scores = make_report(result).scores
    >>> table = win_table(scores, reference="PLKNN")
    >>> table.header[:4]
    ('data', 'CLPL', 'PLSVM', 'all')
    """
    runs = RunTable.from_scores(scores, metric, reference)
    rivals, tests = runs.rivals(reference), pairwise_tests(runs, reference)
    groups: dict[str, list[str]] = {}
    for data, setting in runs.settings.items():
        r = "" if np.isnan(setting.r) else f", r={setting.r:g}"
        miss = f", miss={setting.miss:g}" if setting.miss else ""
        held_out = f", {setting.groups}" if setting.groups else ""
        groups.setdefault(setting.dataset + r + miss + held_out, []).append(data)

    def count(group: list[str], *others: str) -> str:
        return str(WinTieLoss.count((tests[pair] for pair in product(group, others)), alpha))

    name = runs.display_name(reference)
    notes = [
        f"How often {name} is significantly better, neither, significantly worse: paired "
        f"t-tests over runs (seeds and folds), one for every p, at the level {alpha:g} each."
    ]
    if runs.bounds:
        notes.append(
            "Baselines (LR: logistic regression) are tested in the same way; 'all' is without them."
        )
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


def published_table(scores: Any, published: Published) -> Table:
    """Return two rows for every dataset of the paper: accuracy as we and as they measured it.

    Datasets that we have no score on are left out. Methods that the paper does not have come after
    those that it has, baselines last.

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
            "Mean ± standard deviation over folds. Our folds are not the paper's, which "
            "are not published. LR: logistic regression, a baseline.",
            *selection_notes(runs),
        ),
    )
