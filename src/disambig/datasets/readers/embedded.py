"""Read the data inside the package: a compressed CSV whose last column is the class."""

import csv
import gzip
import io
from importlib import resources

import numpy as np

from disambig._core.errors import ParameterError
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.card import DatasetCard
from disambig.datasets.dataset import PartialLabelDataset
from disambig.datasets.fingerprint import check_fingerprint

__all__ = ["read_embedded"]


def read_embedded(card: DatasetCard, *, with_id: bool = False) -> PartialLabelDataset:
    """Read an embedded dataset; its candidate sets hold the true label alone."""
    if with_id and card.identifier is None:
        raise ParameterError(f"{card.title} has no column that numbers the rows: with_id=False.")
    folder = resources.files("disambig.datasets") / "embedded"
    content = gzip.decompress((folder / f"{card.name}.csv.gz").read_bytes())
    check_fingerprint(content, card.hash, f"{card.name}.csv.gz", "Install the package again.")
    header, *rows = csv.reader(io.StringIO(content.decode("ascii")))
    keep = [column for column, name in enumerate(header[:-1]) if with_id or name != card.identifier]
    labels = [_as_label(row[-1]) for row in rows]
    return PartialLabelDataset(
        name=card.name,
        X=np.array([[float(row[column]) for column in keep] for row in rows]),
        candidates=CandidateLabels.from_labels(labels, classes=card.classes),
        true_labels=np.array(labels),
        feature_names=[header[column] for column in keep],
        card=card,
    )


def _as_label(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
