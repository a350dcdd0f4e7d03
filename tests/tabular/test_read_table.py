"""Arrays as tables."""

import numpy as np
import pytest
from scipy import io

from disambig._core.errors import DatasetNotFoundError, TableError
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.reading import read_table

X = np.array([[0.0, 1.5], [2.0, 3.0], [4.0, 5.0]])
MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])


def test_a_mat_file_becomes_features_and_lists_of_labels(tmp_path):
    io.savemat(tmp_path / "a.mat", {"data": X, "partial_target": MASK.T})
    table = read_table(tmp_path / "a.mat")
    assert list(table.columns) == ["x0", "x1", "label"]
    assert table["label"].tolist() == [["0", "1"], ["1"], ["0", "2"]]
    np.testing.assert_array_equal(table[["x0", "x1"]], X)


def test_true_labels_are_a_column_only_when_asked_for(tmp_path):
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    io.savemat(tmp_path / "a.mat", {"data": X, "partial_target": MASK.T, "target": truth})
    assert "truth" not in read_table(tmp_path / "a.mat").columns
    assert read_table(tmp_path / "a.mat", with_truth=True)["truth"].tolist() == ["0", "1", "2"]


def test_weights_of_an_archive_survive(tmp_path):
    weights = np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    np.savez(tmp_path / "a.npz", X=X, candidates=MASK, weights=weights, classes=["a", "b", "c"])
    sets = LabelColumns().read(read_table(tmp_path / "a.npz"))
    assert sets.to_strings() == ["a|b", "b", "a|c"]
    np.testing.assert_array_equal(sets.weights.toarray(), weights)


def test_features_called_label_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, candidates=MASK, feature_names=["label", "b"])
    with pytest.raises(TableError, match="need names of their own.*Got label"):
        read_table(tmp_path / "a.npz")


def test_a_missing_archive_is_named(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="There is no file"):
        read_table(tmp_path / "a.npz")


def test_a_delimiter_is_for_text_files(tmp_path):
    with pytest.raises(TableError, match="for text files"):
        read_table(tmp_path / "a.mat", delimiter=";")


def test_text_files_are_tables_of_texts(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n007,cat|dog\n")
    assert read_table(tmp_path / "a.csv").iloc[0].tolist() == ["007", "cat|dog"]
