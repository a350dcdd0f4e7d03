"""Faces in photos with names from captions, and what follows if no name occurs twice.

Everything is counted: over all ways to give the faces of a photo names from their sets.
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disambig import CandidateLabels
from disambig.tabular.clean_details import CleanDetails, write_details
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.label_cells import write_weighted_cells

Shares = Mapping[str, float]

# What is believed of every face by itself. The faces of a photo have the names of its caption.
FREE: list[dict[str, float]] = [
    {"Ada": 0.9, "Ben": 0.05, "Cy": 0.05},
    {"Ada": 0.3, "Ben": 0.4, "Cy": 0.3},
    {"Dora": 0.6, "Emil": 0.4},
    {"Ada": 0.2, "Ben": 0.5, "Cy": 0.3},
    {"Dora": 0.55, "Emil": 0.45},
    {"Ben": 0.7, "Cy": 0.3},
]
PHOTOS = ["beach", "beach", "garden", "beach", "garden", ""]
FACES = ["b1", "b2", "g1", "b3", "g2", "alone"]
# The others are surer; they are shown with their photo.
DOUBTFUL = [False, True, True, True, True, True]


def keeps(kind: str, names: tuple[str, ...], all_names: set[str]) -> bool:
    """Tell whether the labels of the rows of a group are what a promise says."""
    return set(names) == all_names if kind == "cover" else len(set(names)) == len(names)


def given_promise(shares: list[Shares], kind: str, strength: float) -> list[dict[str, float]]:
    """Return the marginals of a group's rows, by counting all assignments.

    The promise is weighed by how much more often it holds than by blind guessing.
    """
    all_names = {name for share in shares for name in share}
    assignments = list(product(*shares))
    kept = [keeps(kind, names, all_names) for names in assignments]
    by_chance = sum(kept) / len(kept)
    found: list[dict[str, float]] = [dict.fromkeys(share, 0.0) for share in shares]
    for names, is_kept in zip(assignments, kept, strict=True):
        weight = (strength / by_chance if is_kept else 0) + (1 - strength if by_chance else 1)
        weight *= prod(share[name] for share, name in zip(shares, names, strict=True))
        for marginal, name in zip(found, names, strict=True):
            marginal[name] += weight
    return [{name: value / sum(one.values()) for name, value in one.items()} for one in found]


def counted(
    decisions: Mapping[int, str],
    *,
    free: list[dict[str, float]] = FREE,
    kind: str = "exclusive",
    strength: float = 0.9,
) -> list[dict[str, float]]:
    """Return the confidences of all faces, by row, once some of them are settled."""
    shares: list[Shares] = [
        {decisions[row]: 1.0} if row in decisions else share for row, share in enumerate(free)
    ]
    found = [dict(share) for share in shares]
    for photo in dict.fromkeys(filter(None, PHOTOS)):
        rows = [row for row, name in enumerate(PHOTOS) if name == photo]
        marginals = given_promise([shares[row] for row in rows], kind, strength)
        for row, marginal in zip(rows, marginals, strict=True):
            found[row] = marginal
    return found


def photo_rows(
    *,
    kind: str | None = "exclusive",
    strength: float = 0.9,
    groups: Any = PHOTOS,
    **changes: Any,
) -> CleanedTable:
    """Return the six faces as a cleaned table, whose confidences allow for the promise."""
    shares = FREE if kind is None else counted({}, kind=kind, strength=strength)
    candidates = CandidateLabels.from_sets([list(share) for share in FREE])
    rows, columns = candidates.pairs()
    names = candidates.classes.tolist()
    numbers = [name or row for row, name in enumerate(groups)]
    promised = {} if kind is None else {"promise": kind, "strength": strength}
    cleaned = CleanedTable(
        candidates=candidates.with_groups(numbers, **promised),
        confidences=np.array(
            [shares[row][names[column]] for row, column in zip(rows, columns, strict=True)]
        ),
        chosen=np.array([names.index(max(share, key=share.__getitem__)) for share in shares]),
        second_look=np.array(DOUBTFUL),
        values=pd.DataFrame({"face": FACES, "photo": PHOTOS}),
        id="face",
        group="photo",
        free_confidences={} if kind is None else dict(enumerate(FREE)),
    )
    return replace(cleaned, **changes)


def write_photos(folder: Path) -> Path:
    """Write the six faces as disambig clean would, with details, and return the table."""
    rows = photo_rows()
    cells = write_weighted_cells(rows.candidates, rows.confidences.round(6))
    frame = rows.values.assign(
        chosen_label=rows.candidates.classes[rows.chosen],
        confidence=rows.confidence.round(6),
        margin=0,
        second_look=rows.second_look,
        candidate_confidences=cells,
    )
    frame.to_csv(folder / "photos-clean.csv", index=False)
    free = CandidateLabels.from_sets([list(share) for share in FREE])
    values = np.array([share[name] for share in FREE for name in sorted(share)])
    details = CleanDetails(
        method="ncpd",
        parameters={},
        folds=2,
        seed=0,
        errors_to_find=0.9,
        prefix="",
        labels=["caption"],
        id="face",
        group="photo",
        promise="exclusive",
        promise_strength=0.9,
        free_confidences=dict(enumerate(write_weighted_cells(free, values), start=1)),
        features={},
        decisions=0,
        fingerprint=sha256("".join(f"{cell}\n" for cell in cells).encode()).hexdigest(),
        accuracy=None,
        histories=[],
        per_network={2: [[0.5, 0.3, 0.2]]},
    )
    write_details(details, folder / "photos-clean.csv")
    return folder / "photos-clean.csv"
