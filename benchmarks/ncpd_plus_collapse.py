"""How swap noise makes NCPD collapse on Lost, how that is noticed, and what undoes it.

    DISAMBIG_DATA=folder python benchmarks/ncpd_plus_collapse.py [--folder docs/results]

The first of ten folds, fold seed 0, followed epoch by epoch. Writes ncpd_plus_collapse.md and .png.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from disambig import NCPDPlusClassifier, load_dataset
from disambig._core.files import written_atomically
from disambig._core.typing import FloatArray
from disambig.engine.training import Training
from disambig.methods.ncpd_plus.collapse import choices_kept
from disambig.study.split import Split
from disambig.study.trial import Trial, make_trial
from results_page import FOLDER, markdown_table, write_page

mpl.use("agg")
from matplotlib import pyplot as plt  # after the choice of where to draw

NOISE: dict[str, Any] = {"swap_noise": 0.2, "second_view": "quantile"}
WAYS: dict[str, dict[str, Any]] = {
    "NCPD": {},
    "noise, ramp of 100 epochs": NOISE,
    "noise, ramp of 10 epochs": NOISE | {"ramp_epochs": 10},
}
LOOKS = (5, 10, 20, 30, 40, 50, 60, 80, 100, 200)
FREQUENT = 3


class Follower:
    """Look at the choices of every epoch: only an evaluation may, it reads true labels."""

    def __init__(self, trial: Trial) -> None:
        sets = trial.train.candidates
        self._sizes, self._starts = np.diff([*sets.starts, len(sets.pairs()[0])]), sets.starts
        self._columns = sets.pairs()[1]
        names = sets.classes.tolist()
        self._truth = np.array([names.index(label) for label in trial.train.true_labels.tolist()])
        self._frequent = np.bincount(self._truth).argsort()[-FREQUENT:]
        self.true_share = float(np.isin(self._truth, self._frequent).mean())
        self._first: Any = None
        self.right: list[float] = []
        self.kept: list[float] = []
        self.frequent: list[float] = []

    def on_epoch_end(self, training: Training) -> None:
        """Note one epoch."""
        places = training.chosen_places()[0].cpu().numpy()
        chosen = self._columns[self._starts + places]
        if training.epoch == LOOKS[0]:
            self._first = places
        first = places if self._first is None else self._first
        self.right.append(float((chosen == self._truth).mean()))
        self.kept.append(float(choices_kept(first, places, self._sizes)[0]))
        self.frequent.append(float(np.isin(chosen, self._frequent).mean()))


def followed(trial: Trial, parameters: dict[str, Any]) -> tuple[Follower, FloatArray, float]:
    """Return what was seen, the share of simple rows by epoch, and the accuracy on test rows."""
    follower = Follower(trial)
    method = NCPDPlusClassifier(
        select="none",
        guard=False,
        random_state=trial.method_seed,
        callbacks=[follower],
        **parameters,
    ).fit(trial.train.X, trial.train.candidates)
    right = np.mean(method.predict(trial.test.X) == trial.test.true_labels)
    return follower, method.history_["simple"], float(right)


def draw(seen: dict[str, tuple[Follower, FloatArray, float]], path: Path) -> None:
    """Draw four measures by epoch."""
    titles = (
        "training rows whose true label is chosen",
        "first choices kept (0: as by chance)",
        f"rows given to the {FREQUENT} most frequent classes",
        "simple rows",
    )
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex=True, layout="constrained")
    styles = (("#0B5FA5", "-"), ("#8B0000", "--"), ("#00A070", "-."))
    for (way, (follower, simple, _)), (color, dash) in zip(seen.items(), styles, strict=True):
        lines = (follower.right, follower.kept, follower.frequent, simple)
        for axis, line, title in zip(axes.flat, lines, titles, strict=True):
            axis.plot(range(1, len(line) + 1), line, color=color, linestyle=dash, label=way)
            axis.set_title(title, fontsize=10)
            axis.grid(alpha=0.3)
    axes[1, 0].axhline(next(iter(seen.values()))[0].true_share, color="0.4", linewidth=1)
    axes[1, 0].annotate(
        "in truth",
        (0.985, next(iter(seen.values()))[0].true_share),
        fontsize=8,
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        color="0.3",
    )
    axes[0, 1].axhline(0.25, color="0.4", linewidth=1)
    axes[0, 1].annotate(
        "limit of the guard",
        (0.985, 0.25),
        fontsize=8,
        ha="right",
        va="bottom",
        xycoords=("axes fraction", "data"),
        color="0.3",
    )
    for axis in axes[1]:
        axis.set_xlabel("epoch")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    with written_atomically(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def main() -> None:
    """Follow, draw, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    trial = make_trial(load_dataset("lost"), Split(seed=0, fold=0, n_folds=10))
    seen = {way: followed(trial, parameters) for way, parameters in WAYS.items()}
    draw(seen, folder / "ncpd_plus_collapse.png")
    rows = []
    for way, (follower, _, accuracy) in seen.items():
        for name, line in (("right", follower.right), ("kept", follower.kept)):
            cells = [f"{line[epoch - 1]:.2f}" for epoch in LOOKS]
            rows.append([way, name, *cells, f"{accuracy:.3f}"])
    write_page(
        "ncpd_plus_collapse",
        "NCPD+: the collapse on Lost",
        "benchmarks/ncpd_plus_collapse.py",
        "The first of ten folds, fold seed 0, no guard. *right*: share of the training rows whose "
        "true label is chosen among the candidates; *kept*: how many of the choices of epoch "
        f"{LOOKS[0]} are kept, from 0 (as by chance) to 1.",
        markdown_table(["", "", *(f"epoch {n}" for n in LOOKS), "test accuracy"], rows),
        "![Four measures by epoch](ncpd_plus_collapse.png)",
        folder=folder,
    )


if __name__ == "__main__":
    main()
