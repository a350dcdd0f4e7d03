from ..candidates.dataset import PartialLabelDataset as PartialLabelDataset
from .catalogue import list_datasets as list_datasets
from .catalogue import load_dataset as load_dataset
from .confusions import held_out_probabilities as held_out_probabilities
from .download import fetch_dataset as fetch_dataset
from .photos import make_photo_dataset as make_photo_dataset
from .synthetic import example_tables as example_tables
from .synthetic import make_partial_label_dataset as make_partial_label_dataset
