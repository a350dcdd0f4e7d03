"""Pictures are served from one folder, and nothing else of the disk is."""

import os
import socket
import stat
import unicodedata
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient

from disambig.web import picture_files
from disambig.web.pictures import Pictures, pictures_route
from tabular.reasons.hand_made_tables import table_of

EITHER = {"cat": 0.6, "dog": 0.4}
FORMATS = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def draw(path: Path, kind: str = "png") -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 3), "red").save(path, format=kind)
    return path.read_bytes()


@pytest.fixture(params=["step by step", "by the whole path"])
def folder(request, tmp_path, monkeypatch) -> Path:
    """Return the folder of a table, beside one that holds a secret; opened in both ways."""
    if request.param != "step by step":
        monkeypatch.setattr(picture_files, "_STEPS_INSIDE", False)
    draw(tmp_path / "elsewhere" / "secret.png")
    draw(tmp_path / "table" / "good.png")
    return tmp_path / "table"


def client_of(folder: Path, cells: list[str | None]) -> TestClient:
    """Return a client of a table whose first row names a good picture."""
    cells = ["good.png", *cells]
    values = {"scan": cells, "size": [str(number) for number in range(len(cells))]}
    table = table_of([EITHER] * len(cells), values, features={"image": ["scan"]})
    return TestClient(pictures_route(Pictures(table, folder)))


def asked(folder: Path, cell: str | None) -> tuple[int, bytes]:
    response = client_of(folder, [cell]).get("/picture?row=2&column=scan")
    if response.status_code != 200:
        assert response.headers["content-type"] == "application/json"
        assert set(response.json()) == {"error"}
    return response.status_code, response.content


@pytest.mark.parametrize("kind", FORMATS)
def test_a_picture_is_served_as_what_it_is_whatever_its_name_says(folder, kind):
    content = draw(folder / "photos" / "one.txt", kind)
    response = client_of(folder, ["photos/one.txt"]).get("/picture?row=2&column=scan")
    assert (response.status_code, response.content) == (200, content)
    assert response.headers["content-type"] == FORMATS[kind]


@pytest.mark.parametrize(
    "content",
    [
        SVG,
        b"<?xml version='1.0'?>" + SVG,
        b"<html><script>alert(1)</script></html>",
        b"BMW makes cars, and this text begins like a bitmap",
        b"RIFF\0\0\0\0WAVE",
        b"II*\0",
        b"GIF88a",
        b"\x89PNG",
        b"",
    ],
)
def test_what_is_no_picture_of_pixels_is_refused_whatever_its_name_says(folder, content):
    (folder / "evil.png").write_bytes(content)
    assert asked(folder, "evil.png")[0] == 403


def test_paths_out_of_the_folder_are_refused(folder):
    for cell in (
        "../elsewhere/secret.png",
        "photos/../../elsewhere/secret.png",
        "./../elsewhere/secret.png",
        "good.png/../../elsewhere/secret.png",
        "..\\elsewhere\\secret.png",
        str(folder.parent / "elsewhere" / "secret.png"),
        f"//{folder.parent}/elsewhere/secret.png",
        "/etc/passwd",
        "/dev/zero",
        "/proc/self/environ",
    ):
        assert asked(folder, cell)[0] == 403, cell


@pytest.mark.parametrize(
    "cell", ["", None, "nowhere.png", "a\0b.png", "x" * 5_000, "file:///etc/passwd", "\ud800.png"]
)
def test_names_of_no_file_are_not_found(folder, cell):
    assert asked(folder, cell)[0] == 404


def test_an_absolute_path_into_the_folder_is_served(folder):
    assert asked(folder, str(folder / "good.png"))[0] == 200


def test_the_folder_itself_may_be_reached_over_a_link(folder):
    link = folder.parent / "link"
    link.symlink_to(folder, target_is_directory=True)
    assert asked(link, "good.png")[0] == 200
    assert asked(link, str(link / "good.png"))[0] == 200


def test_links_are_followed_inside_the_folder_and_not_out_of_it(folder):
    (folder / "inside.png").symlink_to("good.png")
    (folder / "outside.png").symlink_to(folder.parent / "elsewhere" / "secret.png")
    (folder / "relative.png").symlink_to("../elsewhere/secret.png")
    (folder / "away").symlink_to(folder.parent / "elsewhere", target_is_directory=True)
    (folder / "chain.png").symlink_to("relative.png")
    (folder / "round.png").symlink_to("round.png")
    assert asked(folder, "inside.png")[0] == 200
    for cell in ("outside.png", "relative.png", "away/secret.png", "chain.png", "round.png"):
        assert asked(folder, cell)[0] == 403, cell


def test_a_link_that_is_put_there_in_between_is_not_followed(folder, monkeypatch):
    draw(folder / "photos" / "one.png")
    whole = picture_files._path_inside

    def looked_at_and_replaced(where: Path, cell: str) -> tuple[Path, list[str]]:
        found = whole(where, cell)
        swap(cell)
        return found

    def swap(cell: str) -> None:
        if cell == "photos/one.png":  # the file
            (folder / cell).unlink()
            (folder / cell).symlink_to(folder.parent / "elsewhere" / "secret.png")
        elif cell == "more/secret.png":  # a folder above it
            (folder / "more" / "secret.png").unlink()
            (folder / "more").rmdir()
            (folder / "more").symlink_to(folder.parent / "elsewhere", target_is_directory=True)

    draw(folder / "more" / "secret.png")
    monkeypatch.setattr(picture_files, "_path_inside", looked_at_and_replaced)
    assert asked(folder, "photos/one.png")[0] in (403, 404)
    assert asked(folder, "more/secret.png")[0] in (403, 404)


def test_folders_pipes_sockets_and_devices_are_refused_at_once(folder, monkeypatch):
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    assert asked(folder, "folder.png")[0] == 403
    assert asked(folder, "pipe.png")[0] == 403
    assert asked(folder, ".")[0] == 403
    monkeypatch.chdir(folder)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.png")
        assert asked(folder, "socket.png")[0] == 403
    (folder / "zero.png").symlink_to("/dev/zero")
    assert asked(folder, "zero.png")[0] == 403


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(folder, monkeypatch):
    path = folder / "late.png"
    draw(path)
    opened = os.open

    def replaced(name, flags, *more, **options):
        if os.fspath(name).endswith("late.png") and stat.S_ISREG(path.lstat().st_mode):
            path.unlink()
            os.mkfifo(path)
        return opened(name, flags, *more, **options)

    client = client_of(folder, ["late.png"])
    monkeypatch.setattr(picture_files.os, "open", replaced)
    assert client.get("/picture?row=2&column=scan").status_code == 403


def test_a_file_that_is_too_large_is_refused(folder, monkeypatch):
    content = draw(folder / "large.png")
    monkeypatch.setattr(picture_files, "_LARGEST", len(content))
    assert asked(folder, "large.png")[0] == 200
    monkeypatch.setattr(picture_files, "_LARGEST", len(content) - 1)
    client = client_of(folder, ["large.png"])
    assert client.get("/picture?row=2&column=scan").status_code in (403, 404)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(folder):
    draw(folder / "closed.png")
    (folder / "closed.png").chmod(0)
    assert asked(folder, "closed.png")[0] == 403


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)<.png",
        "ünï 日本 %2e%2e.png",
        "a'b\"c&d?e#f.png",
        "-rf.png",
        "new\nline.png",
        unicodedata.normalize("NFD", "é.png"),
        os.fsdecode(b"latin-\xe9.png"),
    ],
)
def test_files_of_odd_names_are_served(folder, name):
    draw(folder / name)
    assert asked(folder, name)[0] == 200


def test_paths_as_windows_writes_them_are_known(folder):
    draw(folder / "photos" / "one.png")
    assert asked(folder, "photos\\one.png")[0] == 200


@pytest.mark.parametrize(
    "address",
    [
        "/picture",
        "/picture?row=1",
        "/picture?column=scan",
        "/picture?row=0&column=scan",
        "/picture?row=3&column=scan",
        "/picture?row=-1&column=scan",
        "/picture?row=1&column=size",
        "/picture?row=1&column=nothing",
        "/picture?row=1&column=../good.png",
    ],
)
def test_rows_and_columns_that_are_not_there_are_not_found(folder, address):
    response = client_of(folder, [None]).get(address)
    assert response.status_code == 404
    assert set(response.json()) == {"error"}


def columns_of(folder: Path, values: dict[str, list[str]], **facts) -> list[str]:
    n_rows = len(next(iter(values.values())))
    return list(Pictures(table_of([EITHER] * n_rows, values, **facts), folder).columns)


def test_columns_are_found_by_names_of_files_that_are_there(folder):
    values = {
        "scan": ["good.png", "gone.jpg"],
        "gone": ["gone.png", "lost.png"],
        "address": ["https://example.org/good.png", "https://example.org/b.png"],
        "remark": ["see good.png", "good.png was better than that"],
        "outside": ["../elsewhere/secret.png", "../elsewhere/secret.png"],
        "label": ["good.png", "good.png"],
    }
    assert columns_of(folder, values, labels=["label"]) == ["scan"]
    assert columns_of(folder, values, labels=["label"], truth="scan") == []
    assert columns_of(folder, {"scan": ["", ""]}) == []


def test_a_column_that_was_learned_from_as_images_needs_no_suffix(folder):
    (folder / "good.png").rename(folder / "good")
    values = {"scan": ["good", "other"]}
    assert columns_of(folder, values) == []
    assert columns_of(folder, values, features={"image": ["scan"]}) == ["scan"]
