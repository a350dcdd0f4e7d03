"""How much memory a file may ask for, and how sizes are written."""

import io
import os
from pathlib import Path

import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.files.content import FileContent, describe_size, find_content, read_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GB", 8 * 10**9), ("500 mb", 5 * 10**8), ("1.5g", 1_500_000_000), ("12", 12), ("2kB", 2000)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1.2.3GB", "8 GiB", "nan", "0", "9" * 400])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="such as 500MB or 8GB"):
        read_size(text)


def test_a_size_that_is_to_be_enough_is_rounded_up() -> None:
    assert describe_size(2_010_000_000) == "2GB"
    assert describe_size(2_010_000_000, up=True) == "2.1GB"
    assert read_size(describe_size(2_010_000_001, up=True)) >= 2_010_000_001
    assert describe_size(17) == "17 bytes"


def test_a_small_file_may_need_two_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    path.write_bytes(b"small")
    content = find_content(path)
    content.check_memory(2 * 10**9, "The array 'X'")
    with pytest.raises(TableError, match="'X' of .*table.npz would take 3GB .*--memory 3.1GB"):
        content.check_memory(3 * 10**9 + 1, "The array 'X'")


def test_a_large_file_may_need_ten_times_its_size(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with path.open("wb") as stream:
        os.truncate(stream.fileno(), 10**9)  # takes no room on the disk
    find_content(path).check_memory(10**10, "The table")
    with pytest.raises(TableError, match="The limit is 10GB"):
        find_content(path).check_memory(10**10 + 1, "The table")


def test_a_limit_that_was_given_holds_for_every_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a" * 100)
    with pytest.raises(TableError, match="The limit is 500 bytes"):
        find_content(path, 500).check_memory(501, "The table")
    find_content(path, "8GB").check_memory(7 * 10**9, "The table")


def test_a_stream_that_does_not_end_is_read_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Path("/dev/zero").open() as zeros:
        monkeypatch.setattr("sys.stdin", zeros)
        with pytest.raises(TableError, match=r"standard input would take .* The limit is 9MB"):
            find_content("-", "9MB")


def test_a_device_that_does_not_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").symlink_to("/dev/zero")
    with pytest.raises(TableError, match=r"table\.csv is a device, which may never end"):
        find_content(tmp_path / "table.csv")


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n")))
    content = find_content("-")
    assert content == FileContent("standard input", content=b"a,b\n")
    assert content.open().read() == content.open().read() == b"a,b\n"
