"""How swap noise makes NCPD collapse on Lost, how that is noticed, and what undoes it.

    DISAMBIG_DATA=folder python benchmarks/ncpd_plus_collapse.py [--folder docs/results]

The first of ten folds, fold seed 0, followed epoch by epoch. Writes ncpd_plus_collapse.md and .png.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from disambig import NCPDPlusClassifier
from disambig._core.files import write_atomically
from disambig._core.typing import FloatArray
from disambig.bench.figure_style import COLORS, INK, figure_style
from disambig.bench.trial import Trial
from disambig.engine.training import Training
from disambig.methods.ncpd_plus.collapse import FEWEST_KEPT, choices_kept
from fold_trials import fold_trials
from results_page import FOLDER, markdown_table, write_page

AS_NCPD = {"hidden": 1024, "dropout": 0.5, "learning_rate": 0.001, "epochs": 200}
NOISE: dict[str, Any] = {"swap_noise": 0.2, "second_view": "quantile"}
WAYS: dict[str, dict[str, Any]] = {
    "NCPD": {},
    "noise, ramp of 100 epochs": NOISE,
    "noise, ramp of 10 epochs": NOISE | {"ramp_epochs": 10},
}
# NCPD lies below and is broad, so that it is seen where another line covers it.
STYLES: dict[str, dict[str, Any]] = {
    "NCPD": {"color": COLORS[0], "linewidth": 3.2, "zorder": 2},
    "noise, ramp of 100 epochs": {"color": COLORS[8], "linestyle": "--", "zorder": 3},
    "noise, ramp of 10 epochs": {"color": COLORS[2], "linestyle": "-.", "zorder": 3},
}
LOOKS = (5, 10, 20, 30, 40, 50, 60, 80, 100, 200)
FREQUENT = 3
# Measures by epoch.
Course = dict[str, FloatArray]


class Follower:
    """Look at the choices of every epoch: only an evaluation may, it reads true labels."""

    def __init__(self, trial: Trial) -> None:
        sets = trial.train.candidates
        self._sizes, self._starts, self._columns = sets.sizes, sets.starts, sets.pairs()[1]
        names = sets.classes.tolist()
        self._truth = np.array([names.index(label) for label in trial.train.true_labels.tolist()])
        self._frequent = np.bincount(self._truth).argsort()[-FREQUENT:]
        self._first: Any = None
        self._seen: list[tuple[float, float, float]] = []

    @property
    def true_share(self) -> float:
        """The share of the frequent classes in truth."""
        return float(np.isin(self._truth, self._frequent).mean())

    def on_epoch_end(self, training: Training) -> None:
        """Note one epoch."""
        places = training.chosen_slots()[0].cpu().numpy()
        chosen = self._columns[self._starts + places]
        if training.epoch == LOOKS[0]:
            self._first = places
        first = places if self._first is None else self._first
        right = (chosen == self._truth).mean()
        kept = choices_kept(first, places, self._sizes)[0]
        self._seen.append((right, kept, np.isin(chosen, self._frequent).mean()))

    def course(self) -> Course:
        """Return what was seen."""
        return dict(zip(("right", "kept", "frequent"), np.array(self._seen).T, strict=True))


def followed(trial: Trial, parameters: dict[str, Any]) -> Course:
    """Return how one training went, with the accuracy on the test rows after every epoch."""
    follower = Follower(trial)
    method = NCPDPlusClassifier(
        select="none",
        guard=False,
        random_state=trial.method_seed,
        callbacks=[follower],
        # On plain labels the covering rate is the accuracy.
        validation=(trial.test.X, trial.test.true_labels),
        **AS_NCPD,
        **parameters,
    ).fit(trial.train.X, trial.train.candidates)
    history = method.history_
    return {
        **follower.course(),
        "simple": history["simple"],
        "agree": history["agreement"],
        "test": history["validation_covering_rate"],
    }


def draw(courses: dict[str, Course], true_share: float, path: Path) -> None:
    """Draw four measures by epoch."""
    panels = (
        ("right", "True label chosen", "share of training rows", None),
        (
            "kept",
            "First choices kept",
            "0: as by chance, 1: all",
            ("the guard steps in", FEWEST_KEPT),
        ),
        (
            "frequent",
            f"Given to the {FREQUENT} most frequent classes",
            "share of training rows",
            ("in truth", true_share),
        ),
        ("simple", "Simple rows", "share of training rows", None),
    )
    with figure_style():
        figure = Figure(figsize=(9, 6), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True)
        for axis, (measure, title, unit, level) in zip(axes.flat, panels, strict=True):
            axis.set(title=title, ylabel=unit)
            if level is not None:
                name, height = level
                axis.axhline(height, color=INK, linewidth=0.8, linestyle=":")
                axis.annotate(
                    name,
                    (1, height),
                    xycoords=("axes fraction", "data"),
                    ha="right",
                    va="bottom",
                    fontsize=8,
                )
            for way, course in courses.items():
                line = course[measure]
                axis.plot(range(1, len(line) + 1), line, label=way, **STYLES[way])
        for axis in axes[1]:
            axis.set_xlabel("epoch")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        with write_atomically(path) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})


def main() -> None:
    """Follow, draw, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    (trial,) = fold_trials("lost", 1)
    courses = {way: followed(trial, parameters) for way, parameters in WAYS.items()}
    draw(courses, Follower(trial).true_share, folder / "ncpd_plus_collapse.png")
    by_chance = float(np.mean(1 / trial.train.candidates.sizes))
    rows = [
        [way, measure, *(f"{course[measure][epoch - 1]:.2f}" for epoch in LOOKS)]
        for way, course in courses.items()
        for measure in ("right", "kept", "agree", "test")
    ]
    write_page(
        "ncpd_plus_collapse",
        "NCPD+: the collapse on Lost",
        "benchmarks/ncpd_plus_collapse.py",
        "The first of ten folds, fold seed 0, no guard, class shares left free. *right*: share of "
        f"the training rows whose true label is chosen among the candidates ({by_chance:.2f} by "
        f"chance); *kept*: how many of the choices of epoch {LOOKS[0]} are kept, from 0 (as by "
        "chance) to 1; *agree*: how often both networks predict the same; *test*: accuracy on the "
        "test rows.",
        markdown_table(["", "", *(f"epoch {n}" for n in LOOKS)], rows),
        "![Four measures by epoch](ncpd_plus_collapse.png)",
        folder=folder,
    )


if __name__ == "__main__":
    main()
