"""A NumPy archive is read with all it may hold, and never runs code."""

import contextlib
import io
import pickle
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy_format

from disambig._core.errors import DatasetFormatError, TableError
from disambig.candidates.dataset import PartialLabelDataset
from disambig.tabular.files import arrays
from disambig.tabular.files.content import FileContent

X = np.array([[0.5, 1.0], [1.5, 2.0]])
MASK = np.array([[True, True, False], [False, False, True]])


def read_npz(path: Path) -> PartialLabelDataset:
    return arrays.read_npz(FileContent(str(path), path))


def write(path: Path, **changes: Any) -> Path:
    """Write two samples, with some arrays changed, or left out where they are None."""
    arrays = {"X": X, "candidates": MASK} | changes
    np.savez_compressed(path, **{name: a for name, a in arrays.items() if a is not None})
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toys.npz"


def test_features_and_sets_are_enough(path: Path) -> None:
    dataset = read_npz(write(path))
    np.testing.assert_array_equal(dataset.X, X)
    assert dataset.candidates.to_sets() == [{0, 1}, {2}]
    assert dataset.candidates.weights is None
    assert dataset.true_labels is None
    assert (dataset.name, dataset.feature_names, dataset.card) == ("toys", ["x0", "x1"], None)


def test_a_mask_of_zeros_and_ones_is_read(path: Path) -> None:
    assert read_npz(write(path, candidates=MASK.astype(int))).candidates.to_sets() == [{0, 1}, {2}]


def test_classes_name_the_columns(path: Path) -> None:
    dataset = read_npz(write(path, classes=np.array(["cat", "dog", "bird"])))
    assert dataset.candidates.to_sets() == [{"cat", "dog"}, {"bird"}]


def test_true_labels_are_read(path: Path) -> None:
    dataset = read_npz(write(path, classes=np.array([*"abc"]), true_labels=np.array(["b", "c"])))
    assert dataset.true_labels.tolist() == ["b", "c"]


def test_feature_names_are_read(path: Path) -> None:
    names = read_npz(write(path, feature_names=np.array(["height", "width"]))).feature_names
    assert names == ["height", "width"]
    assert {type(name) for name in names} == {str}


def test_weights_are_read(path: Path) -> None:
    dataset = read_npz(write(path, weights=np.array([[0.25, 0.75, 0], [0, 0, 2.0]])))
    assert dataset.candidates.weights.toarray().tolist() == [[0.25, 0.75, 0], [0, 0, 2]]


@given(st.integers(1, 10), st.integers(1, 5), st.integers(0, 2**32))
def test_whatever_was_saved_is_read_back(
    folder: Path, n_samples: int, n_classes: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((n_samples, 2))
    truth = generator.integers(n_classes, size=n_samples)
    mask = np.eye(n_classes, dtype=bool)[truth] | (generator.random((n_samples, n_classes)) < 0.5)
    weights = mask * generator.uniform(0.1, 1, size=mask.shape)
    path = write(
        folder / "any.npz",
        X=features,
        candidates=mask,
        weights=weights,
        true_labels=truth,
    )
    dataset = read_npz(path)
    np.testing.assert_array_equal(dataset.X, features)
    np.testing.assert_array_equal(dataset.candidates.to_mask(), mask)
    np.testing.assert_array_equal(dataset.candidates.weights.toarray(), weights)
    np.testing.assert_array_equal(dataset.true_labels, truth)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("X", r"needs arrays 'X'\. It holds candidates, classes\."),
        ("candidates", r"'candidates', or 'true_labels' to make .* It holds X, classes\."),
    ],
)
def test_a_missing_array_is_refused_with_those_found(
    missing: str, message: str, path: Path
) -> None:
    write(path, classes=np.arange(3), **{missing: None})
    with pytest.raises(DatasetFormatError, match=message):
        read_npz(path)


@pytest.mark.parametrize("classes", [None, np.array(["a", "b", "c"])])
def test_without_candidate_sets_each_is_the_true_label(
    classes: np.ndarray | None, path: Path
) -> None:
    given = {} if classes is None else {"classes": classes}
    np.savez(path, X=np.eye(2), true_labels=np.array(["b", "a"]), **given)
    dataset = read_npz(path)
    assert dataset.candidates.to_sets() == [{"b"}, {"a"}]
    assert dataset.candidates.classes.tolist() == (classes.tolist() if given else ["a", "b"])
    assert dataset.true_labels.tolist() == ["b", "a"]


def test_weights_are_those_of_candidate_sets(path: Path) -> None:
    np.savez(path, X=np.eye(2), true_labels=np.array(["b", "a"]), weights=np.eye(2))
    with pytest.raises(DatasetFormatError, match="'candidates', or 'true_labels'"):
        read_npz(path)


def test_an_archive_of_nothing_is_refused(path: Path) -> None:
    write(path, X=None, candidates=None)
    with pytest.raises(DatasetFormatError, match="It holds nothing"):
        read_npz(path)


class _LeavesAMark:
    """Creates a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("name", ["X", "candidates", "feature_names"])
def test_python_objects_are_refused_and_their_code_is_not_run(
    name: str, path: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    write(path, **{name: np.array([_LeavesAMark(mark)], dtype=object)})
    with pytest.raises(DatasetFormatError, match="holds Python objects, which are never loaded"):
        read_npz(path)
    assert not mark.exists()
    # The same file in careless hands.
    with np.load(path, allow_pickle=True) as archive:
        assert archive[name] is not None
    assert mark.exists()


def test_a_pickle_by_another_name_is_refused_and_not_run(path: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path.write_bytes(pickle.dumps(_LeavesAMark(mark)))
    with pytest.raises(DatasetFormatError, match="never loaded"):
        read_npz(path)
    assert not mark.exists()


def test_a_single_array_is_refused(path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, X)
    path.write_bytes(buffer.getvalue())
    with pytest.raises(DatasetFormatError, match="not a NumPy archive"):
        read_npz(path)


@pytest.mark.parametrize("content", [b"", b"hello"], ids=["nothing", "text"])
def test_a_file_of_something_else_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(DatasetFormatError, match=r"toys\.npz is damaged, not a NumPy archive, or"):
        read_npz(path)


@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_anywhere_is_refused(folder: Path, share: float) -> None:
    path = write(folder / "toys.npz")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DatasetFormatError, match="is damaged"):
        read_npz(path)


@given(position=st.integers(0, 2999), change=st.integers(1, 255))
def test_a_damaged_file_is_read_or_refused_by_our_errors(
    folder: Path, position: int, change: int
) -> None:
    features = np.random.default_rng(0).random((2, 100))
    path = write(folder / "toys.npz", X=features)
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= change
    path.write_bytes(content)
    with contextlib.suppress(DatasetFormatError):
        np.testing.assert_array_equal(read_npz(path).X, features)


@pytest.mark.parametrize("name", ["classes", "true_labels", "feature_names"])
@pytest.mark.parametrize("value", [np.array(1), MASK.T], ids=["single value", "matrix"])
def test_a_list_of_another_dimension_is_refused(name: str, value: Any, path: Path) -> None:
    write(path, **{name: value})
    with pytest.raises(
        DatasetFormatError, match=rf"'{name}' in .*toys\.npz needs to have one dimension\. Got the"
    ):
        read_npz(path)


def test_true_labels_of_another_length_are_refused(path: Path) -> None:
    write(path, true_labels=np.array([0, 1, 2]))
    with pytest.raises(DatasetFormatError, match="parts of toys do not fit: .*'true_labels': 3"):
        read_npz(path)


def test_feature_names_of_another_number_are_refused(path: Path) -> None:
    write(path, feature_names=np.array(["height"]))
    with pytest.raises(DatasetFormatError, match="2 columns of features and 1 names"):
        read_npz(path)


def test_a_set_of_nothing_is_refused(path: Path) -> None:
    write(path, candidates=np.array([[1, 0, 0], [0, 0, 0]]))
    with pytest.raises(DatasetFormatError, match="'candidates' in .*Got none for 1 sample"):
        read_npz(path)


def test_a_feature_that_is_not_finite_is_refused(path: Path) -> None:
    write(path, X=np.array([[1.0], [np.nan]]))
    with pytest.raises(DatasetFormatError, match="need to be finite.* 1 sample, at row 1"):
        read_npz(path)


def test_features_of_texts_are_refused(path: Path) -> None:
    write(path, X=np.array([["a"], ["b"]]))
    with pytest.raises(DatasetFormatError, match="need to be numbers. Got the type <U1"):
        read_npz(path)


def test_an_array_that_is_not_used_is_not_read(path: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    objects = np.array([_LeavesAMark(mark)], dtype=object)
    write(path, unused=np.zeros(2**23), objects=objects)
    tracemalloc.start()
    assert read_npz(path).candidates.to_sets() == [{0, 1}, {2}]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (peak < 2**20, mark.exists()) == (True, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"X": np.zeros((2, 50_000))},
        {"candidates": np.ones((2, 50_000), dtype=bool)},
        {"candidates": np.ones((2, 0), dtype=bool), "weights": np.zeros((2, 10_000))},
        {"classes": np.array(["a" * 50_000] * 3)},
        {"feature_names": np.zeros(10_000)},
    ],
    ids=["features", "sets", "weights", "classes", "names"],
)
def test_what_takes_too_much_memory_is_refused_before_it_is_expanded(
    changes: dict[str, Any], path: Path
) -> None:
    write(path, **changes)
    tracemalloc.start()
    with pytest.raises(TableError, match=r"The arrays of .*toys\.npz would take .*--memory"):
        arrays.read_npz(FileContent(str(path), path, max_memory=10**6))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 250_000


def pack(path: Path, *members: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write an archive of any members."""
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", how) as archive:
        warnings.simplefilter("ignore")  # about names that are there twice
        for name, content in members:
            archive.writestr(name, content)
    return path


def npy(array: Any, **changes: Any) -> bytes:
    """Return an array as a file, with some entries of its header changed."""
    values = np.asarray(array)
    stream = io.BytesIO()
    header = {"descr": values.dtype.str, "fortran_order": False, "shape": values.shape} | changes
    npy_format.write_array_header_1_0(stream, header)
    return stream.getvalue() + values.tobytes()


GOOD = npy(MASK)


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (npy(X, shape=(2, 3)), r"'X' says it has the shape \(2, 3\), and has another size"),
        (npy(X, shape=(10**9, 10**9)), "has another size"),
        (npy(X, shape=(-2, -2)), "has another size"),
        (npy(X)[:-1], "has another size"),
        (npy(X) + b"1", "has another size"),
        (npy(X, descr="|O"), "'X' holds Python objects"),
        (npy(X, descr=[("a", "<f8"), ("b", "|O")]), "'X' holds Python objects"),
        (npy(X, descr=[("a", "<f8")]), "holds values of the type"),
        (npy(X, descr="<U0"), "holds values of the type"),
        (npy(X, descr="|V32"), "holds values of the type"),
        (b"\x93NUMPY\3\0" + npy(X)[8:], r"version \(3, 0\)"),
        (b"\x93NUMPY\2\0" + struct.pack("<I", 2**31) + bytes(2**20), "header"),
        (b"\x93NUMPY\1\0" + struct.pack("<H", 9000) + b"-" * 9000, "header"),
        (b"something else", "magic"),
        (b"", "EOF"),
    ],
)
def test_an_array_that_is_not_what_it_says_is_refused(
    member: bytes, reason: str, path: Path
) -> None:
    pack(path, ("X.npy", member), ("candidates.npy", GOOD))
    with pytest.raises(DatasetFormatError, match=reason):
        read_npz(path)


def test_a_version_2_header_is_read(path: Path) -> None:
    one = npy(X)
    two = b"\x93NUMPY\2\0" + struct.pack("<I", struct.unpack("<H", one[8:10])[0]) + one[10:]
    pack(path, ("X.npy", two), ("candidates.npy", GOOD))
    np.testing.assert_array_equal(read_npz(path).X, X)


def test_booleans_that_are_neither_are_refused(path: Path) -> None:
    bad = npy(np.full((2, 3), 255, dtype=np.uint8), descr="|b1")
    pack(path, ("X.npy", npy(X)), ("candidates.npy", bad))
    with pytest.raises(DatasetFormatError, match="booleans that are neither True nor False"):
        read_npz(path)


def test_a_name_that_is_there_twice_is_refused(path: Path) -> None:
    pack(path, ("X.npy", npy(X)), ("candidates.npy", GOOD), ("X.npy", npy(X)))
    with pytest.raises(DatasetFormatError, match="needs every array once. It holds 'X' more often"):
        read_npz(path)


def test_members_that_share_bytes_are_refused(path: Path) -> None:
    pack(path, ("X.npy", npy(X)), ("candidates.npy", GOOD), how=zipfile.ZIP_STORED)
    content = path.read_bytes()
    # The second entry of the directory points to the first member.
    second = content.rindex(b"PK\x01\x02")
    path.write_bytes(content[: second + 42] + bytes(4) + content[second + 46 :])
    with pytest.raises(DatasetFormatError, match="'candidates.npy' lies inside another member"):
        read_npz(path)


def test_a_size_that_the_directory_only_claims_is_refused(path: Path) -> None:
    huge = npy(np.zeros((0, 2)), shape=(1000, 2))
    pack(path, ("X.npy", huge), ("candidates.npy", GOOD))
    content = path.read_bytes()
    first = content.index(b"PK\x01\x02")
    claim = struct.pack("<I", len(huge) + 16_000)
    path.write_bytes(content[: first + 24] + claim + content[first + 28 :])
    with pytest.raises(DatasetFormatError, match="'X.npy' ends too early"):
        read_npz(path)


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_compressing_are_refused(how: int, path: Path) -> None:
    pack(path, ("X.npy", npy(X)), ("candidates.npy", GOOD), how=how)
    with pytest.raises(DatasetFormatError, match="in a way that NumPy does not use"):
        read_npz(path)


@pytest.mark.parametrize("name", ["classes", "true_labels", "feature_names"])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000, 2**32 - 1])
def test_text_that_is_not_unicode_is_refused(name: str, order: str, code: int, path: Path) -> None:
    codes = np.array([[65, 66], [67, 0], [68, code]], dtype=f"{order}u4")
    pack(
        path,
        ("X.npy", npy(X)),
        ("candidates.npy", GOOD),
        (f"{name}.npy", npy(codes.view(f"{order}U2").ravel())),
    )
    with pytest.raises(
        DatasetFormatError,
        match=rf"'{name}' in .* needs to be text\. Its entry 2 has U\+{code:04X} at position 1",
    ):
        read_npz(path)


def test_a_missing_file_stays_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_npz(tmp_path / "nowhere.npz")


def test_groups_go_with_the_sets(path: Path) -> None:
    assert read_npz(write(path)).candidates.groups is None
    assert read_npz(write(path, groups=[7, 7])).candidates.groups.tolist() == [0, 0]
    assert read_npz(write(path, groups=["b", "a"])).candidates.groups.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.ones((2, 1)), "'groups' in .* needs to have one dimension"),
        (np.ones(3), "'groups' in .*must name a group for each of the 2 rows. Got 3"),
        (np.array([1, np.nan]), "'groups' in .*Every row needs a group"),
    ],
)
def test_groups_that_do_not_fit_are_refused(path: Path, groups: Any, message: str) -> None:
    with pytest.raises(DatasetFormatError, match=message):
        read_npz(write(path, groups=groups))
