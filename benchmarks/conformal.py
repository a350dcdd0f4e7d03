"""Coverage and size of prediction sets, by kind, against how ambiguous the candidate sets are.

    python benchmarks/conformal.py [--splits 20] [--folder docs/results]

Half of the rows train a method, a quarter calibrates and a quarter is new, in random splits; with
folds, the first three quarters do both. Writes conformal.md and conformal.svg.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import sem

from disambig import PLKNN, SURE, ConformalSets, load_dataset
from disambig._core.typing import AnyArray, FloatArray
from disambig.bench.charts import ONE_ERROR
from disambig.bench.figure_style import COLORS, INK, figure_style, save_figure_as
from disambig.candidates import CandidateLabels, corrupt_controlled
from disambig.datasets.card import dataset_title
from disambig.solvers.conformal import KINDS, conformal_threshold, prediction_mask
from results_page import FOLDER, markdown_table, write_page

SETS = ("vehicle", "ecoli")
METHODS: dict[str, Callable[[], Any]] = {"SURE": SURE, "PLKNN": PLKNN}
COVERAGE = 0.9
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
FALSE_LABELS = (1, 2, 3)
DRAWN = 2  # false labels in the figure, and with folds
N_FOLDS = 5
# Classes are left out of the training one by one, to see what becomes of their rows.
ABSTAIN = 0.05
FEWEST_ROWS = 30
STYLES = {
    "safe": {"color": COLORS[0], "fmt": "o-"},
    "weak": {"color": COLORS[8], "fmt": "s--"},
    "estimated": {"color": COLORS[2], "fmt": "^-."},
}


class Result(NamedTuple):
    """What one kind gives in every split: a number each."""

    covered: list[float]  # share of new rows whose truth is in their set
    met: list[float]  # share whose set and candidate set have a label in common
    size: list[float]  # labels in a set

    @classmethod
    def empty(cls) -> "Result":
        """Return a result without any split."""
        return cls([], [], [])

    def add(self, mask: AnyArray, candidates: CandidateLabels, truth: AnyArray) -> None:
        """Add a split."""
        columns = np.searchsorted(candidates.classes, truth)
        self.covered.append(float(mask[np.arange(len(mask)), columns].mean()))
        self.met.append(float((mask & candidates.to_mask()).any(axis=1).mean()))
        self.size.append(float(mask.sum(axis=1).mean()))


Setting = tuple[str, str, float, int]  # data, method, share of ambiguous rows, false labels


def split(n_rows: int, seed: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return rows to train on, to calibrate on, and new ones."""
    rows = np.random.default_rng(seed).permutation(n_rows)
    train, calibrate, new = np.split(rows, [n_rows // 2, n_rows - n_rows // 4])
    return train, calibrate, new


def out_of_fold(method: Callable[[], Any], X: AnyArray, y: CandidateLabels) -> FloatArray:
    """Return the probabilities of all rows, which are shuffled, by models without their fold."""
    said = np.empty(y.shape)
    for fold in range(N_FOLDS):
        is_held = np.arange(len(X)) % N_FOLDS == fold
        said[is_held] = method().fit(X[~is_held], y[~is_held]).predict_proba(X[is_held])
    return said


def measure(setting: Setting, n_splits: int) -> tuple[dict[str, Result], dict[str, Result]]:
    """Return what every kind gives: with rows held out and, for some settings, with folds."""
    name, method, share, count = setting
    data = load_dataset(name)
    truth = np.asarray(data.true_labels)
    held_out = {kind: Result.empty() for kind in KINDS}
    folded = {kind: Result.empty() for kind in KINDS if count == DRAWN}
    for seed in range(n_splits):
        y = corrupt_controlled(truth, p=share, r=count, random_state=seed)
        train, calibrate, new = split(len(truth), seed)
        model = METHODS[method]().fit(data.X[train], y[train])
        known, said = model.predict_proba(data.X[calibrate]), model.predict_proba(data.X[new])
        for kind, result in held_out.items():
            threshold = conformal_threshold(known, y[calibrate], coverage=COVERAGE, kind=kind)
            result.add(prediction_mask(said, threshold), y[new], truth[new])
        if folded:
            rows = np.concatenate([train, calibrate])
            known = out_of_fold(METHODS[method], data.X[rows], y[rows])
            said = METHODS[method]().fit(data.X[rows], y[rows]).predict_proba(data.X[new])
        for kind, result in folded.items():
            threshold = conformal_threshold(known, y[rows], coverage=COVERAGE, kind=kind)
            result.add(prediction_mask(said, threshold), y[new], truth[new])
    return held_out, folded


def strangers(name: str, n_splits: int) -> list[list[str]]:
    """Return how many rows get no label: ordinary ones, and those of a class not trained on."""
    data = load_dataset(name)
    truth = np.asarray(data.true_labels)
    rows = []
    for left_out in np.unique(truth):
        unseen = truth == left_out
        if unseen.sum() < FEWEST_ROWS:
            continue
        X, labels = data.X[~unseen], truth[~unseen]
        ordinary, strange = [], []
        for seed in range(n_splits):
            train, calibrate, new = split(len(labels), seed)
            both = np.concatenate([train, calibrate])
            model = ConformalSets(PLKNN(), abstain=ABSTAIN, random_state=seed, cv=1 / 3)
            model.fit(X[both], labels[both])
            ordinary.append((model.predict_set(X[new]).sizes == 0).mean())
            strange.append((model.predict_set(data.X[unseen]).sizes == 0).mean())
        cells = [with_error(shares) for shares in (ordinary, strange)]
        rows.append([name, str(left_out), str(unseen.sum()), *cells])
    return rows


def with_error(values: Sequence[float], form: str = ".3f") -> str:
    """Return the mean and its standard error over splits."""
    return f"{np.mean(values):{form}} ± {sem(values):{form}}"


def draw(found: dict[Setting, dict[str, Result]], n_splits: int) -> Figure:
    """Draw coverage above size, a column for every set and method."""
    figure = Figure(figsize=(9.2, 4.8), layout="constrained")
    columns = [(name, method) for name in SETS for method in METHODS]
    panels = figure.subplots(2, len(columns), sharex=True, sharey="row")
    for (name, method), (above, below) in zip(columns, panels.T, strict=True):
        shares = [0.0, *SHARES]
        for kind in KINDS:
            results = [found[name, method, share, DRAWN][kind] for share in shares]
            for axes, values in (
                (above, [result.covered for result in results]),
                (below, [result.size for result in results]),
            ):
                means, errors = np.mean(values, axis=1), sem(values, axis=1)
                axes.errorbar(shares, means, errors, capsize=2, label=kind, **STYLES[kind])
        above.axhline(COVERAGE, color=INK, linewidth=0.8, linestyle=":", label="asked for")
        above.set(title=f"{dataset_title(name)}, {method}")
        below.set(xlabel="share of ambiguous rows", xticks=[0, 0.2, 0.4, 0.6])
    panels[0, 0].set(ylabel="truth in the set")
    panels[1, 0].set(ylabel="labels in a set")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.suptitle(
        f"{DRAWN} false labels in each ambiguous row; {ONE_ERROR} over {n_splits} splits",
        fontsize=9,
    )
    return figure


def rows_of(found: dict[Setting, dict[str, Result]]) -> list[list[str]]:
    """Return the rows of a table."""
    rows = []
    for (name, method, share, count), by_kind in found.items():
        for kind, result in by_kind.items():
            cells = [with_error(result.covered), with_error(result.met)]
            ambiguity = [f"{share:g}", str(count if share else 0)]
            rows.append([name, method, *ambiguity, kind, *cells, f"{np.mean(result.size):.2f}"])
    return rows


def settings() -> list[Setting]:
    """Return all that is measured; without ambiguous rows, false labels do not matter."""
    ambiguous = [(0.0, DRAWN), *((p, DRAWN) for p in SHARES)]
    ambiguous += [(0.7, count) for count in FALSE_LABELS if count != DRAWN]
    return [(name, method, *one) for name in SETS for method in METHODS for one in ambiguous]


def main() -> None:
    """Measure, and write the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--splits", type=int, default=20)
    arguments = parser.parse_args()
    held_out: dict[Setting, dict[str, Result]] = {}
    folded: dict[Setting, dict[str, Result]] = {}
    for setting in settings():
        held_out[setting], folded[setting] = measure(setting, arguments.splits)
        covered = {kind: np.mean(result.covered) for kind, result in held_out[setting].items()}
        print(*setting, *(f"{kind} {share:.3f}" for kind, share in covered.items()))
    with figure_style():
        save_figure_as(draw(held_out, arguments.splits), arguments.folder / "conformal.svg")
    header = ("data", "method", "ambiguous rows", "false labels", "kind", "truth in the set")
    header = (*header, "meets the candidates", "labels in a set")
    strange = [row for name in SETS for row in strangers(name, arguments.splits)]
    write_page(
        "conformal",
        "benchmarks/conformal.py",
        f"A coverage of {COVERAGE:g} is asked for. False labels are added to a share of the rows; "
        f"half of the rows train, a quarter calibrates, and what is shown is measured on the last "
        f"quarter: means over {arguments.splits} splits, with their standard errors. *safe* "
        "promises that the truth is in the set, *weak* that the set and the candidates have a "
        "label in common, *estimated* promises nothing.",
        "![Coverage and size of prediction sets against ambiguity](conformal.svg)",
        markdown_table(header, rows_of(held_out)),
        f"The same with {N_FOLDS} folds of the first three quarters (`cv={N_FOLDS}`), where the "
        "promise holds approximately:",
        markdown_table(header, rows_of(folded)),
        "Rows of a class that nothing was trained on: the share of them that gets no label, beside "
        f"that of ordinary new rows, with `abstain={ABSTAIN:g}` and PLKNN on exact labels. A row "
        "gets none if it is strange, or if no label is probable enough.",
        markdown_table(("data", "class left out", "rows", "ordinary rows", "its rows"), strange),
        folder=arguments.folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
