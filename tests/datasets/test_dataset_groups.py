"""Data with groups: as a card says, by a column of a table, and runs of equal sets."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from disambig import load_dataset
from disambig._core.errors import DatasetFormatError, DisambigError, ParameterError
from disambig.candidates import Promise
from disambig.datasets import list_datasets

TABLE = """\
photo,x,label,truth
a,1,cat|dog,cat
b,2,cat|dog,dog
a,3,dog,dog
,4,dog,dog
,5,cat,cat
b,6,cat,cat
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "photos.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    mask = np.array([[1, 1], [1, 1], [0, 1], [1, 1]], dtype=bool)
    np.savez(tmp_path / "arrays.npz", X=np.arange(4.0).reshape(4, 1), candidates=mask)
    return tmp_path / "arrays.npz"


def test_cards_speak_of_groups_only_where_somebody_has_looked() -> None:
    known = {card.name: card.groups for card in list_datasets() if card.groups is not None}
    assert known == {"birdsong": "runs", "lost": "runs", "msrcv2": "runs"}


def test_by_default_data_come_without_groups() -> None:
    assert load_dataset("vehicle").candidates.groups is None


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "n_groups", "cover"), [("msrcv2", 358, 1), ("birdsong", 270, 1), ("lost", 97, 0.76)]
)
def test_runs_of_equal_sets_are_groups_and_cover_holds_as_far_as_the_docs_say(
    name: str, n_groups: int, cover: float
) -> None:
    alone, data = load_dataset(name), load_dataset(name, groups=True, promise="cover", strength=0.5)
    assert alone.candidates.groups is None
    assert alone.candidates == data.candidates.with_groups(None)
    assert data.candidates.promise == Promise("cover", 0.5)
    groups, sets = data.candidates.groups, data.candidates.to_sets()
    expected = [0]
    for before, after in pairwise(sets):
        expected.append(expected[-1] + (before != after))
    assert groups is not None
    assert groups.tolist() == expected
    truth = np.asarray(data.true_labels)
    shares = []
    for group in range(n_groups):
        rows = np.flatnonzero(groups == group)
        labels = sets[rows[0]]
        shares.append(len(labels & set(truth[rows].tolist())) / len(labels))
    assert groups.max() + 1 == n_groups
    assert np.mean(shares) == pytest.approx(cover, abs=0.005)


def test_a_column_of_a_table_names_groups_and_is_no_feature(table: Path) -> None:
    data = load_dataset(table, groups="photo", truth="truth", promise="exclusive")
    assert data.feature_names == ["x"]
    groups = data.candidates.groups
    assert groups is not None
    # Rows without a name stand alone, each of them.
    assert groups.tolist() == [0, 1, 0, 2, 3, 1]
    assert data.candidates.promise == Promise("exclusive")


def test_runs_are_there_for_any_data(table: Path, arrays: Path) -> None:
    without_photos = [line.partition(",")[2] for line in TABLE.splitlines()]
    table.write_text("\n".join(without_photos), "utf-8")
    for source, options, expected in (
        (table, {"truth": "truth"}, [0, 0, 1, 1, 2, 2]),
        (arrays, {}, [0, 0, 1, 2]),
    ):
        groups = load_dataset(source, groups="runs", **options).candidates.groups
        assert groups is not None
        assert groups.tolist() == expected
    glass = load_dataset("glass", groups="runs").candidates
    assert glass.groups is not None
    assert glass.groups.max() + 1 == 6  # sorted by class


def test_groups_in_a_file_of_arrays_are_kept_and_may_promise_something(arrays: Path) -> None:
    with np.load(arrays) as content:
        np.savez(arrays, **content, groups=[7, 3, 3, 7])
    for options in ({}, {"groups": True}, {"groups": True, "promise": "cover"}):
        candidates = load_dataset(arrays, **options).candidates
        assert candidates.groups is not None
        assert candidates.groups.tolist() == [0, 1, 1, 0]
        assert candidates.promise == (Promise("cover") if "promise" in options else None)
    runs = load_dataset(arrays, groups="runs").candidates.groups
    assert runs is not None
    assert runs.tolist() == [0, 0, 1, 2]


def test_a_column_called_runs_is_a_column(table: Path) -> None:
    table.write_text(TABLE.replace("photo", "runs"), "utf-8")
    groups = load_dataset(table, groups="runs", truth="truth").candidates.groups
    assert groups is not None
    assert groups.tolist() == [0, 1, 0, 2, 3, 1]


def test_groups_that_are_not_known_are_refused(table: Path, arrays: Path) -> None:
    for source in ("glass", table, arrays):
        with pytest.raises(ParameterError, match="come together is not known. Name the column"):
            load_dataset(source, groups=True)
    for source in ("glass", arrays):
        with pytest.raises(ParameterError, match="must be True, False or 'runs'. Got 'photo'"):
            load_dataset(source, groups="photo")
    with pytest.raises(DisambigError, match="has no column 'foto'"):
        load_dataset(table, groups="foto", truth="truth")


def test_a_column_without_any_group_is_refused(table: Path) -> None:
    table.write_text("photo,x,label\n,1,cat\n,2,dog\n", "utf-8")
    with pytest.raises(DatasetFormatError, match="No row has a group in column 'photo'"):
        load_dataset(table, groups="photo")


def test_a_promise_without_groups_is_refused() -> None:
    with pytest.raises(ParameterError, match="Got 'cover' without groups"):
        load_dataset("glass", promise="cover")
