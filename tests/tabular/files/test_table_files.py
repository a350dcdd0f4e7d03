"""A table comes from a file, a pipe or standard input, and whatever stands in the way is said."""

import io
import os
import sys
import threading

import pandas as pd
import pytest

from disambig._core.errors import DatasetNotFoundError, ParameterError, TableError
from disambig.tabular.files.table_file import read_table_file


def test_standard_input_is_csv_unless_it_is_said_otherwise(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,\xc3\xa9\n")))
    assert read_table_file("-").to_dict("records") == [{"a": "1", "b": "é"}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n')))
    assert read_table_file("-", format="jsonl").to_dict("records") == [{"a": 1}]


def test_faults_of_standard_input_are_told_by_that_name(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3\n")))
    with pytest.raises(TableError, match=r"row of standard input .* Row 2 \(line 3\) has 1"):
        read_table_file("-")


def test_without_standard_input_a_file_is_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="There is no standard input here"):
        read_table_file("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_though_it_can_be_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a;b\n1;2\n",))
    writer.start()
    frame = read_table_file(path, format="csv", delimiter=";")
    writer.join()
    assert frame.to_dict("records") == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize("name", ["gone.csv", "gone", "no/such/folder.csv", "nul\0.csv"])
def test_a_file_that_is_not_there_is_told(name, tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"There is no file .* Check the path\."):
        read_table_file(tmp_path / name)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(TableError, match="A table is a file. .* is a folder"):
        read_table_file(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is allowed here")
def test_a_file_that_may_not_be_read_is_told(tmp_path):
    path = tmp_path / "secret.csv"
    path.touch(mode=0)
    with pytest.raises(TableError, match=r"secret\.csv cannot be read: Permission denied"):
        read_table_file(path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that cannot be read by anyone")
@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_an_error_of_the_disk_is_told(format_):
    with pytest.raises(TableError, match="/proc/self/mem cannot be read: Input/output error"):
        read_table_file("/proc/self/mem", format=format_)


def test_a_name_that_is_too_long_for_the_system_is_told(tmp_path):
    with pytest.raises(TableError, match="cannot be read: File name too long"):
        read_table_file(tmp_path / f"{'x' * 300}.csv")


def test_an_encoding_for_a_format_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "toys.parquet"
    path.touch()
    with pytest.raises(ParameterError, match="csv, tsv and jsonl only. Got 'utf-8' for parquet"):
        read_table_file(path, encoding="utf-8")


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PAR1", b"PK\x03\x04" + bytes(60)])
def test_a_damaged_file_is_told_by_its_name(suffix, content, tmp_path):
    path = tmp_path / f"toys{suffix}"
    path.write_bytes(content)
    with pytest.raises(TableError, match=rf"toys{suffix} is damaged, or no "):
        read_table_file(path)


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_a_file_cut_anywhere_is_refused(suffix, tmp_path):
    path = tmp_path / f"toys{suffix}"
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_excel(path, index=False)
    content = path.read_bytes()
    for length in range(0, len(content), max(len(content) // 40, 1)):
        path.write_bytes(content[:length])
        with pytest.raises(TableError, match="is damaged"):
            read_table_file(path)


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
            assert len(read_table_file(path).columns) >= 1
        except TableError:
            continue
