"""What is known about a named dataset: one TOML file each, in ``cards/``."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from disambig._core.errors import DatasetFormatError, UnknownNameError
from disambig._core.messages import bare_name
from disambig._core.parsing import parse_toml


@dataclass(frozen=True, kw_only=True)
class DatasetCard:
    """What is known about a named dataset: its shape, source, licence and hash.

    Attributes
    ----------
    name, title : str
        Short name for ``load_dataset`` and the command line, and a title of one line.
    n_samples, n_features, n_classes : int
        Shape.
    average_candidates : float
        Mean size of a candidate set; 1 where the data comes with true labels only.
    source, licence, citation : str
        Where it comes from, how it may be used, what to cite.
    hash : str
        ``sha256:...`` or ``git-blob:...`` of the data file (of the text inside, if embedded). Where
        there are both, with a space between, both must agree.
    urls : tuple of str
        Where the file, or an archive of it, can be downloaded, in the order to try; empty for data
        inside the package.
    package : str or None
        Another package that the data comes with, which is always installed: "scikit-learn".
    archive_size : int or None
        How many bytes that archive has, where it is known.
    classes : tuple or None
        Class names where the labels that occur are not all of them.
    identifier : str or None
        A column that only numbers the rows, left out unless asked for.
    groups : str or None
        How rows come together: "runs" if neighbouring rows with equal sets do. None if nothing is
        known.
    aliases : tuple of str
        Other names of the file.
    notes : str
        What a reader of results should know.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    average_candidates: float
    source: str
    licence: str
    citation: str
    hash: str
    urls: tuple[str, ...] = ()
    package: str | None = None
    archive_size: int | None = None
    classes: tuple[int | str, ...] | None = None
    identifier: str | None = None
    groups: str | None = None
    aliases: tuple[str, ...] = ()
    notes: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether the data is inside the package, or one that this needs."""
        return not self.urls

    def is_called(self, name: str) -> bool:
        """Whether ``name``, however it is spelled, means this dataset."""
        return bare_name(name) in {bare_name(known) for known in (self.name, *self.aliases)}


@cache
def all_cards() -> MappingProxyType[str, DatasetCard]:
    """Return every card by name, in alphabetical order."""
    folder = resources.files("disambig.datasets") / "cards"
    files = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".toml")),
        key=lambda path: path.name,
    )
    cards = [_read_card(path.read_text(encoding="utf-8")) for path in files]
    return MappingProxyType({card.name: card for card in cards})


def find_card(name: str) -> DatasetCard:
    """Return the card of the dataset called ``name``."""
    for card in all_cards().values():
        if card.is_called(name):
            return card
    raise UnknownNameError("dataset", name, all_cards())


def _read_card(text: str) -> DatasetCard:
    fields = parse_toml(text, DatasetFormatError)
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return DatasetCard(**(fields | lists))


def dataset_title(name: str) -> str:
    """Return the proper name of a known dataset, such as MSRCv2; other names as they are."""
    card = all_cards().get(name)
    proper, colon, _ = card.title.partition(":") if card else (name, "", "")
    return proper if colon else name
