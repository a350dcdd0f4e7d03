"""Draw the picture of the README from the commands beside it: what cleaning gives, and is worth.

    python benchmarks/draw_what_you_get.py [--folder docs/images]

Runs ``disambig example`` and ``disambig clean`` on the example table, with default settings. True
labels of all rows come from the dataset that the table was made from; only the curve sees them.
Writes what_you_get_light.svg and what_you_get_dark.svg, and prints the figures that the README
quotes.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from disambig import load_dataset, read_table
from disambig._core.typing import FloatArray
from disambig.bench.figure_style import figure_style

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
# Without --truth: the curve is about choices of the model, not about labels that were known.
CLEAN = ("clean", "vehicles.csv", "--labels", "label", "--ignore", "checked")
SHOWN = ("vehicle", "compactness", "scatter_ratio")
N_ROWS = 8


class Theme(NamedTuple):
    """Colours on a light or a dark page."""

    ink: str
    soft: str
    line: str
    strong: str
    doubt: str


THEMES = {
    "light": Theme("#1A1A1A", "#5A5A5A", "#D0D0D0", "#0B5FA5", "#D55E00"),
    "dark": Theme("#E8E8E8", "#A8A8A8", "#444444", "#6CB4F0", "#F08A45"),
}


def cleaned_example() -> pd.DataFrame:
    """Return what the two commands write."""
    with tempfile.TemporaryDirectory() as folder:
        for arguments in (("example",), (*CLEAN, "--out", "vehicles-clean.csv")):
            command = [sys.executable, "-m", "disambig", *arguments]
            subprocess.run(command, cwd=folder, check=True)
        return read_table(Path(folder) / "vehicles-clean.csv")


def true_labels(table: pd.DataFrame) -> FloatArray:
    """Return the true label of every row, found by its features in the whole dataset."""
    vehicle = load_dataset("vehicle")
    names = list(vehicle.feature_names)
    by_features = {
        tuple(row): label for row, label in zip(vehicle.X, vehicle.true_labels, strict=True)
    }
    return np.array([by_features[tuple(row)] for row in table[names].astype(float).to_numpy()])


def errors_found(confidence: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the share of errors found after every row, the least sure first.

    Rows of equal confidence come in no particular order: their errors are spread over them.
    """
    spread = pd.Series(wrong, dtype=float).groupby(confidence).transform("mean").to_numpy()
    return np.asarray(spread[np.argsort(confidence, kind="stable")].cumsum() / wrong.sum())


def draw_rows(axes: Axes, rows: pd.DataFrame, theme: Theme) -> None:
    """Draw some rows of the table, and what cleaning adds to them."""
    axes.set(xlim=(0, 10.4), ylim=(len(rows) + 0.3, -1.6))
    axes.axis("off")
    places = {"vehicle": 0, "compactness": 2.5, "scatter_ratio": 4.2, "label": 4.75}
    heads = {"vehicle": "", "compactness": "compact.", "scatter_ratio": "scatter", "label": "label"}
    sides = {"compactness": "right", "scatter_ratio": "right"}
    axes.text(0, -1.35, "Your table", weight="bold", color=theme.ink)
    axes.text(7.0, -1.35, "What you get", weight="bold", color=theme.ink)
    for name, x in places.items():
        side = sides.get(name, "left")
        axes.text(x, -0.45, heads[name], ha=side, fontsize=7.5, color=theme.soft)
    axes.text(7.0, -0.45, "chosen label, how sure", fontsize=7.5, color=theme.soft)
    for y, (_, row) in enumerate(rows.iterrows()):
        for name, x in places.items():
            is_label = name == "label"
            axes.text(
                x,
                y + 0.4,
                row[name],
                ha=sides.get(name, "left"),
                va="center",
                family="monospace" if is_label else None,
                color=theme.ink if is_label else theme.soft,
            )
        confidence = float(row["confidence"])
        color = theme.doubt if row["second_look"] == "True" else theme.strong
        axes.text(
            7.0, y + 0.4, row["chosen_label"], va="center", family="monospace", color=theme.ink
        )
        axes.barh(y + 0.4, 1.4, left=8.2, height=0.42, color=theme.line, linewidth=0)
        axes.barh(y + 0.4, 1.4 * confidence, left=8.2, height=0.42, color=color, linewidth=0)
        axes.text(9.7, y + 0.4, f"{confidence:.2f}", va="center", fontsize=7.5, color=color)
        axes.axhline(y - 0.1, color=theme.line, linewidth=0.5)
    axes.annotate("", (6.75, 3.9), (6.2, 3.9), arrowprops={"arrowstyle": "->", "color": theme.soft})


def draw_curve(axes: Axes, found: FloatArray, marked: tuple[float, float], theme: Theme) -> None:
    """Draw how many errors a look at the least sure rows finds."""
    reviewed = np.arange(len(found) + 1) / len(found)
    axes.plot([0, 1], [0, 1], color=theme.soft, linestyle=":", linewidth=1)
    axes.plot(reviewed, [0, *found], color=theme.strong, linewidth=2)
    axes.plot(*marked, "o", color=theme.doubt)
    axes.annotate(
        f"marked for a second look:\n{marked[0]:.0%} of the rows, {marked[1]:.0%} of the errors",
        marked,
        (marked[0] + 0.06, marked[1] - 0.1),
        color=theme.doubt,
        fontsize=8,
        va="top",
    )
    axes.text(0.45, 0.34, "rows in any order", rotation=31, fontsize=7.5, color=theme.soft)
    axes.set(xlim=(0, 1), ylim=(0, 1.03), xticks=(0, 0.25, 0.5, 0.75, 1), yticks=(0, 0.5, 1))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("rows looked at, the least sure first", color=theme.ink)
    axes.set_title("Errors found", loc="left", weight="bold", fontsize=9, color=theme.ink)
    axes.tick_params(colors=theme.soft)
    for spine in axes.spines.values():
        spine.set_color(theme.line)
    axes.grid(color=theme.line)


def main() -> None:
    """Run the commands, draw, and say what was found."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    table = cleaned_example()
    wrong = table["chosen_label"].to_numpy() != true_labels(table)
    is_marked = (table["second_look"] == "True").to_numpy()
    marked = (float(is_marked.mean()), float(wrong[is_marked].sum() / wrong.sum()))
    found = errors_found(table["confidence"].astype(float).to_numpy(), wrong)
    for name, theme in THEMES.items():
        with figure_style():
            figure, (left, right) = plt.subplots(
                1, 2, figsize=(9.6, 2.9), width_ratios=(1.55, 1), layout="constrained"
            )
            draw_rows(
                left, table[table["label"].str.contains("|", regex=False)].head(N_ROWS), theme
            )
            draw_curve(right, found, marked, theme)
            plain = {"Date": None, "Creator": None}
            path = folder / f"what_you_get_{name}.svg"
            figure.savefig(path, transparent=True, metadata=plain)
            plt.close(figure)
    print(
        f"{wrong.sum()} of {len(wrong)} choices are wrong. {is_marked.sum()} rows are marked, "
        f"{marked[0]:.1%} of all, with {marked[1]:.1%} of the errors."
    )


if __name__ == "__main__":
    main()
