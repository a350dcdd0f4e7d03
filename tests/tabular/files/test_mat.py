"""The .mat layout is read in every storage it comes in, and anything else refused by name."""

import contextlib
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mat_files import compress, element, mat_file, matrix, sparse_matrix, variable
from scipy import io, sparse

from disambig._core.errors import DatasetFormatError, DisambigError, TableError
from disambig.candidates.dataset import PartialLabelDataset
from disambig.tabular.files import arrays
from disambig.tabular.files.content import FileContent

# Three samples, four labels: the sets {0, 1}, {1}, {2, 3} and the truth 1, 1, 3.
DATA = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]])
SETS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
TRUTH = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]])

STORAGES = {
    "uint8": lambda matrix: matrix.astype(np.uint8),
    "double": lambda matrix: matrix.astype(np.float64),
    "logical": lambda matrix: matrix.astype(bool),
    "sparse double": lambda matrix: sparse.csc_array(matrix, dtype=np.float64),
    "sparse logical": lambda matrix: sparse.csc_array(matrix, dtype=bool),
}


# A compressed variable that nobody asks for, and that would not come to an end.
TOO_LONG = compress(variable("x", (1, 2**20), element(9, bytes(2**23)))[:-64])


def read_mat(path: Path) -> PartialLabelDataset:
    return arrays.read_mat(FileContent(str(path), path))


def write(path: Path, **changes: Any) -> Path:
    """Write the three samples, with some variables changed, or left out where they are None."""
    variables = {"data": DATA, "partial_target": SETS, "target": TRUTH} | changes
    io.savemat(path, {name: value for name, value in variables.items() if value is not None})
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toys.mat"


@pytest.mark.parametrize("storage", STORAGES)
def test_targets_are_read_in_every_storage(storage: str, path: Path) -> None:
    store = STORAGES[storage]
    dataset = read_mat(write(path, partial_target=store(SETS), target=store(TRUTH)))
    assert dataset.candidates.to_sets() == [{0, 1}, {1}, {2, 3}]
    assert dataset.candidates.classes.tolist() == [0, 1, 2, 3]
    assert dataset.true_labels.tolist() == [1, 1, 3]


@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 6)),
    seed=st.integers(0, 2**32),
    storage=st.sampled_from(sorted(STORAGES)),
    compressed=st.booleans(),
)
def test_whatever_was_saved_is_read_back(
    folder: Path,
    shape: tuple[int, int],
    seed: int,
    storage: str,
    compressed: bool,
) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.integers(shape[1], size=shape[0])
    one_hot = np.eye(shape[1], dtype=int)[truth]
    mask = one_hot | generator.integers(2, size=shape)
    data = generator.standard_normal((shape[0], 3))
    path = folder / "any.mat"
    store = STORAGES[storage]
    variables = {"data": data, "partial_target": store(mask.T), "target": store(one_hot.T)}
    io.savemat(path, variables, do_compression=compressed)
    dataset = read_mat(path)
    np.testing.assert_array_equal(dataset.X, data)
    np.testing.assert_array_equal(dataset.candidates.to_mask(), mask)
    np.testing.assert_array_equal(dataset.true_labels, truth)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_features_of_any_number_type_become_floats(dtype: type, path: Path) -> None:
    dataset = read_mat(write(path, data=np.arange(6).reshape(3, 2).astype(dtype)))
    assert dataset.X.dtype == np.float64
    assert dataset.X.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_sparse_features_become_dense(path: Path) -> None:
    dataset = read_mat(write(path, data=sparse.csc_array(DATA)))
    np.testing.assert_array_equal(dataset.X, DATA)


def test_the_dataset_is_called_like_the_file_and_numbers_its_features(path: Path) -> None:
    dataset = read_mat(write(path))
    assert (dataset.name, dataset.feature_names, dataset.card) == ("toys", ["x0", "x1"], None)


def test_without_a_target_the_truth_is_unknown(path: Path) -> None:
    dataset = read_mat(write(path, target=None))
    assert dataset.true_labels is None
    assert dataset.candidates.to_sets() == [{0, 1}, {1}, {2, 3}]


def test_the_truth_may_lie_outside_the_set(path: Path) -> None:
    dataset = read_mat(write(path, target=np.roll(TRUTH, 1, axis=0)))
    assert dataset.true_labels.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("missing", "found"), [("data", "partial_target, target"), ("partial_target", "data, target")]
)
def test_a_missing_variable_is_named_with_those_found(missing: str, found: str, path: Path) -> None:
    write(path, **{missing: None})
    with pytest.raises(
        DatasetFormatError,
        match=rf"toys\.mat needs arrays 'data' and 'partial_target'\. It holds {found}\.",
    ):
        read_mat(path)


def test_a_file_of_nothing_is_refused(path: Path) -> None:
    write(path, data=None, partial_target=None, target=None)
    with pytest.raises(DatasetFormatError, match="It holds nothing"):
        read_mat(path)


@pytest.mark.parametrize("name", ["partial_target", "target"])
def test_transposed_targets_are_refused(name: str, path: Path) -> None:
    write(path, **{name: SETS.T})
    with pytest.raises(
        DatasetFormatError,
        match=rf"'{name}' in .* needs one column for each of the 3 rows of 'data', and one row for "
        r"each label\. Got the shape \(3, 4\)\.",
    ):
        read_mat(path)


def test_two_true_labels_in_one_row_are_refused(path: Path) -> None:
    truth = TRUTH.copy()
    truth[0, 2] = 1
    write(path, target=truth)
    with pytest.raises(
        DatasetFormatError,
        match=r"'target' in .* needs one true label a sample\. Got more for 1 sample, at row 2\.",
    ):
        read_mat(path)


def test_a_row_without_a_true_label_is_refused(path: Path) -> None:
    truth = TRUTH.copy()
    truth[:, 1] = 0
    write(path, target=truth)
    with pytest.raises(DatasetFormatError, match=r"'target' in .* none for 1 sample, at row 1"):
        read_mat(path)


def test_a_target_over_other_labels_is_refused(path: Path) -> None:
    write(path, target=TRUTH[:2])
    with pytest.raises(DatasetFormatError, match=r"'target' in .* each label, 4\. Got 2\."):
        read_mat(path)


def test_an_empty_set_is_refused(path: Path) -> None:
    sets = SETS.copy()
    sets[:, 1] = 0
    write(path, partial_target=sets)
    with pytest.raises(
        DatasetFormatError, match=r"'partial_target' in .*toys\.mat: .* none for 1 sample, at row 1"
    ):
        read_mat(path)


def test_a_target_of_other_numbers_is_refused(path: Path) -> None:
    write(path, partial_target=SETS * 2)
    with pytest.raises(DatasetFormatError, match="'partial_target' in .* Got the value 2"):
        read_mat(path)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a text", "text"),
        (np.array([["a", "b", "c"]], dtype=object), "a cell array"),
        ({"field": 1}, "a struct"),
        (np.zeros((3, 3), dtype=complex) + 1j, "complex numbers"),
        (sparse.csc_array(np.eye(3) * 1j), "complex numbers"),
    ],
    ids=["text", "cells", "struct", "complex", "sparse complex"],
)
@pytest.mark.parametrize("name", ["data", "partial_target", "target"])
def test_what_is_not_numbers_is_refused(name: str, value: Any, kind: str, path: Path) -> None:
    write(path, **{name: value})
    with pytest.raises(
        DatasetFormatError,
        match=rf"'{name}' in .*toys\.mat needs to be a matrix of numbers\. It is {kind}\.",
    ):
        read_mat(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_feature_that_is_not_finite_is_refused(value: float, path: Path) -> None:
    data = DATA.copy()
    data[1:, 0] = value
    write(path, data=data)
    with pytest.raises(
        DatasetFormatError, match=r"need to be finite\. .* infinite in 2 samples, first at row 1"
    ):
        read_mat(path)


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (np.zeros((0, 2)), r"\(0, 2\)"),
        (np.zeros((3, 0)), r"\(3, 0\)"),
        (np.zeros((3, 2, 2)), r"\(3, 2, 2\)"),
    ],
    ids=["no rows", "no columns", "three dimensions"],
)
def test_features_of_another_shape_are_refused(data: Any, shape: str, path: Path) -> None:
    write(path, data=data)
    with pytest.raises(
        DatasetFormatError, match=rf"need to be a matrix with .* Got the shape {shape}\."
    ):
        read_mat(path)


def test_a_file_cut_in_half_is_refused(path: Path) -> None:
    content = write(path).read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DatasetFormatError, match=r"toys\.mat is damaged or not a MATLAB file"):
        read_mat(path)


@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_anywhere_is_read_whole_or_refused(folder: Path, share: float) -> None:
    path = folder / "toys.mat"
    # The sets come last, so that no cut can pass for a file without truth.
    variables = {"target": TRUTH, "data": DATA, "partial_target": SETS}
    io.savemat(path, variables, do_compression=True)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with contextlib.suppress(DatasetFormatError):
        dataset = read_mat(path)
        assert dataset.candidates.to_sets() == [{0, 1}, {1}, {2, 3}]
        assert dataset.true_labels.tolist() == [1, 1, 3]


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n" * 100], ids=["nothing", "text"])
def test_a_file_of_something_else_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(DatasetFormatError, match=r"toys\.mat is damaged or not a MATLAB file"):
        read_mat(path)


def test_a_matlab_7_3_file_is_refused_with_the_way_to_save_it(path: Path) -> None:
    text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116)
    header = text + bytes(8) + struct.pack("<H", 0x0200) + b"IM"
    path.write_bytes(header.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n" + bytes(88))
    with pytest.raises(
        DatasetFormatError, match=r"is a MATLAB 7\.3 file\. Save it in MATLAB by save\(.*'-v7'\)"
    ):
        read_mat(path)


def test_a_variable_that_is_there_twice_is_refused(path: Path) -> None:
    path.write_bytes(mat_file(*(matrix(name, DATA) for name in ("data", "partial_target", "data"))))
    with pytest.raises(DatasetFormatError, match="needs every array once. It holds 'data' more"):
        read_mat(path)


def test_a_variable_that_is_not_used_may_be_anything(path: Path) -> None:
    others = [variable("z", (2**31 - 1,) * 3), variable("y", (2, 2), element(50, b"")), TOO_LONG]
    path.write_bytes(mat_file(*others, matrix("data", DATA), matrix("partial_target", SETS)))
    assert read_mat(path).candidates.to_sets() == [{0, 1}, {1}, {2, 3}]


@pytest.mark.parametrize(
    "changes",
    [
        {"data": np.zeros((300, 1000))},
        {"data": sparse.csc_array((300, 1000))},
        {"partial_target": np.ones((2000, 300), dtype=bool)},
        {"partial_target": sparse.csc_array((10**5, 300)), "target": None},
        {"target": np.ones((2000, 300), dtype=bool)},
    ],
    ids=["features", "sparse features", "sets", "many labels", "truth"],
)
def test_what_takes_too_much_memory_is_refused_before_it_is_expanded(
    changes: dict[str, Any], path: Path
) -> None:
    sets = np.ones((2, 300))
    small = {"data": np.zeros((300, 1)), "partial_target": sets, "target": sets} | changes
    variables = {name: value for name, value in small.items() if value is not None}
    io.savemat(path, variables, do_compression=True)
    tracemalloc.start()
    with pytest.raises(TableError, match=r"The matrices of .*toys\.mat would take .*--memory"):
        arrays.read_mat(FileContent(str(path), path, max_memory=10**6))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 250_000


@pytest.mark.parametrize("index", [9, 10**8, -3, -400, -(10**6)])
def test_a_label_outside_of_the_matrix_is_refused(index: int, path: Path) -> None:
    sets = sparse_matrix("partial_target", (4, 3), [0, index, 2], [0, 1, 2, 3], [1, 1, 1])
    path.write_bytes(mat_file(matrix("data", DATA), sets))
    with pytest.raises(DatasetFormatError, match=r"indices from 0 to 3\. Got [^.]*\.$"):
        read_mat(path)


def test_one_changed_byte_anywhere_is_read_or_refused(folder: Path) -> None:
    content = write(folder / "toys.mat", target=sparse.csc_array(TRUTH)).read_bytes()
    for position in range(128, len(content)):
        for value in (0, 8, 50, 255):
            changed = bytearray(content)
            changed[position] = value
            with contextlib.suppress(DisambigError):
                arrays.read_mat(FileContent("toys.mat", content=bytes(changed)))


def test_a_missing_file_stays_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_mat(tmp_path / "nowhere.mat")


@pytest.mark.parametrize("shape", [(1, 3), (3, 1)])
@pytest.mark.parametrize("storage", ["uint8", "sparse double"])
def test_groups_go_with_the_sets(path: Path, shape: tuple[int, int], storage: str) -> None:
    groups = STORAGES[storage](np.array([4, 0, 4]).reshape(shape))
    assert read_mat(write(path, groups=groups)).candidates.groups.tolist() == [0, 1, 0]
    assert read_mat(write(path)).candidates.groups is None


def test_groups_that_do_not_fit_are_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match=r"each of the 3 rows .* Got the shape \(2, 3\)"):
        read_mat(write(path, groups=np.ones((2, 3))))
    with pytest.raises(DatasetFormatError, match="'groups' in .*Every row needs a group"):
        read_mat(write(path, groups=[[1, np.nan, 2]]))
