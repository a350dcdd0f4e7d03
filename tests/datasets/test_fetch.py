"""A download is unpacked, checked and put in place whole, or not at all."""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pytest
from scipy.io import savemat

from disambig._core.errors import DownloadError, ParameterError
from disambig._core.fingerprint import file_digest
from disambig.datasets import fetch_dataset, load_dataset
from disambig.datasets.card import DatasetCard, find_card

MakeArchive = Callable[[dict[str, bytes]], bytes]
PAGE = r"http://palm\.seu\.edu\.cn/zhangml/"


@pytest.fixture
def lost() -> bytes:
    """Return the real file."""
    return (Path(os.environ["DISAMBIG_DATA"]) / "lost.mat").read_bytes()


@pytest.fixture
def refusing_address() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/lost.mat"


class ProgressRecord:
    """What pooch asks of a progress bar."""

    def __init__(self) -> None:
        self.total = 0
        self.counted = 0
        self.closed = False

    def update(self, advance: int) -> None:
        self.counted += advance

    def reset(self) -> None:
        self.counted = 0

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("name", ["glass", "Abalone"])
def test_an_embedded_dataset_has_nothing_to_download(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        ParameterError, match=rf"nothing to download\. Use load_dataset\('{name.lower()}'\)"
    ):
        fetch_dataset(name, folder=tmp_path, url="http://127.0.0.1/glass.mat")


@pytest.fixture
def toy_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a file of the usual layout: 3 rows, 2 features, 4 classes."""
    path = tmp_path_factory.mktemp("toys") / "faces.mat"
    sets = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    savemat(path, {"data": np.arange(6.0).reshape(3, 2), "partial_target": sets})
    return path.read_bytes()


@pytest.fixture
def known_toy(toy_card: DatasetCard, toy_file: bytes) -> DatasetCard:
    """Return a card that knows the file."""
    return replace(toy_card, hash=file_digest(toy_file, "sha256"))


def test_a_file_is_downloaded_checked_and_put_in_place(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes
) -> None:
    address = server.put("/faces.mat", toy_file)
    path = fetch_dataset(known_toy, folder=tmp_path, url=address)
    assert path == tmp_path / "toy_faces.mat"
    assert list(tmp_path.iterdir()) == [path]
    assert load_dataset(path).candidates.to_sets() == [{0, 1}, {1, 2}, {2, 3}]


def test_an_archive_is_downloaded_unpacked_checked_and_put_in_place(
    server: Any, cache: Path, known_toy: DatasetCard, toy_file: bytes, make_archive: MakeArchive
) -> None:
    members = {"readme.txt": b"hello", "../../Toy Faces.mat": toy_file}
    path = fetch_dataset(known_toy, url=server.put("/faces", make_archive(members)))
    assert path == cache / "toy_faces.mat"
    assert path.read_bytes() == toy_file
    assert [file for file in cache.parent.rglob("*") if file.is_file()] == [path]


def test_a_known_file_is_not_downloaded_again(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes
) -> None:
    address = server.put("/faces.mat", toy_file)
    for _ in range(2):
        fetch_dataset(known_toy, folder=tmp_path, url=address)
    assert server.asked_for == ["/faces.mat"]


def test_an_unknown_file_in_its_place_is_replaced(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes
) -> None:
    (tmp_path / "toy_faces.mat").write_bytes(toy_file[:50])
    path = fetch_dataset(known_toy, folder=tmp_path, url=server.put("/faces.mat", toy_file))
    assert path.read_bytes() == toy_file


def test_wrong_content_is_refused_and_nothing_is_kept(server: Any, tmp_path: Path) -> None:
    address = server.put("/lost.mat", b"<html>Moved</html>")
    with pytest.raises(
        DownloadError,
        match=rf"{address} is not the known file\. Needed {find_card('lost').hash}, got sha256:"
        rf"\w+\. Nothing was kept\. Try another address, or get the file by hand from {PAGE}\.",
    ):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


def test_wrong_content_inside_an_archive_is_refused_and_nothing_is_kept(
    server: Any, tmp_path: Path, make_archive: MakeArchive
) -> None:
    address = server.put("/lost.archive", make_archive({"lost.mat": b"other"}))
    with pytest.raises(DownloadError, match="is not the known file"):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


def test_a_file_known_by_its_git_name_is_checked_too(server: Any, tmp_path: Path) -> None:
    address = server.put("/soccer.mat", b"other")
    with pytest.raises(DownloadError, match="Needed git-blob:3372e735.*, got git-blob:"):
        fetch_dataset("soccer", folder=tmp_path, url=address)


def test_an_archive_without_the_file_is_refused_and_nothing_is_kept(
    server: Any, tmp_path: Path, make_archive: MakeArchive
) -> None:
    address = server.put("/lost.archive", make_archive({"readme.txt": b"hello"}))
    with pytest.raises(DownloadError, match=r"should hold one file lost\.mat"):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../../evil.mat", "/evil.mat"])
def test_a_hostile_archive_writes_nothing_anywhere(
    name: str, server: Any, tmp_path: Path, make_archive: MakeArchive
) -> None:
    address = server.put("/lost.archive", make_archive({name: b"evil"}))
    with pytest.raises(DownloadError, match="Nothing was kept"):
        fetch_dataset("lost", folder=tmp_path / "one" / "two", url=address)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert not Path("/evil.mat").exists()


def test_refused_content_leaves_an_existing_file_as_it_was(server: Any, tmp_path: Path) -> None:
    (tmp_path / "lost.mat").write_bytes(b"mine")
    address = server.put("/lost.mat", b"theirs")
    with pytest.raises(DownloadError, match="Nothing was kept"):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"mine"]


def test_a_second_try_asks_the_server_again(server: Any, tmp_path: Path) -> None:
    address = server.put("/lost.mat", b"other")
    for _ in range(2):
        with pytest.raises(DownloadError, match="is not the known file"):
            fetch_dataset("lost", folder=tmp_path, url=address)
    assert server.asked_for == ["/lost.mat", "/lost.mat"]


def test_a_page_that_is_not_there_names_where_to_get_the_file_by_hand(
    server: Any, tmp_path: Path
) -> None:
    address = server.address("/gone.rar")
    with pytest.raises(
        DownloadError,
        match=rf"{address} could not be downloaded: 404 .* get the file by hand from {PAGE}\.",
    ):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_connection_names_where_to_get_the_file_by_hand(
    refusing_address: str, tmp_path: Path
) -> None:
    with pytest.raises(
        DownloadError,
        match=rf"{refusing_address} could not be downloaded: .* get the file by hand from {PAGE}\.",
    ):
        fetch_dataset("lost", folder=tmp_path, url=refusing_address)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_is_refused_and_nothing_is_kept(
    server: Any, tmp_path: Path
) -> None:
    address = server.put("/lost.mat", b"the first half")
    server.claimed_lengths["/lost.mat"] = 28
    with pytest.raises(DownloadError, match="could not be downloaded"):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


def test_an_address_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"lost\.rar could not be downloaded: Unrecognized URL"):
        fetch_dataset("lost", folder=tmp_path, url="lost.rar")


def test_a_folder_that_is_a_file_is_refused(server: Any, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(DownloadError, match="The folder .*taken cannot be used"):
        fetch_dataset("lost", folder=tmp_path / "taken", url=server.put("/lost.mat", b""))


def test_the_progress_bar_is_told_the_size(server: Any, tmp_path: Path) -> None:
    progress = ProgressRecord()
    with pytest.raises(DownloadError, match="is not the known file"):
        fetch_dataset(
            "lost", folder=tmp_path, url=server.put("/lost.mat", bytes(5000)), progress=progress
        )
    assert (progress.total, progress.counted, progress.closed) == (5000, 5000, True)


def test_the_logger_of_pooch_is_left_as_it_was(server: Any, tmp_path: Path) -> None:
    before = pooch.get_logger().level
    with pytest.raises(DownloadError, match="is not the known file"):
        fetch_dataset("lost", folder=tmp_path, url=server.put("/lost.mat", b"other"))
    assert before != logging.WARNING
    assert pooch.get_logger().level == before


@pytest.mark.realdata
def test_a_bare_file_is_downloaded_and_put_in_place(
    server: Any, tmp_path: Path, lost: bytes
) -> None:
    path = fetch_dataset("lost", folder=tmp_path, url=server.put("/lost.mat", lost))
    assert path == tmp_path / "lost.mat"
    assert path.read_bytes() == lost


@pytest.mark.realdata
def test_an_archive_is_downloaded_and_only_its_file_put_in_place(
    server: Any, tmp_path: Path, lost: bytes, make_archive: MakeArchive
) -> None:
    members = {"readme.txt": b"hello", "../../evil.mat": lost}
    address = server.put("/lost.archive", make_archive(members))
    folder = tmp_path / "one" / "two"
    assert fetch_dataset("lost", folder=folder, url=address) == folder / "lost.mat"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [folder / "lost.mat"]
    assert files[0].read_bytes() == lost


@pytest.mark.realdata
def test_a_download_goes_to_the_cache_where_load_dataset_finds_it(
    server: Any, cache: Path, lost: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISAMBIG_DATA")
    path = fetch_dataset("lost", url=server.put("/lost.mat", lost))
    assert path == cache / "lost.mat"
    assert load_dataset("lost").X.shape == (1122, 108)


@pytest.mark.realdata
def test_a_good_file_is_not_downloaded_again(server: Any, tmp_path: Path, lost: bytes) -> None:
    (tmp_path / "lost.mat").write_bytes(lost)
    fetch_dataset("lost", folder=tmp_path, url=server.address("/lost.mat"))
    assert server.asked_for == []


@pytest.mark.realdata
def test_a_damaged_file_is_replaced(server: Any, tmp_path: Path, lost: bytes) -> None:
    (tmp_path / "lost.mat").write_bytes(lost[:1000])
    path = fetch_dataset("lost", folder=tmp_path, url=server.put("/lost.mat", lost))
    assert path.read_bytes() == lost
    assert server.asked_for == ["/lost.mat"]


@pytest.mark.realdata
def test_who_reads_the_old_file_meanwhile_never_sees_half_of_the_new_one(
    server: Any, tmp_path: Path, lost: bytes
) -> None:
    (tmp_path / "lost.mat").write_bytes(b"damaged")
    with (tmp_path / "lost.mat").open("rb") as reader:
        fetch_dataset("lost", folder=tmp_path, url=server.put("/lost.mat", lost))
        assert reader.read() == b"damaged"
    assert [path.name for path in tmp_path.iterdir()] == ["lost.mat"]
