"""The file of a dataset is found under any of its usual names, in the usual folders."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from disambig._core.errors import DatasetNotFoundError
from disambig._core.fingerprint import file_digest
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.download import cache_folder, find_file


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
