"""``load_dataset``: data by name, or from a file."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from disambig._core.errors import (
    DatasetFormatError,
    DatasetNotFoundError,
    ParameterError,
    UnknownNameError,
)
from disambig._core.fingerprint import check_file_digest
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.groups import DEFAULT_STRENGTH, Promise, PromiseKind
from disambig.datasets.card import DatasetCard, all_cards, find_card
from disambig.datasets.download import find_file
from disambig.datasets.readers import read_embedded, read_labelled_table
from disambig.tabular.files.arrays import read_mat
from disambig.tabular.files.content import find_content
from disambig.tabular.files.formats import FORMATS, find_format, suffixes_of
from disambig.tabular.labels.row_groups import RUNS


def list_datasets() -> list[DatasetCard]:
    """Return the cards of all named datasets.

    See Also
    --------
    load_dataset : Loads one of them.
    fetch_dataset : Downloads one that is not in the package.

    Examples
    --------
    >>> from disambig import list_datasets
    >>> [card.name for card in list_datasets() if card.name.startswith("g")]
    ['glass']
    """
    return list(all_cards().values())


def load_dataset(
    source: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    with_id: bool = False,
    check_hash: bool = True,
    labels: str | None = None,
    separator: str | None = None,
    truth: str | None = None,
    groups: bool | str = False,
    promise: PromiseKind | Promise | None = None,
    strength: float = DEFAULT_STRENGTH,
    max_memory: int | str | None = None,
) -> PartialLabelDataset:
    """Load a named dataset, or a file.

    Parameters
    ----------
    source : str or path
        A name from ``list_datasets``, or the path of a ``.mat`` or ``.npz``, or of a table:
        ``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.ndjson``, ``.parquet`` or ``.xlsx``.
    folder : path, optional
        Folder with the file of a real-world dataset. By default the folder named by the
        environment variable ``DISAMBIG_DATA``, then the download cache.
    with_id : bool, default=False
        Keep a column that only numbers the rows. In a sorted file it reveals the class.
    check_hash : bool, default=True
        Refuse a file whose hash is not that of the known file.
    labels : str, optional
        For a table: the column with the candidate labels, "label" by default.
    separator : str, optional
        For a table: the separator between labels, "|" by default.
    truth : str, optional
        For a table: the column with the true label, for evaluation.
    groups : bool or str, default=False
        Whether the candidate sets say which rows come together. True: as the card of a named
        dataset says, or the array of groups in a file, which is also there by default. For a
        table, the column that names the group of every row, which is then not a feature; rows
        with an empty cell stand alone. "runs", for any data: neighbouring rows with equal sets.
    promise : {"cover", "exclusive"} or Promise, optional
        What these groups promise; see ``Promise``.
    strength : float, default=0.9
        Share of the groups for which the promise is believed.
    max_memory : int or str, optional
        Most memory that the file may take once it is unpacked, in bytes or as ``"8GB"``. By
        default 2 GB, or ten times the size of the file if that is more.

    See Also
    --------
    list_datasets : All named datasets.
    fetch_dataset : Downloads a real-world dataset.
    disambig.tabular.read_table : Reads a table with all its columns.

    Examples
    --------
    >>> from disambig import load_dataset
    >>> data = load_dataset("vehicle")
    >>> data.X.shape
    (846, 18)
    >>> data.candidates.classes.tolist()
    ['bus', 'opel', 'saab', 'van']
    """
    given = {"labels": labels, "separator": separator, "truth": truth}
    table_options = {name: value for name, value in given.items() if value is not None}
    if not groups and promise is not None:
        raise ParameterError(
            f"A promise is about rows that come together. Got {promise!r} without groups. Say "
            "which rows do by 'groups', or leave it out."
        )
    path = Path(source)
    if (file_format := find_format(path, folders=False)) is not None:
        _refuse_options(path, folder=folder, with_id=with_id)
        if not path.is_file():
            raise DatasetNotFoundError(f"There is no file {path}. Check the path.")
        if file_format.is_dataset:
            _refuse_options(path, **table_options)
            dataset: PartialLabelDataset = file_format.read(find_content(path, max_memory))
            own = dataset.candidates.groups
            how = _runs(groups, path) if groups is not True or own is None else own
            return _with_groups(dataset, how, promise, strength)
        column = groups if isinstance(groups, str) else _runs(groups, path)
        dataset = read_labelled_table(path, max_memory=max_memory, group=column, **table_options)
        return _with_groups(dataset, dataset.candidates.groups, promise, strength)
    try:
        card = find_card(os.fspath(source))
    except UnknownNameError:
        if not path.exists():
            raise
        raise DatasetFormatError(
            f"{path} cannot be read. Its name must end in {', '.join(suffixes_of(FORMATS))}."
        ) from None
    _refuse_options(card.name, **table_options)
    if card.is_embedded:
        _refuse_options(card.name, folder=folder)
        dataset = read_embedded(card, with_id=with_id)
        return _with_groups(dataset, _runs(groups, card.name, card), promise, strength)
    _refuse_options(card.name, with_id=with_id)
    file = find_file(card, folder)
    if check_hash:
        advice = "Pass check_hash=False to load it anyway."
        check_file_digest(file.read_bytes(), card.hash, file, advice)
    dataset = read_mat(find_content(file, max_memory))
    _check_shape(dataset, card, file)
    dataset = replace(dataset, name=card.name, card=card)
    return _with_groups(dataset, _runs(groups, card.name, card), promise, strength)


def _runs(
    groups: bool | str, source: object, card: DatasetCard | None = None
) -> Literal["runs"] | None:
    """Return how rows come together where no column says so; refuse what is not known."""
    if groups is True and card is not None and card.groups == RUNS:
        return RUNS
    if groups is True:
        raise ParameterError(
            f"How rows of {source} come together is not known. Name the column of their groups if "
            "it is a table, or say groups='runs' if neighbouring rows with equal sets do."
        )
    if groups and groups != RUNS:
        raise ParameterError(
            f"{source} has no columns besides its features and labels, so groups must be True, "
            f"False or 'runs'. Got {groups!r}."
        )
    return RUNS if groups else None


def _with_groups(
    dataset: PartialLabelDataset, groups: Any, promise: Any, strength: float
) -> PartialLabelDataset:
    if groups is None:
        return dataset
    candidates = dataset.candidates.with_groups(groups, promise=promise, strength=strength)
    return replace(dataset, candidates=candidates)


def _refuse_options(source: object, **options: Any) -> None:
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        raise ParameterError(
            f"{', '.join(map(repr, given))} cannot be used with {source}. Leave it out; the "
            "documentation of load_dataset says what goes with what."
        )


def _check_shape(dataset: PartialLabelDataset, card: DatasetCard, file: Path) -> None:
    found = (*dataset.X.shape, len(dataset.candidates.classes))
    needed = (card.n_samples, card.n_features, card.n_classes)
    if found != needed:
        raise DatasetFormatError(
            f"{card.title} has (rows, features, classes) = {needed}. {file} has {found}. "
            "Load another file by its path."
        )
