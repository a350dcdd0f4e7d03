"""The page of all network methods under one protocol, from what benchmarks/networks.py measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from disambig.bench.statistics import average_ranks
from fold_trials import CORRUPTION
from network_claims import CLAIMS, LEVEL, Folds, difference, record_of
from networks import CONDITIONS, FLIPS, IMBALANCE, INSTANCE, MADE, MISS
from results_page import markdown_table, write_page

CONDITIONED = tuple((condition, MADE) for condition in CONDITIONS)
DATA = (
    ("rows", "lost"), ("rows", "msrcv2"), ("rows", "birdsong"), ("rows", "glass"),
    ("rows", "ecoli"), ("rows", "vehicle"), ("rows", "abalone"), ("groups", "lost"),
    ("groups", "msrcv2"), ("groups", "birdsong"), *CONDITIONED,
)  # fmt: skip
BACKBONES = ("linear", "mlp")
REFERENCE = "proden"
CLAIM_COLUMNS = (
    "method", "rival", "where", "comparisons", "better", "worse", "difference on average", "so",
)  # fmt: skip
Found = Mapping[str, Mapping[str, Any]]


def folds_of(found: Found, place: tuple[str, str], method: str, backbone: str) -> Sequence[float]:
    """Return the accuracy of every fold; nothing where it was not measured."""
    scores = found.get("/".join((*place, method, backbone)))
    return () if scores is None else scores["test"]


def cell(found: Found, place: tuple[str, str], method: str, backbone: str) -> str:
    """Return the mean and, beside PRODEN on the same network, whether it differs."""
    folds = folds_of(found, place, method, backbone)
    if not folds:
        return ""
    return f"{np.mean(folds):.3f}{sign(found, place, method, backbone)}"


def sign(found: Found, place: tuple[str, str], method: str, backbone: str) -> str:
    """Return whether a method is significantly better or worse than PRODEN on the same network."""
    folds = folds_of(found, place, method, backbone)
    reference = folds_of(found, place, REFERENCE, backbone)
    if method == REFERENCE or not folds or not reference:
        return ""
    mean, is_significant = difference(folds, reference)
    if not is_significant:
        return ""
    return " +" if mean > 0 else " -"


def title(place: tuple[str, str]) -> str:
    """Return what a column is called."""
    protocol, data = place
    if protocol == "rows":
        return data
    return f"{data}, {'new groups' if protocol == 'groups' else protocol}"


def measured(found: Found) -> list[tuple[str, str]]:
    """Return the data on which anything was measured."""
    return [place for place in DATA if any(key.startswith("/".join(place) + "/") for key in found)]


def methods_of(found: Found) -> list[str]:
    """Return the methods, in alphabetical order."""
    return sorted({key.split("/")[2] for key in found})


def accuracy_rows(found: Found, backbone: str) -> list[list[str]]:
    """Return a line for every method: its accuracy, and its seconds a fold on Lost."""
    return [
        [method, *(cell(found, place, method, backbone) for place in measured(found))]
        for method in methods_of(found)
    ]


def rank_rows(found: Found) -> list[list[str]]:
    """Return average ranks on the data that every method was measured on, by network."""
    lines = []
    for backbone in BACKBONES:
        names = methods_of(found)
        shared = [
            place for place in measured(found)
            if all(folds_of(found, place, name, backbone) for name in names)
        ]  # fmt: skip
        if not shared:
            continue
        means = [[np.mean(folds_of(found, p, n, backbone)) for n in names] for p in shared]
        ranked = sorted(zip(average_ranks(means).tolist(), names, strict=True))
        lines.append(
            [
                backbone,
                ", ".join(map(title, shared)),
                ", ".join(f"{name} {rank:.1f}" for rank, name in ranked),
            ]
        )
    return lines


def claim_rows(found: Found) -> list[list[str]]:
    """Return a line for every method and rival: what was compared, and what came of it."""

    def pairs(method: str, rival: str, condition: str) -> Iterator[tuple[Folds, Folds]]:
        for place in DATA:
            for backbone in BACKBONES:
                folds = [folds_of(found, place, name, backbone) for name in (method, rival)]
                if condition in ("", place[0]) and all(folds):
                    yield folds[0], folds[1]

    lines = []
    for claim in CLAIMS:
        for rival in claim.rivals:
            record = record_of(pairs(claim.method, rival, claim.condition))
            mean = f"{np.mean(record.differences):+.3f}" if record.differences else ""
            counts = map(str, (len(record.differences), record.better, record.worse))
            where = claim.condition or "everywhere"
            lines.append([claim.method, rival, where, *counts, mean, record.verdict])
    return lines


def backbone_sentence(found: Found) -> str:
    """Say on which data the hidden layer is worth anything."""
    words = []
    for place in measured(found):
        pairs = [
            (np.mean(folds_of(found, place, method, "mlp")), np.mean(linear))
            for method in methods_of(found)
            if (linear := folds_of(found, place, method, "linear"))
            and folds_of(found, place, method, "mlp")
        ]
        gain = float(np.mean([mlp - linear for mlp, linear in pairs]))
        words.append(f"{title(place)} {gain:+.3f} ({len(pairs)} methods)")
    return f"What a hidden layer of 1,024 units changes, on average: {'; '.join(words)}."


def missing_sentence(found: Found) -> str:
    """Say what was not measured."""
    lacking = {
        title(place): [
            f"{method} ({backbone})"
            for backbone in BACKBONES
            for method in methods_of(found)
            if not folds_of(found, place, method, backbone)
        ]
        for place in DATA
    }
    said = [
        f"{data}: {'all methods' if len(names) == 2 * len(methods_of(found)) else ', '.join(names)}"
        for data, names in lacking.items()
        if names
    ]
    return f"Not measured yet: {'; '.join(said)}." if said else ""


def write(found: Found) -> None:
    """Write the page."""
    places = [title(place) for place in measured(found)]
    parts = [
        "Ten folds, fold seed 0, accuracy after the last epoch on held-out rows; UCI sets are "
        f"corrupted with p = {CORRUPTION['p']}, r = {CORRUPTION['r']}. All methods have the same "
        "folds, sets, features and networks: a linear model, or one hidden layer of 1,024 units "
        "with batch norm and dropout. One thing is chosen, for all by one rule: the learning rate "
        "of every fold, 0.001 or 0.01, by the covering rate on a tenth of its training rows. "
        "*new groups*: whole groups of rows are held out. + and -: better or worse than PRODEN on "
        f"the same network by the corrected t-test at {LEVEL}, without correction for the number "
        "of tests. One fold seed: small differences between methods mean nothing.",
        f"The last columns are about what some methods are made for, on {MADE}, whose sets are "
        f"made: each false label with a probability of {FLIPS} (*flips*), or with {INSTANCE} times "
        "what a network gives it beside the most probable false label (*instance*); as flips, but "
        f"class sizes fall from {IMBALANCE:g} to 1 in training (*long tail*), or {MISS:.0%} of the "
        "training sets miss the true label (*misses*).",
        "## What papers say, and what these folds say",
        "A method is said to be more accurate than a rival. *Better* and *worse* count the "
        "comparisons, by data and network, in which they differ by more than chance; a claim "
        "*holds* where the first count is larger by a tenth of the comparisons.",
        markdown_table(CLAIM_COLUMNS, claim_rows(found)),
        "## Linear",
        markdown_table(["method", *places], accuracy_rows(found, "linear")),
        "## One hidden layer",
        markdown_table(["method", *places], accuracy_rows(found, "mlp")),
        backbone_sentence(found),
        "## Average ranks",
        markdown_table(["network", "data", "the best first"], rank_rows(found)),
    ]
    lacking = missing_sentence(found)
    write_page("networks", "benchmarks/networks.py page", *parts, *([lacking] if lacking else []))
