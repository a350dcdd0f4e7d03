"""Dataset files are found, or downloaded and checked."""

import os
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from disambig._core.cache_folder import cache_folder
from disambig._core.errors import (
    DatasetNotFoundError,
    DownloadError,
    MissingExtraError,
    ParameterError,
)
from disambig._core.fingerprint import file_digest
from disambig.datasets import download, fetch_dataset, load_dataset
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.download import find_file


@pytest.mark.parametrize(
    ("file_name", "name"),
    [
        ("lost.mat", "lost"),
        ("Lost.MAT", "lost"),
        ("birdsong.mat", "birdsong"),
        ("BirdSong.mat", "birdsong"),
        ("bird-song.mat", "birdsong"),
        ("Bird Song.mat", "birdsong"),
        ("MSRCv2.mat", "msrcv2"),
        ("msrc_v2.mat", "msrcv2"),
        ("msrc.mat", "msrcv2"),
        ("Soccer Player.mat", "soccer_player"),
        ("SoccerPlayer.mat", "soccer_player"),
        ("soccer.mat", "soccer_player"),
        ("Yahoo! News.mat", "yahoo_news"),
        ("YahooNews.mat", "yahoo_news"),
        ("yahoo.mat", "yahoo_news"),
    ],
)
def test_any_usual_file_name_is_found(file_name: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "another.mat").touch()
    (tmp_path / file_name).touch()
    assert find_file(find_card(name), tmp_path) == tmp_path / file_name


def test_another_suffix_is_passed_over(tmp_path: Path, toy_card: DatasetCard) -> None:
    (tmp_path / "toy_faces.rar").touch()
    with pytest.raises(DatasetNotFoundError, match="Found none in"):
        find_file(toy_card, tmp_path)


def test_the_folder_named_by_the_variable_comes_before_the_downloads(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, toy_card: DatasetCard
) -> None:
    cache.mkdir()
    for folder in (tmp_path, cache):
        (folder / "toys.mat").touch()
    monkeypatch.setenv("DISAMBIG_DATA", str(tmp_path))
    assert find_file(toy_card) == tmp_path / "toys.mat"


@pytest.mark.usefixtures("no_data_folder")
def test_downloads_are_found_without_the_variable(cache: Path, toy_card: DatasetCard) -> None:
    cache.mkdir()
    (cache / "toys.mat").touch()
    assert find_file(toy_card) == cache / "toys.mat"


def test_downloads_are_found_when_the_named_folder_lacks_the_file(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, toy_card: DatasetCard
) -> None:
    cache.mkdir()
    (cache / "toys.mat").touch()
    monkeypatch.setenv("DISAMBIG_DATA", str(tmp_path / "no such folder"))
    assert find_file(toy_card) == cache / "toys.mat"


def test_a_given_folder_is_the_only_one_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy_card: DatasetCard
) -> None:
    (tmp_path / "toys.mat").touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("DISAMBIG_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match=f"{re.escape(str(tmp_path / 'empty'))}\\. Get"):
        find_file(toy_card, tmp_path / "empty")


def test_a_missing_file_is_met_with_all_there_is_to_know(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, toy_card: DatasetCard
) -> None:
    monkeypatch.setenv("DISAMBIG_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError) as caught:
        find_file(toy_card)
    assert str(caught.value) == (
        "Toy faces needs its file, toy_faces.mat or a usual spelling of it. "
        f"Found none in {tmp_path} or {cache}. Get it by 'disambig fetch toy_faces', or from "
        "http://toys.example/page.htm, and set DISAMBIG_DATA to the folder that holds it. "
        "Licence: For play only"
    )


@pytest.mark.usefixtures("no_data_folder")
def test_an_empty_variable_names_no_folder(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, toy_card: DatasetCard
) -> None:
    monkeypatch.setenv("DISAMBIG_DATA", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toys.mat").touch()
    with pytest.raises(DatasetNotFoundError, match=f"Found none in {re.escape(str(cache))}"):
        find_file(toy_card)


def test_a_missing_file_is_a_file_not_found_error() -> None:
    assert issubclass(DatasetNotFoundError, FileNotFoundError)


def test_downloads_are_kept_in_the_users_cache(cache: Path) -> None:
    assert cache_folder() == cache


def test_of_two_spellings_the_known_file_is_taken(tmp_path: Path, toy_card: DatasetCard) -> None:
    (tmp_path / "Toy Faces.mat").write_bytes(b"somebody else's")
    (tmp_path / "toy_faces.mat").write_bytes(b"the known one")
    (tmp_path / "Toys.mat").mkdir()
    known = replace(toy_card, hash=file_digest(b"the known one", "sha256"))
    assert find_file(known, tmp_path) == tmp_path / "toy_faces.mat"
    # Where neither is, the first is as good as the other.
    assert find_file(toy_card, tmp_path) == tmp_path / "Toy Faces.mat"


def test_a_home_folder_in_the_variable_is_understood(
    tmp_path: Path, toy_card: DatasetCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toys.mat").touch()
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("DISAMBIG_DATA", f"~/{tmp_path.name}")
    assert find_file(toy_card) == tmp_path / "toys.mat"


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
    """What a download asks of a progress bar."""

    def __init__(self) -> None:
        self.total = 0
        self.counted = 0

    def update(self, advance: int) -> None:
        self.counted += advance

    def reset(self) -> None:
        self.counted = 0


@pytest.mark.parametrize("name", ["glass", "Abalone"])
def test_an_embedded_dataset_has_nothing_to_download(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        ParameterError, match=rf"cannot be downloaded\. Use load_dataset\('{name.lower()}'\)"
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


def test_a_damaged_file_in_the_cache_is_replaced(
    server: Any, cache: Path, known_toy: DatasetCard, toy_file: bytes
) -> None:
    cache.mkdir()
    (cache / "toy_faces.mat").write_bytes(toy_file[:50])
    path = fetch_dataset(known_toy, url=server.put("/faces.mat", toy_file))
    assert path == cache / "toy_faces.mat"
    assert path.read_bytes() == toy_file


def test_another_file_in_a_folder_of_ones_own_is_refused(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes
) -> None:
    (tmp_path / "toy_faces.mat").write_bytes(b"mine")
    address = server.put("/faces.mat", toy_file)
    with pytest.raises(ParameterError, match=r"toy_faces\.mat already exists.* move it away"):
        fetch_dataset(known_toy, folder=tmp_path, url=address)
    assert (tmp_path / "toy_faces.mat").read_bytes() == b"mine"
    assert server.asked_for == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_full_disk_is_not_the_fault_of_the_address(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes, monkeypatch: Any
) -> None:
    opened = Path.open

    def open_full(path: Path, mode: str = "r", *arguments: Any, **more: Any) -> Any:
        return opened(Path("/dev/full") if "w" in mode else path, mode, *arguments, **more)

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(OSError, match="No space left") as caught:
        fetch_dataset(known_toy, folder=tmp_path, url=server.put("/faces.mat", toy_file))
    assert caught.value.filename == str(tmp_path / "toy_faces.mat")
    assert list(tmp_path.iterdir()) == []


def test_wrong_content_is_refused_and_nothing_is_kept(server: Any, tmp_path: Path) -> None:
    address = server.put("/lost.mat", b"<html>Moved</html>")
    with pytest.raises(
        DownloadError,
        match=rf"{address}: What came is not the known file\. Needed {find_card('lost').hash}, got "
        rf"sha256:\w+\. Nothing was kept\.\nTry another address: --url .* by hand from {PAGE}, and",
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


def test_refused_content_leaves_an_existing_file_as_it_was(server: Any, cache: Path) -> None:
    cache.mkdir()
    (cache / "lost.mat").write_bytes(b"mine")
    address = server.put("/lost.mat", b"theirs")
    with pytest.raises(DownloadError, match="Nothing was kept"):
        fetch_dataset("lost", url=address)
    assert [path.read_bytes() for path in cache.iterdir()] == [b"mine"]


def test_a_second_try_asks_the_server_again(server: Any, tmp_path: Path) -> None:
    address = server.put("/lost.mat", b"other")
    for _ in range(2):
        with pytest.raises(DownloadError, match="is not the known file"):
            fetch_dataset("lost", folder=tmp_path, url=address)
    assert server.asked_for == ["/lost.mat", "/lost.mat"]


def test_a_page_that_is_not_there_names_where_to_get_the_file_by_hand(
    server: Any, tmp_path: Path
) -> None:
    address = server.address("/gone")
    with pytest.raises(
        DownloadError,
        match=rf"could not be downloaded\.\n{address}: the server answered 404 Not Found\.\nTry "
        rf"another address: --url .* get the file by hand from {PAGE}, and set DISAMBIG_DATA",
    ):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_connection_names_where_to_get_the_file_by_hand(
    refusing_address: str, tmp_path: Path
) -> None:
    with pytest.raises(
        DownloadError,
        match=rf"{refusing_address}: \[Errno \d+\] Connection refused\.\nTry .* from {PAGE}, ",
    ):
        fetch_dataset("lost", folder=tmp_path, url=refusing_address)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_is_refused_and_nothing_is_kept(
    server: Any, tmp_path: Path
) -> None:
    address = server.put("/lost.mat", b"the first half")
    server.claimed_lengths["/lost.mat"] = 28
    with pytest.raises(DownloadError, match="it broke off after 14 of 28 bytes"):
        fetch_dataset("lost", folder=tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["lost", "file:///etc/hosts", "ftp://127.0.0.1/x", "doi:10.1/x"])
def test_an_address_of_another_kind_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="an address begins with http:// or https://"):
        fetch_dataset("lost", folder=tmp_path, url=url)


def test_addresses_are_tried_in_their_order_until_one_has_the_file(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes
) -> None:
    server.put("/2", b"<html>Moved</html>")
    server.put("/3", toy_file)
    urls = tuple(map(server.address, ("/1", "/2", "/3", "/4")))
    path = fetch_dataset(replace(known_toy, urls=urls), folder=tmp_path)
    assert path.read_bytes() == toy_file
    assert server.asked_for == ["/1", "/2", "/3"]
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_tried_and_why_each_failed_is_said_in_one_error(
    server: Any, tmp_path: Path, known_toy: DatasetCard
) -> None:
    urls = (server.address("/1"), server.put("/2", b"other"), "file:///etc/hosts")
    with pytest.raises(DownloadError) as caught:
        fetch_dataset(replace(known_toy, urls=urls), folder=tmp_path)
    title, *reasons, advice = str(caught.value).splitlines()
    assert title == "Toy faces could not be downloaded."
    assert [reason.split(": ")[0] for reason in reasons] == list(urls)
    for reason, why in zip(reasons, ("404", "known file", "begins with http"), strict=True):
        assert why in reason
    assert "http://toys.example/page.htm" in advice
    assert list(tmp_path.iterdir()) == []


def test_the_size_of_the_archive_is_the_limit_where_it_is_known(
    server: Any, tmp_path: Path, known_toy: DatasetCard, toy_file: bytes, monkeypatch
) -> None:
    monkeypatch.setattr(download, "_SPARE", 10)
    address = server.put("/faces.mat", toy_file)
    card = replace(known_toy, urls=(address,), archive_size=len(toy_file) - 11)
    most = len(toy_file) - 1
    with pytest.raises(DownloadError, match=f"at most {most:,} bytes are taken from there"):
        fetch_dataset(card, folder=tmp_path)
    card = replace(card, archive_size=len(toy_file) - 10)
    assert fetch_dataset(card, folder=tmp_path).read_bytes() == toy_file


def test_another_address_has_a_limit_too(
    server: Any, tmp_path: Path, known_toy: DatasetCard
) -> None:
    address = server.put("/faces.mat", b"")
    server.claimed_lengths["/faces.mat"] = 10**9
    match = "claims to have 1,000,000,000 bytes, and at most 100,000,000 bytes are taken"
    with pytest.raises(DownloadError, match=match):
        fetch_dataset(known_toy, folder=tmp_path, url=address)


def test_of_two_hashes_both_must_agree(
    server: Any, tmp_path: Path, toy_card: DatasetCard, toy_file: bytes
) -> None:
    address = server.put("/faces.mat", toy_file)
    old, new = (file_digest(toy_file, kind) for kind in ("git-blob", "sha256"))
    for known in (f"{old} sha256:00", f"git-blob:00 {new}"):
        with pytest.raises(DownloadError, match="Needed (sha256|git-blob):00, got"):
            fetch_dataset(replace(toy_card, hash=known), folder=tmp_path, url=address)
    card = replace(toy_card, hash=f"{old} {new}")
    assert fetch_dataset(card, folder=tmp_path, url=address).read_bytes() == toy_file


def test_without_a_program_that_unpacks_a_rar_nothing_is_downloaded(
    server: Any, tmp_path: Path, known_toy: DatasetCard, no_programs: None
) -> None:
    address = server.put("/Toy%20Faces.RAR?now", b"")
    with pytest.raises(DownloadError) as caught:
        fetch_dataset(known_toy, folder=tmp_path / "new", url=address)
    for line in ("sudo apt install unar", "brew install unar", "winget install 7zip.7zip"):
        assert line in str(caught.value)
    assert server.asked_for == []
    assert not (tmp_path / "new").exists()


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
    assert (progress.total, progress.counted) == (5000, 5000)


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
def test_who_reads_the_old_file_meanwhile_never_sees_half_of_the_new_one(
    server: Any, cache: Path, lost: bytes
) -> None:
    cache.mkdir()
    (cache / "lost.mat").write_bytes(b"damaged")
    with (cache / "lost.mat").open("rb") as reader:
        fetch_dataset("lost", url=server.put("/lost.mat", lost))
        assert reader.read() == b"damaged"
    assert [path.name for path in cache.iterdir()] == ["lost.mat"]


def test_a_download_without_its_library_says_what_to_install(
    toy_card: DatasetCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rarfile", None)
    message = r"This needs rarfile, .* Install it: pip install 'disambig\[fetch\]'\."
    with pytest.raises(MissingExtraError, match=message):
        fetch_dataset(toy_card, folder=tmp_path, url="http://localhost:1/toy")
    assert list(tmp_path.iterdir()) == []


def test_downloads_are_found_without_the_libraries_that_made_them(
    toy_card: DatasetCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rarfile", None)
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    file = cache_folder() / f"{toy_card.name}.mat"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    assert find_file(toy_card) == file
