"""Our figures beside those that a paper prints."""

from collections.abc import Mapping
from typing import Any

from disambig.report.cells import Cells, read_cells
from disambig.report.table import Table
from disambig.report.wording import MISSING, count_of, mean_text, score_text, selection_notes

__all__ = ["Published", "published_table"]

# Mean and standard deviation, by dataset and method.
Published = Mapping[str, Mapping[str, tuple[float, float]]]


def published_table(scores: Any, published: Published) -> Table:
    """Return two rows for every dataset of the paper: accuracy as we and as they measured it.

    Datasets that we have no score on are left out. Methods that the paper does not know come after
    its own, floors and ceilings last.

    Parameters
    ----------
    scores : DataFrame
        Records of a study on the datasets' own candidate sets.
    published : mapping
        Mean and standard deviation, by dataset and method.
    """
    cells = read_cells(scores, "accuracy")
    methods = list(dict.fromkeys(name for figures in published.values() for name in figures))
    columns = list(dict.fromkeys([*methods, *cells.methods, *cells.bounds]))
    rows = []
    for dataset, figures in published.items():
        if any(len(cells.values(dataset, name)) for name in methods):
            rows.append((dataset, "ours", *(_ours(cells, dataset, name) for name in columns)))
            rows.append(("", "paper", *(_theirs(figures.get(name)) for name in columns)))
    return Table(
        title="Accuracy beside the paper's",
        header=(
            "data",
            "",
            *(cells.shown(name) if name in cells.roles else name for name in columns),
        ),
        rows=tuple(rows),
        notes=(
            "The folds are not those of the paper, which does not publish them.",
            *selection_notes(cells),
        ),
    )


def _ours(cells: Cells, dataset: str, method: str) -> str:
    values = cells.values(dataset, method)
    return mean_text(values) + count_of(len(values), cells.n_runs)


def _theirs(figure: tuple[float, float] | None) -> str:
    return MISSING if figure is None else score_text(*figure)
