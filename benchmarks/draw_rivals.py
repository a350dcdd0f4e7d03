"""Draw docs/results/rivals_accuracy.svg from the means that rivals_accuracy.py measured.

python benchmarks/draw_rivals.py
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from disambig.bench.charts import ONE_ERROR
from disambig.bench.figure_style import COLORS, INK, figure_style, save_figure_as
from disambig.datasets.card import dataset_title
from results_page import FOLDER

DATASETS = ("lost", "birdsong", "msrcv2")
# Told apart by shape and by filling, for every eye and for paper.
MARKS = {"paper": ("D", "the NCPD paper"), "independent": ("s", "independent code")}
ELSEWHERE = COLORS[8]


def draw() -> Figure:
    """Draw a panel for every dataset, the methods below each other."""
    means = pd.read_csv(FOLDER / "rivals_accuracy.csv")
    methods = list(dict.fromkeys(means["method"]))
    figure = Figure(figsize=(9.2, 3.6), layout="constrained")
    panels = figure.subplots(1, len(DATASETS), sharey=True)
    places = np.arange(len(methods))
    for axes, data in zip(panels, DATASETS, strict=True):
        rows = means[means["data"] == data].set_index("method").loc[methods]
        axes.errorbar(
            rows["mean"],
            places,
            xerr=rows["std"] / np.sqrt(rows["folds"]),
            fmt="o",
            color=INK,
            capsize=2.5,
            label=f"disambig, {ONE_ERROR} of the mean over folds",
        )
        for source, (mark, label) in MARKS.items():
            is_of_source = (rows["source"] == source).to_numpy()
            axes.scatter(
                rows["reference"][is_of_source],
                places[is_of_source],
                marker=mark,
                facecolors="none",
                edgecolors=ELSEWHERE,
                s=42,
                label=label,
            )
        axes.set(title=dataset_title(data), xlabel="held-out accuracy")
        axes.set_yticks(places, [method.upper() for method in methods])
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def main() -> None:
    """Draw, and write the file."""
    with figure_style():
        save_figure_as(draw(), FOLDER / "rivals_accuracy.svg")


if __name__ == "__main__":
    main()
