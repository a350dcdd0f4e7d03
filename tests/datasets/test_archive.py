"""The file of a dataset is taken out of its archive, whatever else that is."""

import contextlib
import io
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import rarfile
from hypothesis import given
from hypothesis import strategies as st

from datasets.conftest import make_zip
from disambig._core.errors import DownloadError
from disambig.datasets.archive import extract_mat, largest_file
from disambig.datasets.card import DatasetCard, find_card

MakeArchive = Callable[[dict[str, bytes]], bytes]
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
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
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


@pytest.mark.usefixtures("no_programs")
def test_a_compressed_rar_without_a_program_to_unpack_it_names_some(
    archive: Path, toy_card: DatasetCard, compressed_rar: bytes
) -> None:
    archive.write_bytes(compressed_rar)
    with pytest.raises(
        DownloadError,
        match=r"Install one and try again: sudo apt install unar .*Or get and unpack it by hand "
        r"from http://toys\.example/page\.htm\.",
    ):
        extract_mat(archive, toy_card)


@pytest.mark.parametrize("claimed", [2_000_000, 2**30 + 1])
def test_a_member_that_would_fill_the_memory_is_refused(
    archive: Path, toy_card: DatasetCard, claimed: int
) -> None:
    content = bytearray(make_zip({"toys.mat": CONTENT}))
    # The size after unpacking, in the central directory.
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = claimed.to_bytes(4, "little")
    archive.write_bytes(content)
    most = largest_file(toy_card)
    match = rf"would have {claimed:,} bytes or more\. It has 3 rows .* at most {most:,} are allowed"
    with pytest.raises(DownloadError, match=match):
        extract_mat(archive, toy_card)


def test_a_bare_file_that_is_too_large_is_refused(archive: Path, toy_card: DatasetCard) -> None:
    with archive.open("wb") as file:
        file.truncate(largest_file(toy_card) + 1)
    with pytest.raises(DownloadError, match="at most 1,000,480 are allowed"):
        extract_mat(archive, toy_card)


@pytest.mark.parametrize(
    ("method", "refusal"),
    [(zipfile.ZIP_DEFLATED, "Bad CRC-32"), (zipfile.ZIP_BZIP2, "method other than Deflate")],
)
def test_a_size_that_is_not_true_takes_no_more_memory_than_allowed(
    archive: Path, toy_card: DatasetCard, method: int, refusal: str
) -> None:
    with (
        zipfile.ZipFile(archive, "w", method) as file,
        file.open("toys.mat", "w") as member,
    ):
        for _ in range(30):
            member.write(bytes(10**6))
    content = bytearray(archive.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (100_000).to_bytes(4, "little")
    archive.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(DownloadError, match=refusal):
            extract_mat(archive, toy_card)
        assert tracemalloc.get_traced_memory()[1] < 3 * 10**6
    finally:
        tracemalloc.stop()


def test_the_real_files_are_within_their_limits() -> None:
    sizes = {"lost": 936_096, "birdsong": 1_052_915, "msrcv2": 381_088}
    for name, size in sizes.items():
        assert size <= largest_file(find_card(name)) <= 8 * size + 10**6
    for name in ("soccer_player", "yahoo_news"):
        card = find_card(name)
        assert card.archive_size is not None
        assert card.archive_size <= largest_file(card) <= 8 * card.archive_size


def test_what_macos_adds_to_an_archive_is_overlooked(
    archive: Path, toy_card: DatasetCard, make_archive: MakeArchive
) -> None:
    archive.write_bytes(make_archive({"toys.mat": CONTENT, "__MACOSX/._toys.mat": b"icons"}))
    assert extract_mat(archive, toy_card) == CONTENT
