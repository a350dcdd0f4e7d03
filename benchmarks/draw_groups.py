"""Draw docs/results/groups.svg and group_promises.svg from what benchmarks/groups.py measured.

python benchmarks/draw_groups.py
"""

import json

import numpy as np
from matplotlib.figure import Figure

from disambig.bench.figure_style import COLORS, INK, figure_style, save_figure_as
from disambig.datasets.card import dataset_title
from groups import CLASSICAL, LISTENING, MISSING, NETWORKS, Scores, title_of
from results_page import FOLDER

DATASETS = ("lost", "birdsong", "msrcv2")
ROWS, GROUPS, COVER = COLORS[0], COLORS[1], COLORS[2]
PROMISES = {
    "none": {"color": INK, "marker": "o", "linestyle": ":", "label": "no promise"},
    "cover": {"color": COLORS[0], "marker": "s", "linestyle": "-", "label": "cover"},
    "exclusive": {"color": COLORS[1], "marker": "D", "linestyle": "--", "label": "exclusive"},
}


def draw_protocols(found: dict[str, Scores]) -> Figure:
    """Draw a panel for every dataset: each method on rows, and on new groups."""
    figure = Figure(figsize=(9.2, 4.2), layout="constrained")
    panels = figure.subplots(1, len(DATASETS), sharey=True)
    methods = ("truth", *NETWORKS, *CLASSICAL)
    places = np.arange(len(methods))
    for axes, name in zip(panels, DATASETS, strict=True):
        means = {
            kind: np.array(
                [np.mean(found[f"protocols/{name}/{method}/{kind}"]["test"]) for method in methods]
            )
            for kind in ("rows", "none")
        }
        axes.hlines(places, means["none"], means["rows"], color=INK, linewidth=0.8, alpha=0.5)
        axes.scatter(means["rows"], places, color=ROWS, marker="o", label="rows held out")
        axes.scatter(
            means["none"], places, edgecolors=GROUPS, facecolors="none", marker="s",
            label="whole groups held out",
        )  # fmt: skip
        heard = [place for place, method in enumerate(methods) if method in LISTENING]
        covered = [
            np.mean(found[f"protocols/{name}/{methods[place]}/cover"]["test"]) for place in heard
        ]
        axes.scatter(
            covered, heard, color=COVER, marker="x", label="the same, and 'cover' learned from"
        )
        axes.set(title=dataset_title(name), xlabel="held-out accuracy")
        axes.set_yticks(places, [title_of(method) for method in methods])
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def draw_photos(found: dict[str, Scores]) -> Figure:
    """Draw faces named right against the share of names that captions lack, by promise."""
    figure = Figure(figsize=(9.2, 3.4), layout="constrained")
    sides = {"train": "training faces set right", "test": "faces of new photos"}
    columns = [("ncpd_plus", "train"), ("ncpd_plus", "test"), ("em", "train")]
    panels = figure.subplots(1, len(columns), sharey=True)
    for axes, (method, side) in zip(panels, columns, strict=True):
        for promise, style in PROMISES.items():
            scores = [found[f"photos/{method}/{promise}/{share:g}"][side] for share in MISSING]
            means = np.mean(scores, axis=1)
            errors = np.std(scores, axis=1, ddof=1) / np.sqrt(len(scores[0]))
            axes.errorbar(MISSING, means, errors, capsize=2, **style)
        axes.set(
            title=f"{title_of(method)}: {sides[side]}",
            xlabel="share of faces not named in the caption",
            xticks=MISSING,
        )
    panels[0].set(ylabel="accuracy")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def main() -> None:
    """Draw, and write the files."""
    found = json.loads((FOLDER / "groups.json").read_text(encoding="utf-8"))
    with figure_style():
        save_figure_as(draw_protocols(found), FOLDER / "groups.svg")
        save_figure_as(draw_photos(found), FOLDER / "group_promises.svg")


if __name__ == "__main__":
    main()
