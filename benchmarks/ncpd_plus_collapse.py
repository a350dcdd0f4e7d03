"""How swap noise makes NCPD collapse on Lost, how that is noticed, and what undoes it.

    DISAMBIG_DATA=folder python benchmarks/ncpd_plus_collapse.py [--redraw] [--folder docs/results]

The first of ten folds, fold seed 0, followed epoch by epoch. Writes ncpd_plus_collapse.md, .svg,
and .json with what was measured, from which ``--redraw`` makes the other two again.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from disambig import NCPDPlusClassifier
from disambig._core.files import write_atomically
from disambig.bench.figure_style import COLORS, INK, LEGEND_TYPE, figure_style, save_figure_as
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
# Where the first panel names a line: beside which epoch, how far below.
NAMED_AT = {
    "NCPD": (80, 0.035),
    "noise, ramp of 100 epochs": (90, -0.075),
    "noise, ramp of 10 epochs": (60, -0.075),
}
GUARD = ("the guard steps in", FEWEST_KEPT)
LOOKS = (5, 10, 20, 30, 40, 50, 60, 80, 100, 200)
FREQUENT = 3
FROM_HISTORY = {
    "simple": "simple",
    "agree": "agreement",
    "test": "validation_covering_rate",
}
NAME = "ncpd_plus_collapse"
Course = dict[str, list[float]]  # measures by epoch


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
        measures = np.array(self._seen).T.round(5).tolist()
        return dict(zip(("right", "kept", "frequent"), measures, strict=True))


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
        **{
            name: np.asarray(history[column]).round(5).tolist()
            for name, column in FROM_HISTORY.items()
        },
    }


def measure() -> dict[str, Any]:
    """Follow every way of training."""
    (trial,) = fold_trials("lost", 1)
    return {
        "in_truth": Follower(trial).true_share,
        "by_chance": float(np.mean(1 / trial.train.candidates.sizes)),
        "courses": {way: followed(trial, parameters) for way, parameters in WAYS.items()},
    }


def draw(kept: dict[str, Any], path: Path) -> None:
    """Draw four measures by epoch; the first panel names the lines."""
    rows = "share of training rows"
    panels = (
        ("right", "True label chosen", rows, ("by chance", kept["by_chance"])),
        ("kept", f"Choices of epoch {LOOKS[0]} kept", "from 0, as by chance, to 1", GUARD),
        (
            "frequent",
            f"Given to the {FREQUENT} largest classes",
            rows,
            ("in truth", kept["in_truth"]),
        ),
        ("simple", "Simple rows", rows, None),
    )
    with figure_style():
        figure = Figure(figsize=(9, 6), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for axis, (measure, title, unit, level) in zip(axes.flat, panels, strict=True):
            axis.set(title=title, ylabel=unit, xlim=(0, 200), ylim=(0, 1.03))
            axis.yaxis.set_tick_params(labelleft=True)
            if level is not None:
                name, height = level
                axis.axhline(height, color=INK, linewidth=0.8, linestyle=":")
                axis.annotate(name, (198, height - 0.03), ha="right", va="top", fontsize=8)
            for way, course in kept["courses"].items():
                line = course[measure]
                axis.plot(range(1, len(line) + 1), line, **STYLES[way])
        for way, (epoch, below) in NAMED_AT.items():
            height = kept["courses"][way]["right"][epoch - 1] - below
            color = STYLES[way]["color"]
            axes[0, 0].annotate(way, (epoch, height), color=color, va="top", fontsize=LEGEND_TYPE)
        for axis in axes[1]:
            axis.set_xlabel("epoch")
        save_figure_as(figure, path)


def main() -> None:
    """Follow, draw, write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redraw", action="store_true", help="from what was measured before")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files go")
    arguments = parser.parse_args()
    path = arguments.folder / f"{NAME}.json"
    if not arguments.redraw:
        with write_atomically(path) as temporary:
            temporary.write_text(json.dumps(measure()), encoding="utf-8")
    kept = json.loads(path.read_text(encoding="utf-8"))
    courses: dict[str, Course] = kept["courses"]
    draw(kept, path.with_suffix(".svg"))
    by_chance = kept["by_chance"]
    rows = [
        [way, measure, *(f"{course[measure][epoch - 1]:.2f}" for epoch in LOOKS)]
        for way, course in courses.items()
        for measure in ("right", "kept", "agree", "test")
    ]
    write_page(
        NAME,
        f"benchmarks/{NAME}.py",
        "The first of ten folds, fold seed 0, no guard, class shares left free. *right*: share of "
        f"the training rows whose true label is chosen among the candidates ({by_chance:.2f} by "
        f"chance); *kept*: how many of the choices of epoch {LOOKS[0]} are kept, from 0 (as by "
        "chance) to 1; *agree*: how often both networks predict the same; *test*: accuracy on the "
        "test rows.",
        markdown_table(["", "", *(f"epoch {n}" for n in LOOKS)], rows),
        f"![Four measures by epoch]({NAME}.svg)",
        "One training each. A row is simple once its predicted label is a candidate with a small "
        "loss; only then is it disambiguated. The dotted lines: what chance finds, below which the "
        "guard begins again, and the true share of these classes.",
        folder=arguments.folder,
    )


if __name__ == "__main__":
    main()
