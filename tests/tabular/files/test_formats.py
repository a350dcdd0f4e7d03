"""Formats are one record each; a table comes from a file, a pipe or standard input."""

import io
import os
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from disambig import load_dataset
from disambig._core.errors import (
    DatasetNotFoundError,
    MissingExtraError,
    ParameterError,
    TableError,
    UnknownNameError,
)
from disambig.tabular.files.formats import FORMATS, find_format, read_table, write_table
from disambig.tabular.labels.label_columns import LabelColumns

ROOT = Path(__file__).parents[3]
BY_NAME = {each.name: each for each in FORMATS}
X = np.array([[0.0, 1.5], [2.0, 3.0], [4.0, 5.0]])
MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.csv", "csv"),
        ("A.CSV", "csv"),
        ("a.b.tsv", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.Parquet", "parquet"),
        ("a.xlsx", "xlsx"),
        ("a.mat", "mat"),
        ("a.npz", "npz"),
    ],
)
def test_the_suffix_says_the_format_in_any_case(name, format_):
    assert find_format(name) is BY_NAME[format_]


def test_a_given_format_wins_over_the_suffix():
    assert find_format("a.csv", "jsonl") is BY_NAME["jsonl"]


def test_names_and_suffixes_belong_to_one_format_each():
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert len(BY_NAME) == len(FORMATS)
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in suffixes)


def test_the_documentation_names_every_suffix():
    for text in (
        (ROOT / "docs/own-file.md").read_text(),
        (ROOT / "docs/datasets.md").read_text(),
        read_table.__doc__,
        load_dataset.__doc__,
    ):
        missing = [s for each in FORMATS for s in each.suffixes if f"`{s}`" not in text]
        assert not missing, text[:60]
    writable = [each.suffixes[0] for each in FORMATS if each.writer]
    assert all(f"``{suffix}``" in write_table.__doc__ for suffix in writable)


def test_every_extra_is_one_of_the_package_and_brings_the_library():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for each in FORMATS:
        if each.library is not None:
            assert any(need.startswith(each.library) for need in extras[each.extra]), each.name


def test_a_format_whose_library_is_missing_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "a.xlsx").touch()
    message = r"pip install 'disambig\[excel\]'"
    with pytest.raises(MissingExtraError, match=message):
        read_table(tmp_path / "a.xlsx")
    with pytest.raises(MissingExtraError, match=message):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "b.xlsx")


@pytest.mark.parametrize(
    ("name", "ending"), [("a.txt", r"ends in '\.txt'"), ("data", "has no suffix")]
)
def test_an_unknown_suffix_is_met_with_the_known_ones_and_the_way_out(name, ending, tmp_path):
    (tmp_path / name).touch()
    way_out = r"--format \(in Python format=\)"
    known = r"\.csv, \.tsv, \.jsonl, \.ndjson, \.json, \.parquet, \.xlsx"
    packed = r"text may be packed .*\(\.gz, \.bz2, \.xz, \.zip, \.zst\)"
    with pytest.raises(
        TableError, match=rf"{known}, \.mat, \.npz; {packed}\. .*{name} {ending}\. .*{way_out}"
    ):
        read_table(tmp_path / name)
    with pytest.raises(TableError, match=rf"{known}; {packed}\. .*{name} {ending}\. Choose"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / name)


def test_an_unknown_format_is_met_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'parquet'"):
        find_format("a.csv", "parket")


def test_a_format_that_is_only_read_is_not_written(tmp_path):
    with pytest.raises(TableError, match=r"written as csv, .* or xlsx\. Got 'mat'"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "a.mat")


@pytest.mark.parametrize(
    ("format_", "given", "content"),
    [
        ("csv", None, b"a,b\n1,2\n"),
        ("tsv", None, b"a\tb\n1\t2\n"),
        ("csv", ";", b"a;b\n1;2\n"),
        ("csv", "\\t", b"a\tb\n1\t2\n"),
    ],
)
def test_the_delimiter_is_the_usual_one_or_the_given_one(format_, given, content, tmp_path):
    path = tmp_path / "table"
    path.write_bytes(content)
    frame = read_table(path, format=format_, delimiter=given)
    assert frame.to_dict("records") == [{"a": "1", "b": "2"}]
    write_table(frame, path, format=format_, delimiter=given)
    assert path.read_bytes() == content


@pytest.mark.parametrize("given", ["", "ab", '"', "\n", "\r", "\0"])
def test_a_delimiter_that_cannot_be_one_is_refused(given, tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(ParameterError, match="must be one character"):
        read_table(tmp_path / "a.csv", delimiter=given)


@pytest.mark.parametrize("format_", ["parquet", "mat", "npz"])
def test_a_delimiter_for_a_format_without_one_is_refused(format_, tmp_path):
    (tmp_path / f"a.{format_}").touch()
    with pytest.raises(ParameterError, match=f"csv or tsv only. Got ';' for {format_}"):
        read_table(tmp_path / f"a.{format_}", delimiter=";")


def test_a_mat_file_becomes_features_and_lists_of_labels(tmp_path):
    savemat(tmp_path / "a.mat", {"data": X, "partial_target": MASK.T})
    table = read_table(tmp_path / "a.mat")
    assert list(table.columns) == ["x0", "x1", "label"]
    assert table["label"].tolist() == [["0", "1"], ["1"], ["0", "2"]]
    np.testing.assert_array_equal(table[["x0", "x1"]], X)


def test_arrays_come_from_standard_input_too(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", X=X, candidates=MASK)
    content = io.BytesIO((tmp_path / "a.npz").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    pd.testing.assert_frame_equal(read_table("-", format="npz"), read_table(tmp_path / "a.npz"))


def test_true_labels_are_a_column_only_when_asked_for(tmp_path):
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    savemat(tmp_path / "a.mat", {"data": X, "partial_target": MASK.T, "target": truth})
    assert "truth" not in read_table(tmp_path / "a.mat").columns
    assert read_table(tmp_path / "a.mat", with_truth=True)["truth"].tolist() == ["0", "1", "2"]


def test_weights_of_an_archive_survive(tmp_path):
    weights = np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    np.savez(tmp_path / "a.npz", X=X, candidates=MASK, weights=weights, classes=["a", "b", "c"])
    sets = LabelColumns().read(read_table(tmp_path / "a.npz"))
    assert sets.to_strings() == ["a|b", "b", "a|c"]
    np.testing.assert_array_equal(sets.weights.toarray(), weights)


@pytest.mark.parametrize("names", [["label", "b"], ["b", "b"]])
def test_features_of_arrays_need_different_names(names, tmp_path):
    np.savez(tmp_path / "a.npz", X=X, candidates=MASK, feature_names=names)
    with pytest.raises(TableError, match=f"need different names.*{names[0]!r} is there twice"):
        read_table(tmp_path / "a.npz")


def test_standard_input_is_csv_unless_it_is_said_otherwise(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,\xc3\xa9\n")))
    assert read_table("-").to_dict("records") == [{"a": "1", "b": "é"}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n')))
    assert read_table("-", format="jsonl").to_dict("records") == [{"a": 1}]


def test_faults_of_standard_input_are_told_by_that_name(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3\n")))
    with pytest.raises(TableError, match=r"row of standard input .* Row 2 \(line 3\) has 1"):
        read_table("-")


def test_without_standard_input_a_file_is_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="There is no standard input here"):
        read_table("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_though_it_can_be_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a;b\n1;2\n",))
    writer.start()
    frame = read_table(path, format="csv", delimiter=";")
    writer.join()
    assert frame.to_dict("records") == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    "name", ["gone.csv", "gone", "gone.npz", "no/such/folder.csv", "nul\0.csv"]
)
def test_a_file_that_is_not_there_is_told(name, tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"There is no file .* Check the path\."):
        read_table(tmp_path / name)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(TableError, match="A table is a file. .* is a folder"):
        read_table(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is allowed here")
def test_a_file_that_may_not_be_read_is_told(tmp_path):
    path = tmp_path / "secret.csv"
    path.touch(mode=0)
    with pytest.raises(TableError, match=r"secret\.csv cannot be read: Permission denied"):
        read_table(path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that cannot be read by anyone")
@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_an_error_of_the_disk_is_told(format_):
    with pytest.raises(TableError, match="/proc/self/mem cannot be read: Input/output error"):
        read_table("/proc/self/mem", format=format_)


def test_a_name_that_is_too_long_for_the_system_is_told(tmp_path):
    with pytest.raises(TableError, match="cannot be read: File name too long"):
        read_table(tmp_path / f"{'x' * 300}.csv")


def test_an_encoding_for_a_format_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "toys.parquet"
    path.touch()
    with pytest.raises(ParameterError, match="csv, .*json only. Got 'utf-8' for parquet"):
        read_table(path, encoding="utf-8")


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PAR1", b"PK\x03\x04" + bytes(60)])
def test_a_damaged_file_is_told_by_its_name(suffix, content, tmp_path):
    path = tmp_path / f"toys{suffix}"
    path.write_bytes(content)
    with pytest.raises(TableError, match=rf"toys{suffix} is damaged, or not an? "):
        read_table(path)


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_a_file_cut_anywhere_is_refused(suffix, tmp_path):
    path = tmp_path / f"toys{suffix}"
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_excel(path, index=False)
    content = path.read_bytes()
    for length in range(0, len(content), max(len(content) // 40, 1)):
        path.write_bytes(content[:length])
        with pytest.raises(TableError, match="is damaged"):
            read_table(path)


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_a_file_with_wrong_bytes_is_read_or_refused(suffix, tmp_path):
    path = tmp_path / f"toys{suffix}"
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_excel(path, index=False)
    content = path.read_bytes()
    for place in range(0, len(content), max(len(content) // 60, 1)):
        wrong = bytearray(content)
        wrong[place] ^= 0xFF
        path.write_bytes(wrong)
        try:
            assert len(read_table(path).columns) >= 1
        except TableError:
            continue


def test_a_table_of_very_many_candidates_is_refused_before_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "toys.npz"
    np.savez_compressed(path, X=np.zeros((100, 1)), candidates=np.ones((100, 2000), dtype=bool))
    with pytest.raises(TableError, match="The table of candidate labels of .* would take 12"):
        read_table(path, max_memory="5MB")
    assert len(read_table(path, max_memory="20MB")) == 100
