"""Our figures beside those that a paper prints."""

from collections.abc import Mapping
from typing import Any

from disambig.report.cells import Cells, read_cells
from disambig.report.table import Table
from disambig.report.wording import MISSING, mean_text

__all__ = ["published_table"]


def published_table(
    scores: Any, published: Mapping[str, Mapping[str, tuple[float, float]]]
) -> Table:
    """Return two rows for every dataset of the paper: accuracy as we and as they measured it.

    Parameters
    ----------
    scores : DataFrame
        Records of a study on the datasets' own candidate sets.
    published : mapping
        Mean and standard deviation, by dataset and method.
    """
    cells = read_cells(scores, "accuracy")
    columns = list(dict.fromkeys(name for figures in published.values() for name in figures))
    rows = []
    for dataset, figures in published.items():
        rows.append((dataset, "ours", *(_ours(cells, dataset, name) for name in columns)))
        rows.append(("", "paper", *(_theirs(figures.get(name)) for name in columns)))
    return Table(
        title="Accuracy beside the paper's",
        header=("data", "", *columns),
        rows=tuple(rows),
        notes=("The folds are not those of the paper, which does not publish them.",),
    )


def _ours(cells: Cells, dataset: str, method: str) -> str:
    return mean_text(cells.values(dataset, method))


def _theirs(figure: tuple[float, float] | None) -> str:
    return MISSING if figure is None else f"{figure[0]:.3f} ± {figure[1]:.3f}"
