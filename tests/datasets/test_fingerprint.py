"""A file is known by its SHA-256 or by the name git gives it."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import DisambigError, HashMismatchError
from disambig._core.fingerprint import check_fingerprint, fingerprint


def test_sha256_of_the_empty_file_is_the_published_one() -> None:
    assert fingerprint(b"", "sha256") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_git_blob_of_the_empty_file_is_the_published_one() -> None:
    assert fingerprint(b"", "git-blob") == "git-blob:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_blob_is_what_git_hash_object_says(tmp_path: Path) -> None:
    contents = [b"", b"one line\n", b"two\r\nlines\r\n", bytes(range(256)) * 300]
    for number, content in enumerate(contents):
        (tmp_path / f"{number}").write_bytes(content)
    names = [str(number) for number in range(len(contents))]
    answer = subprocess.run(
        ["git", "hash-object", "--no-filters", *names],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
    )
    expected = [f"git-blob:{digest}" for digest in answer.stdout.split()]
    assert [fingerprint(content, "git-blob") for content in contents] == expected


@given(st.binary(), st.sampled_from(["sha256", "git-blob"]))
def test_content_passes_the_check_against_its_own_fingerprint(content: bytes, kind: str) -> None:
    check_fingerprint(content, fingerprint(content, kind), "file.mat", "")


@given(st.binary(min_size=1), st.sampled_from(["sha256", "git-blob"]), st.data())
def test_one_changed_byte_is_noticed(content: bytes, kind: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(content) - 1))
    change = data.draw(st.integers(1, 255))
    damaged = bytearray(content)
    damaged[position] ^= change
    with pytest.raises(HashMismatchError):
        check_fingerprint(bytes(damaged), fingerprint(content, kind), "file.mat", "")


def test_mismatch_names_the_file_both_hashes_and_the_advice() -> None:
    found = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(
        HashMismatchError,
        match=rf"lost\.mat is not the known file\. Needed sha256:00, got sha256:{found}\. Go!",
    ):
        check_fingerprint(b"other", "sha256:00", Path("lost.mat"), "Go!")


def test_mismatch_is_a_value_error_and_one_of_ours() -> None:
    assert issubclass(HashMismatchError, ValueError)
    assert issubclass(HashMismatchError, DisambigError)
