"""Numbers as text, and the sentences that more than one table needs."""

import numpy as np

from disambig._core.typing import FloatArray
from disambig.report.cells import Cells
from disambig.report.ranking import Ranking

__all__ = [
    "MISSING",
    "count_of",
    "friedman_sentence",
    "listed",
    "mean_text",
    "p_value_text",
    "repeated_data_sentence",
    "selection_notes",
]

MISSING = "-"


def mean_text(values: FloatArray) -> str:
    """Return mean ± standard deviation; of a single value, the value."""
    if len(values) == 0:
        return MISSING
    text = f"{np.mean(values):.3f}"
    if len(values) > 1:
        text += f" ± {np.std(values, ddof=1):.3f}"
    return text


def count_of(n_values: int, n_full: int) -> str:
    """Return the mark of a cell that is less full than others; nothing for a full one."""
    return f" ({n_values} of {n_full})" if 0 < n_values < n_full else ""


def p_value_text(p_value: float) -> str:
    """Return a p-value to three decimals."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def listed(names: list[str], most: int = 5) -> str:
    """Return the first few of many names; labels of data have commas of their own."""
    if len(names) > most:
        return f"{'; '.join(names[:most])}; and {len(names) - most} more"
    return "; ".join(names)


def selection_notes(cells: Cells) -> list[str]:
    """Say how parameters were chosen, true labels first."""
    chosen: dict[str, list[str]] = {}
    for method, selections in cells.selections.items():
        for selection in selections:
            chosen.setdefault(selection, []).append(method)
    notes = []
    for selection, methods in sorted(chosen.items(), key=lambda item: item[0] != "oracle"):
        by = selection.replace("_", " ")
        how = "chosen with true labels (oracle)" if by == "oracle" else f"chosen by the {by}"
        notes.append(f"Parameters {how}: {', '.join(methods)}.")
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


def repeated_data_sentence(ranking: Ranking) -> list[str]:
    """Warn of data that is not independent; nothing to say where every dataset is there once."""
    if len(ranking.data) == ranking.n_datasets:
        return []
    return [
        f"The tests over data count {len(ranking.data)} settings of only {ranking.n_datasets} "
        f"dataset{'s' if ranking.n_datasets > 1 else ''} as if they were independent, which they "
        "are not: p-values are too small, and the critical difference is too."
    ]


def _relation(p_value: float) -> str:
    text = p_value_text(p_value)
    return text if text.startswith("<") else f"= {text}"
