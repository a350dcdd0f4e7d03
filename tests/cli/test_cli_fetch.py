"""``disambig fetch`` shows the licence, downloads, and says what went wrong."""

import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

import disambig.datasets.card
from disambig._core.errors import DownloadError, MissingExtraError, ParameterError
from disambig._core.fingerprint import file_digest
from disambig.datasets.card import find_card

Invoke = Callable[..., Result]
RunCommand = Callable[..., subprocess.CompletedProcess[str]]


def test_the_licence_and_the_paper_are_shown_before_anything_happens(
    invoke: Invoke, address: str
) -> None:
    card = find_card("lost")
    result = invoke("fetch", "lost", "--url", f"{address}/gone")
    assert result.output.splitlines()[:3] == [
        card.title,
        f"Licence: {card.licence}",
        f"Cite: {card.citation}",
    ]
    assert isinstance(result.exception, DownloadError)


def test_a_page_that_is_not_there_is_a_failure_not_bad_input(
    run_command: RunCommand, address: str, tmp_path: Path
) -> None:
    result = run_command("fetch", "lost", "--folder", str(tmp_path), "--url", f"{address}/gone")
    assert result.returncode == 1
    assert f"{address}/gone: the server answered 404" in result.stderr
    assert find_card("lost").source in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_refused_connection_is_a_failure(run_command: RunCommand) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/lost.mat"
    result = run_command("fetch", "lost", "--url", url)
    assert result.returncode == 1
    assert f"{url}: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("file_name", ["lost.mat", "unsized.mat"])
def test_wrong_content_is_refused_and_nothing_is_kept(
    file_name: str, invoke: Invoke, address: str, served_folder: Path, cache: Path
) -> None:
    (served_folder / file_name).write_bytes(bytes(5000))
    result = invoke("fetch", "lost", "--url", f"{address}/{file_name}")
    assert isinstance(result.exception, DownloadError)
    assert "The data is in" not in result.output
    assert list(cache.iterdir()) == []


def test_the_sha_256_of_a_file_known_by_an_older_hash_is_shown(
    invoke: Invoke, address: str, served_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (served_folder / "soccer.mat").write_bytes(b"content")
    old, new = (file_digest(b"content", kind) for kind in ("git-blob", "sha256"))
    seen = replace(find_card("soccer"), hash=old)
    monkeypatch.setattr(disambig.datasets.card, "find_card", lambda _: seen)
    result = invoke("fetch", "soccer", "--url", f"{address}/soccer.mat")
    assert result.exit_code == 0
    assert f"matches {old}. Its SHA-256, which was not known before: {new}" in result.output
    seen = replace(seen, hash=f"{old} {new}")
    assert "not known so far" not in invoke("fetch", "soccer").output


def test_embedded_data_needs_no_download(invoke: Invoke) -> None:
    result = invoke("fetch", "glass")
    assert isinstance(result.exception, ParameterError)
    assert "Use load_dataset('glass')" in str(result.exception)


@pytest.mark.realdata
def test_a_download_ends_in_the_given_folder(
    run_command: RunCommand, address: str, served_folder: Path, tmp_path: Path
) -> None:
    content = (Path(os.environ["DISAMBIG_DATA"]) / "lost.mat").read_bytes()
    with zipfile.ZipFile(served_folder / "lost.zip", "w") as archive:
        archive.writestr("Lost.mat", content)
    folder = tmp_path / "a folder [b]"
    result = run_command("fetch", "Lost", "--folder", str(folder), "--url", f"{address}/lost.zip")
    assert result.returncode == 0
    assert result.stdout.splitlines()[-2:] == ["The data is in", str(folder / "lost.mat")]
    assert f"  data = load_dataset('lost', folder={str(folder)!r})" in result.stderr.splitlines()
    assert [path.read_bytes() for path in folder.iterdir()] == [content]


@pytest.mark.realdata
def test_a_file_that_is_there_is_not_downloaded_again(
    invoke: Invoke, address: str, tmp_path: Path
) -> None:
    content = (Path(os.environ["DISAMBIG_DATA"]) / "lost.mat").read_bytes()
    (tmp_path / "lost.mat").write_bytes(content)
    result = invoke("fetch", "lost", "--folder", str(tmp_path), "--url", f"{address}/gone")
    assert result.exit_code == 0
    assert "The data is in" in result.output


def test_without_the_extra_it_says_what_to_install(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rarfile", None)
    result = invoke("fetch", "lost", "--folder", str(tmp_path))
    assert isinstance(result.exception, MissingExtraError)
    assert "pip install 'disambig[fetch]'" in str(result.exception)
