"""Held-out accuracy while networks learn."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from disambig._core.errors import ParameterError
from disambig.bench.figures.style import (
    legend_entry,
    look,
    make_panels,
    method_styles,
    settle,
    share_legend,
)

__all__ = ["draw_epochs"]

# Every line has them at other epochs, so that they do not cover each other.
_MARKERS_PER_LINE = 10


def draw_epochs(
    curves: Mapping[str, Any],
    *,
    title: str,
    reference: str | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """Return the mean over folds of every variant after each epoch; the legend says where it ends.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_folds, n_epochs)
        The variants, by label.
    title : str
        What was trained on.
    reference : str, optional
        Label of the variant that stands out.
    names : mapping of str to str, optional
        What the legend calls a variant, where that is not its label.
    """
    arrays = {label: np.asarray(values, dtype=float) for label, values in curves.items()}
    for label, values in arrays.items():
        if values.ndim != 2 or values.size == 0:
            raise ParameterError(
                f"A curve has a row for every fold and a column for every epoch. {label!r} has the "
                f"shape {values.shape}."
            )
    if not arrays:
        raise ParameterError("There are no curves to draw. Give at least one variant.")
    n_epochs = max(values.shape[1] for values in arrays.values())
    with look():
        figure, (axes,) = make_panels(1, 1, width=6.4, height=3.4)
        handles = []
        step = max(1, n_epochs // _MARKERS_PER_LINE)
        for i, (label, style) in enumerate(method_styles(arrays, reference).items()):
            means = arrays[label].mean(axis=0)
            first = i * step // len(arrays)
            epochs = np.arange(1, len(means) + 1)
            axes.plot(epochs, means, markevery=(first, step), **style.line())
            name = (names or {}).get(label, label)
            handles.append(legend_entry(f"{name}: {means[-1]:.3f} at the end", style))
        axes.set(xlabel="epoch", ylabel="held-out accuracy", title=title)
        axes.set_xlim(1, max(2, n_epochs))
        share_legend(figure, handles)
        settle(figure)
    return figure
