"""Scores as text, and the sentences that several tables and the findings share."""

from collections import Counter
from collections.abc import Iterable, Sequence

from disambig._core.messages import join_names, plural
from disambig._core.typing import FloatArray
from disambig.bench.comparisons import Ranking
from disambig.bench.evaluate import mean_and_std
from disambig.bench.run_table import DECIMALS, RunTable

MISSING = "-"
# Verdict of a test on the reference, beside the score of a rival.
MARKS = {"better": " •", "worse": " ◦", "tie": ""}


def score_text(mean: float, deviation: float | None) -> str:
    """Return mean ± standard deviation, or the mean alone."""
    text = f"{mean:.{DECIMALS}f}"
    return text if deviation is None else f"{text} ± {deviation:.{DECIMALS}f}"


def mean_and_std_text(values: Sequence[float] | FloatArray) -> str:
    """Return mean ± standard deviation as tables show them; of a single value, the value.

    Parameters
    ----------
    values : sequence of float
        One for every fold.

    See Also
    --------
    mean_and_std : The same as numbers.

    Examples
    --------
    >>> from disambig.bench import mean_and_std_text
    >>> mean_and_std_text([0.5, 0.75, 1.0])
    '0.750 ± 0.250'
    """
    if len(values) == 0:
        return MISSING
    if len(values) == 1:
        return score_text(float(values[0]), None)
    return score_text(*mean_and_std(values))


def standard_error(values: Sequence[float] | FloatArray) -> float | None:
    """Return the standard error of the mean, as bars and bands show it; None of one value."""
    return mean_and_std(values)[1] / len(values) ** 0.5 if len(values) > 1 else None


def count_of(n_values: int, n_full: int) -> str:
    """Return the mark of a cell that is less full than others; nothing for a full one."""
    return f" ({n_values} of {n_full})" if 0 < n_values < n_full else ""


def p_value_text(p_value: float) -> str:
    """Return a p-value to three decimals."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def join_data(names: Iterable[str]) -> str:
    """Return the first few of many names of data, which have commas inside."""
    return join_names(names, most=5, longest=None, separator=";")


def count_by_dataset(runs: RunTable, data: Iterable[str]) -> str:
    """Return how many settings of each dataset these are; where a dataset comes once, its name."""
    counts = Counter(runs.settings[title].dataset for title in data)
    if runs.unit == "dataset":
        return join_data(counts)
    return ", ".join(f"{dataset} {number}" for dataset, number in counts.items())


def selection_notes(runs: RunTable) -> list[str]:
    """Say how parameters were chosen, true labels first."""
    chosen: dict[str, list[str]] = {}
    for method, selections in runs.selections.items():
        for selection in selections:
            chosen.setdefault(selection, []).append(method)
    notes = []
    for selection, methods in sorted(chosen.items(), key=lambda item: item[0] != "oracle"):
        how = f"by the {selection.replace('_', ' ')}"
        if selection == "oracle":
            how = "with true labels (oracle selection)"
        notes.append(f"Parameters chosen {how}: {', '.join(methods)}.")
    return notes


def friedman_sentence(ranking: Ranking, alpha: float) -> str:
    """Say whether the methods differ at all, or why that cannot be said."""
    if ranking.friedman is None:
        return f"There is no Friedman test: it needs {ranking.lacks}."
    test = ranking.friedman
    significant = {test.p_value < alpha, test.f_p_value < alpha}
    if significant == {True}:
        found = "the methods differ"
    elif significant == {False}:
        found = "the methods cannot be told apart"
    else:
        found = "its two versions disagree on whether the methods differ"
    return (
        f"Friedman's test: {found} at the level {alpha:g} "
        f"(chi-square {test.chi_square:.2f}, p {_relation(test.p_value)}; Iman and Davenport's F "
        f"{test.f_statistic:.2f}, p {_relation(test.f_p_value)})."
    )


def repeated_data_sentence(ranking: Ranking, *, has_p_values: bool) -> list[str]:
    """Warn of data that is not independent.

    There is nothing to say where every dataset is there once, or where nothing was computed over
    data.
    """
    too_small = ["p-values are too small"] if has_p_values else []
    if ranking.critical_difference is not None:
        too_small.append(f"the critical difference is {'too' if too_small else 'too small'}")
    if len(ranking.data) == ranking.n_datasets or not too_small:
        return []
    return [
        f"The tests over data count {len(ranking.data)} settings of only "
        f"{plural(ranking.n_datasets, 'dataset')} as if they were independent, which they are not: "
        f"{', and '.join(too_small)}."
    ]


def _relation(p_value: float) -> str:
    text = p_value_text(p_value)
    return text if text.startswith("<") else f"= {text}"


# Captions and remarks of charts


def errors_text(runs: RunTable) -> str:
    """Say what bars and bands are."""
    return f"one standard error of the mean over {runs.n_runs} runs (folds and seeds)"


def lr_note(runs: RunTable) -> str:
    """Say what LR is where there are baselines."""
    return " LR: logistic regression." if runs.bounds else ""


def runs_remark(runs: RunTable, data: str, method: str) -> str:
    """Return how many runs a mean is over, where that is not all; else nothing."""
    count = len(runs.values(data, method))
    return f"{count} of {runs.n_runs} runs" if 0 < count < runs.n_runs else ""
