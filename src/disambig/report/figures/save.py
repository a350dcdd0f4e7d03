"""Figures as files: the same figure gives the same bytes."""

import os
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from disambig._core.files import written_atomically
from disambig.report.figures.style import look

__all__ = ["save_figure"]

# No date and no version in a file.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


def save_figure(figure: Figure, stem: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and as SVG; return both paths.

    Parameters
    ----------
    figure : Figure
        From one of the functions that draw.
    stem : path
        Path without suffix.
    """
    paths = []
    for suffix, metadata in _METADATA.items():
        path = Path(f"{os.fspath(stem)}.{suffix}")
        with look(), written_atomically(path) as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata)
        paths.append(path)
    return paths
