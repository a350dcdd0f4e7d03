"""A NumPy archive is read with all it may hold, and never runs code."""

import contextlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import DatasetFormatError
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
    ("missing", "found"), [("X", "candidates, classes"), ("candidates", "X, classes")]
)
def test_a_missing_array_is_refused_with_those_found(missing: str, found: str, path: Path) -> None:
    write(path, classes=np.arange(3), **{missing: None})
    with pytest.raises(
        DatasetFormatError, match=rf"needs arrays 'X' and 'candidates'\. It holds {found}\."
    ):
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


def test_a_missing_file_stays_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_npz(tmp_path / "nowhere.npz")
