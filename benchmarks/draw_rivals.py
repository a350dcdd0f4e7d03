"""Draw docs/results/rivals_accuracy.png from the means that rivals_accuracy.py measured.

python benchmarks/draw_rivals.py
"""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from disambig._core.files import write_atomically
from results_page import FOLDER

mpl.use("agg")
TITLES = {"lost": "Lost", "birdsong": "BirdSong", "msrcv2": "MSRCv2"}
# Told apart by shape and by filling, for every eye and for paper.
MARKS = {"paper": ("D", "the NCPD paper"), "independent": ("s", "independent code")}


def main() -> None:
    """Draw a panel for every dataset, the methods below each other."""
    means = pd.read_csv(FOLDER / "rivals_accuracy.csv")
    methods = list(dict.fromkeys(means["method"]))
    figure, panels = plt.subplots(1, len(TITLES), figsize=(9.2, 3.6), sharey=True)
    for axes, (data, title) in zip(panels, TITLES.items(), strict=True):
        own = means[means["data"] == data].set_index("method").loc[methods]
        places = np.arange(len(methods))
        axes.errorbar(
            own["mean"],
            places,
            xerr=own["std"] / np.sqrt(own["folds"]),
            fmt="o",
            color="#0b5fa5",
            capsize=2.5,
            label="disambig, ± std / √folds",
        )
        for source, (mark, label) in MARKS.items():
            rows = (own["source"] == source).to_numpy()
            axes.scatter(
                own["reference"][rows],
                places[rows],
                marker=mark,
                facecolors="none",
                edgecolors="#c8501e",
                s=42,
                label=label,
            )
        axes.set(title=title, xlabel="held-out accuracy")
        axes.set_yticks(places, methods)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
    with write_atomically(FOLDER / "rivals_accuracy.png") as temporary:
        figure.savefig(temporary, dpi=160)


if __name__ == "__main__":
    main()
