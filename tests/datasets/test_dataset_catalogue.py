"""``load_dataset`` takes a name or a path, and refuses what is not the known file."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from disambig._core.errors import (
    DatasetFormatError,
    DatasetNotFoundError,
    HashMismatchError,
    ParameterError,
    TableError,
    UnknownNameError,
)
from disambig.datasets import list_datasets, load_dataset
from disambig.datasets.card import DatasetCard, find_card

AT_HAND = ["lost", "birdsong", "msrcv2"]


def write_like(card: DatasetCard, path: Path) -> Path:
    """Write a file of the shape of a real one: cheap features, sets {k, k + 1}, truth k."""
    rows = np.arange(card.n_samples)
    truth = rows % card.n_classes
    one_hot = sparse.csc_array(
        (np.ones(card.n_samples), (truth, rows)), shape=(card.n_classes, card.n_samples)
    )
    neighbour = sparse.csc_array(
        (np.ones(card.n_samples), ((truth + 1) % card.n_classes, rows)), shape=one_hot.shape
    )
    data = np.zeros((card.n_samples, card.n_features), dtype=np.uint8)
    data[:, 0] = truth
    io.savemat(
        path,
        {"data": data, "partial_target": one_hot + neighbour, "target": one_hot},
        do_compression=True,
    )
    return path


def test_every_card_is_listed_by_name() -> None:
    names = [card.name for card in list_datasets()]
    assert names == sorted(names)
    assert "glass" in names


@pytest.mark.parametrize("name", ["soccer_player", "yahoo_news"])
def test_the_two_large_datasets_load_in_full_shape(name: str, tmp_path: Path) -> None:
    card = find_card(name)
    write_like(card, tmp_path / f"{card.title.partition(':')[0]}.mat")
    dataset = load_dataset(name, folder=tmp_path, check_hash=False)
    assert dataset.X.shape == (card.n_samples, card.n_features)
    assert dataset.candidates.shape == (card.n_samples, card.n_classes)
    assert (dataset.candidates.sizes == 2).all()
    np.testing.assert_array_equal(dataset.true_labels, dataset.X[:, 0])
    assert (dataset.name, dataset.card) == (name, card)


@pytest.mark.parametrize("name", ["lost", "soccer"])
def test_a_file_that_is_not_the_known_one_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.mat"
    path.write_bytes(b"something else")
    with pytest.raises(
        HashMismatchError,
        match=rf"{re.escape(str(path))} is not the known file\. Needed {find_card(name).hash}, "
        r"got .* Pass check_hash=False to load it anyway\.",
    ):
        load_dataset(name, folder=tmp_path)


def test_an_unknown_file_of_another_shape_is_refused_all_the_same(tmp_path: Path) -> None:
    write_like(find_card("msrcv2"), tmp_path / "lost.mat")
    with pytest.raises(
        DatasetFormatError,
        match=r"Lost: .* has \(rows, features, classes\) = \(1122, 108, 16\)\. "
        r".*lost\.mat has \(1758, 48, 23\)\.",
    ):
        load_dataset("lost", folder=tmp_path, check_hash=False)


def test_a_missing_file_names_page_folder_variable_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISAMBIG_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("lost")
    for clue in (find_card("lost").source, str(tmp_path), "DISAMBIG_DATA", "disambig fetch lost"):
        assert clue in str(caught.value)


def test_the_folder_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_like(find_card("msrcv2"), tmp_path / "MSRCv2.mat")
    monkeypatch.setenv("DISAMBIG_DATA", str(tmp_path))
    assert load_dataset("MSRC v2", check_hash=False).name == "msrcv2"


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("suffix", [".mat", ".MAT", ".npz", ".csv", ".tsv"])
def test_a_path_is_read_by_its_suffix(suffix: str, as_text: bool, tmp_path: Path) -> None:
    path = tmp_path / f"glass{suffix}"
    if suffix.lower() == ".mat":
        io.savemat(path, {"data": [[1.0], [2.0]], "partial_target": np.array([[1, 0], [1, 1]])})
    elif suffix == ".npz":
        np.savez(path, X=[[1.0], [2.0]], candidates=[[1, 1], [0, 1]])
    else:
        delimiter = "," if suffix == ".csv" else "\t"
        path.write_text(f"a{delimiter}label\n1{delimiter}0|1\n2{delimiter}1\n")
    dataset = load_dataset(str(path) if as_text else path)
    assert dataset.X.tolist() == [[1], [2]]
    assert dataset.candidates.to_mask().tolist() == [[True, True], [False, True]]
    assert dataset.card is None


def test_options_reach_the_reader_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "toys.csv"
    path.write_text("a,kind,gold\n1,x;y,y\n")
    dataset = load_dataset(path, labels="kind", separator=";", truth="gold")
    assert dataset.candidates.to_sets() == [{"x", "y"}]
    assert dataset.true_labels.tolist() == ["y"]


@pytest.mark.parametrize("suffix", [".jsonl", ".npz", ".mat"])
def test_the_limit_on_memory_reaches_every_reader(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"toys{suffix}"
    data, sets = np.zeros((500, 20)), np.ones((500, 2))
    if suffix == ".npz":
        np.savez_compressed(path, X=data, candidates=sets)
    elif suffix == ".mat":
        io.savemat(path, {"data": data, "partial_target": sets.T}, do_compression=True)
    else:
        path.write_text('{"x": 1, "label": "a"}\n' * 5000)
    with pytest.raises(ValueError, match=r"would take .* The limit is 5KB"):
        load_dataset(path, max_memory="5KB")
    assert len(load_dataset(path, max_memory="50MB").X) >= 500


def test_the_limit_on_memory_holds_for_a_named_dataset(tmp_path: Path) -> None:
    write_like(find_card("lost"), tmp_path / "lost.mat")
    with pytest.raises(TableError, match=r"would take .* The limit is 5KB"):
        load_dataset("lost", folder=tmp_path, check_hash=False, max_memory="5KB")


def test_options_of_a_table_do_not_go_with_a_name() -> None:
    with pytest.raises(ParameterError, match="'labels', 'truth' cannot be used with glass"):
        load_dataset("glass", labels="a", truth="b")


def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.csv"
    with pytest.raises(
        DatasetNotFoundError, match=rf"There is no file {re.escape(str(path))}\. Check the path\."
    ):
        load_dataset(path)


@pytest.mark.parametrize("suffix", [".mat", ".npz", ".csv"])
def test_a_folder_is_no_file(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"toys{suffix}").mkdir()
    with pytest.raises(DatasetNotFoundError, match="There is no file"):
        load_dataset(tmp_path / f"toys{suffix}")


def test_an_unknown_name_is_met_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"called 'glas'\. Did you mean 'glass'\?"):
        load_dataset("glas")


@pytest.mark.realdata
@pytest.mark.parametrize("name", AT_HAND)
def test_real_data_is_what_its_card_says(name: str) -> None:
    dataset = load_dataset(name)
    card = find_card(name)
    assert dataset.X.shape == (card.n_samples, card.n_features)
    assert dataset.candidates.shape == (card.n_samples, card.n_classes)
    assert round(float(dataset.candidates.sizes.mean()), 2) == card.average_candidates
    assert (dataset.name, dataset.card) == (name, card)


@pytest.mark.realdata
@pytest.mark.parametrize("name", AT_HAND)
def test_the_truth_of_real_data_is_always_a_candidate(name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.candidates.contains(dataset.true_labels).all()


@pytest.mark.realdata
@pytest.mark.parametrize("name", AT_HAND)
@pytest.mark.parametrize("key", ["data", "partial_target", "target"])
def test_real_data_is_read_as_matlab_stores_it(name: str, key: str) -> None:
    dataset = load_dataset(name)
    stored = io.loadmat(Path(os.environ["DISAMBIG_DATA"]) / f"{name}.mat")[key]
    matrix = stored.toarray() if sparse.issparse(stored) else stored
    if key == "data":
        np.testing.assert_array_equal(dataset.X, matrix)
    elif key == "partial_target":
        np.testing.assert_array_equal(dataset.candidates.to_mask().T, matrix)
    else:
        np.testing.assert_array_equal(dataset.true_labels, matrix.argmax(axis=0))


@pytest.mark.realdata
def test_two_labels_of_lost_are_never_the_true_one() -> None:
    assert len(set(load_dataset("lost").true_labels.tolist())) == 14


@pytest.mark.realdata
def test_the_smallest_class_of_msrcv2_has_3_rows_and_5_rows_are_repeated() -> None:
    dataset = load_dataset("msrcv2")
    assert np.bincount(dataset.true_labels).min() == 3
    assert len(dataset.X) - len(np.unique(dataset.X, axis=0)) == 5


@pytest.mark.realdata
def test_features_of_birdsong_span_seven_orders_of_magnitude() -> None:
    sizes = np.abs(load_dataset("birdsong").X).max(axis=0)
    assert 7 <= np.log10(sizes.max() / sizes.min()) < 8


@pytest.mark.realdata
def test_real_data_is_found_under_another_name_in_a_given_folder(tmp_path: Path) -> None:
    content = (Path(os.environ["DISAMBIG_DATA"]) / "birdsong.mat").read_bytes()
    (tmp_path / "Bird-Song.mat").write_bytes(content)
    assert load_dataset("birdsong", folder=tmp_path).X.shape == (4998, 38)


@pytest.mark.parametrize("source", ["lost", "table.csv"])
def test_a_column_that_numbers_the_rows_is_there_only_where_one_is_known(source: str) -> None:
    with pytest.raises(ParameterError, match="'with_id' cannot be used with"):
        load_dataset(source, with_id=True)


def test_options_that_do_not_apply_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "toys.mat"
    path.touch()
    with pytest.raises(ParameterError, match="'labels' cannot be used with .*toys.mat"):
        load_dataset(path, labels="a")
    with pytest.raises(ParameterError, match="'folder' cannot be used with .*toys.mat"):
        load_dataset(path, folder=tmp_path)
    with pytest.raises(ParameterError, match="'folder' cannot be used with glass"):
        load_dataset("glass", folder=tmp_path)


@pytest.mark.parametrize("name", ["toys.xls", "toys.xls.gz", "toys"])
def test_a_file_of_an_unknown_format_is_refused_with_the_known_ones(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).touch()
    with pytest.raises(DatasetFormatError, match=r"Its name must end in \.csv, .* \.mat, \.npz"):
        load_dataset(tmp_path / name)


def test_a_name_wins_over_a_folder_that_is_called_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "glass").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_dataset("glass").X.shape == (214, 9)
