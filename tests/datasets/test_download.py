"""Dataset files are found, downloaded, unpacked and checked."""

import contextlib
import io
import logging
import os
import random
import re
import socket
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pytest
import rarfile
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

from disambig._core.errors import (
    DatasetNotFoundError,
    DownloadError,
    MissingExtraError,
    ParameterError,
)
from disambig._core.fingerprint import file_digest
from disambig.datasets import fetch_dataset, load_dataset
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.download import cache_folder, extract_mat, find_file


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


CONTENT = random.Random(0).randbytes(400)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "toy.download"


def test_a_bare_file_is_taken_as_it_is(archive: Path, toy_card: DatasetCard) -> None:
    archive.write_bytes(CONTENT)
    assert extract_mat(archive, toy_card) == CONTENT


def test_the_only_file_is_taken_out_whatever_its_name(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"readme.txt": b"hello", "data/x.MAT": CONTENT}))
    assert extract_mat(archive, toy_card) == CONTENT


def test_the_hand_written_rar_is_one_to_rarfile(
    archive: Path, make_archive: MakeArchive, request: pytest.FixtureRequest
) -> None:
    archive.write_bytes(make_archive({"a.mat": CONTENT, "b.txt": b"b"}))
    assert rarfile.is_rarfile(archive) == ("rar" in request.node.callspec.id)
    assert zipfile.is_zipfile(archive) == ("zip" in request.node.callspec.id)


def test_of_several_files_the_one_with_the_name_of_the_dataset_is_taken(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"a.mat": b"a", "Toy Faces.mat": CONTENT, "b.mat": b"b"}))
    assert extract_mat(archive, toy_card) == CONTENT


def test_several_files_of_other_names_are_refused_and_listed(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"a.mat": b"a", "b.mat": b"b"}))
    with pytest.raises(
        DownloadError, match=r"should hold one file toy_faces\.mat\. It holds a\.mat, b\.mat\."
    ):
        extract_mat(archive, toy_card)


def test_two_files_with_the_name_of_the_dataset_are_refused(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"old/toys.mat": b"a", "new/toys.mat": b"b"}))
    with pytest.raises(DownloadError, match=r"It holds old/toys\.mat, new/toys\.mat\."):
        extract_mat(archive, toy_card)


def test_an_archive_without_a_mat_file_is_refused(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"readme.txt": b"hello"}))
    with pytest.raises(DownloadError, match=r"It holds readme\.txt\."):
        extract_mat(archive, toy_card)


def test_an_empty_archive_is_refused(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({}))
    with pytest.raises(DownloadError, match="It holds nothing"):
        extract_mat(archive, toy_card)


@pytest.mark.parametrize("name", ["../../evil.mat", "/evil.mat", "..\\evil.mat"])
def test_a_hostile_name_is_read_but_never_written(
    name: str, tmp_path: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    (folder / "toy.download").write_bytes(make_archive({name: CONTENT}))
    before = sorted(tmp_path.rglob("*"))
    assert extract_mat(folder / "toy.download", toy_card) == CONTENT
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/evil.mat").exists()


def test_a_damaged_member_is_refused(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    content = bytearray(make_archive({"toys.mat": CONTENT}))
    content[80] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(DownloadError, match=r"archive of Toy faces could not be unpacked: "):
        extract_mat(archive, toy_card)


def test_a_locked_zip_is_refused(archive: Path, toy_card: DatasetCard) -> None:
    archive.write_bytes(_locked_zip())
    with pytest.raises(DownloadError, match=r"could not be unpacked: .*password required"):
        extract_mat(archive, toy_card)


def _locked_zip() -> bytes:
    """Return a ZIP that claims to be encrypted; the standard library cannot write real ones."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("toys.mat", CONTENT)
    content = bytearray(buffer.getvalue())
    content[6] |= 1  # the flags in front of the member
    content[content.index(b"PK\x01\x02") + 8] |= 1  # and those in the directory
    return bytes(content)


@given(
    st.sampled_from(
        [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    ),
    st.integers(0, 599),
    st.integers(1, 255),
)
def test_a_damaged_zip_gives_bytes_or_our_error_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, compression: int, position: int, change: int
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        file.writestr("lost.mat", CONTENT)
    content = bytearray(buffer.getvalue())
    content[position % len(content)] ^= change
    archive = tmp_path_factory.mktemp("damaged") / "lost.download"
    archive.write_bytes(content)
    with contextlib.suppress(DownloadError):
        assert extract_mat(archive, find_card("lost")) in (CONTENT, bytes(content))


@pytest.fixture
def _no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Hide every program, and have rarfile look again before and after."""
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        _forget_program()
        yield
    _forget_program()


def _forget_program() -> None:
    with contextlib.suppress(rarfile.RarCannotExec):
        rarfile.tool_setup(force=True)


@pytest.mark.usefixtures("_no_programs")
def test_a_compressed_rar_without_a_program_to_unpack_it_names_some(
    archive: Path, toy_card: DatasetCard, compressed_rar: bytes
) -> None:
    archive.write_bytes(compressed_rar)
    with pytest.raises(
        DownloadError,
        match=r"one of the programs unrar, unar, bsdtar or 7z\. Install one and try "
        r"again, or get and unpack it by hand from http://toys\.example/page\.htm\.",
    ):
        extract_mat(archive, toy_card)


def test_a_member_that_would_fill_the_memory_is_refused(
    archive: Path, toy_card: DatasetCard
) -> None:
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("toys.mat", CONTENT)
    buffer = bytearray(archive.read_bytes())
    # The size after unpacking, in the central directory.
    entry = buffer.index(b"PK\x01\x02")
    buffer[entry + 24 : entry + 28] = (2**30 + 1).to_bytes(4, "little")
    archive.write_bytes(buffer)
    with pytest.raises(DownloadError, match="would unpack to 1,073,741,825 bytes"):
        extract_mat(archive, toy_card)


def test_what_macos_adds_to_an_archive_is_overlooked(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"toys.mat": CONTENT, "__MACOSX/._toys.mat": b"icons"}))
    assert extract_mat(archive, toy_card) == CONTENT


@pytest.mark.parametrize("name", ["pooch", "rarfile"])
def test_a_download_without_its_libraries_says_what_to_install(
    name: str, toy_card: DatasetCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    message = rf"This needs {name}, .* Install it: pip install 'disambig\[fetch\]'\."
    with pytest.raises(MissingExtraError, match=message):
        fetch_dataset(toy_card, folder=tmp_path, url="http://localhost:1/toy")
    assert list(tmp_path.iterdir()) == []


def test_downloads_are_found_without_the_libraries_that_made_them(
    toy_card: DatasetCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    file = cache_folder() / f"{toy_card.name}.mat"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    assert find_file(toy_card) == file
