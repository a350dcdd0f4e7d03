"""Named data, files of your own, and made-up data of any shape."""

from disambig.candidates.dataset import PartialLabelDataset
from disambig.datasets.catalogue import list_datasets, load_dataset
from disambig.datasets.download import fetch_dataset
from disambig.datasets.example import example_tables
from disambig.datasets.synthetic import make_partial_label_dataset

__all__ = [
    "PartialLabelDataset",
    "example_tables",
    "fetch_dataset",
    "list_datasets",
    "load_dataset",
    "make_partial_label_dataset",
]
