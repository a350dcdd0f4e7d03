"""JSON and TOML of anybody: read, or refused with the reason, whatever is in them."""

import os
import tracemalloc
from pathlib import Path

import pytest

from disambig._core.parsing import DEEPEST, parse_json, parse_toml, read_small_file


class RefusedError(ValueError):
    """The error of a caller; those of ours are errors that Python raises too."""


def nested(depth):
    return "[" * depth + "]" * depth


def test_json_is_read():
    assert parse_json(b'\xef\xbb\xbf{"a": [1, 2.5, null, "\xc3\xa4"]}', RefusedError) == {
        "a": [1, 2.5, None, "ä"]
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "lists and tables in it lie more than 64 deep"),
        (nested(DEEPEST + 2), "lists and tables in it lie more than 64 deep"),
        ('{"a":' * 500 + "1" + "}" * 500, "lists and tables in it lie more than 64 deep"),
        ("1" * 5_000, "it is not JSON: .*4300 digits"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' is there twice"),
        ("", "it is not JSON"),
        (b'"\xff"', "byte 2 is not text in UTF-8"),
    ],
)
def test_json_that_cannot_be_read_is_refused_by_the_error_of_the_caller(text, reason):
    with pytest.raises(RefusedError, match=f"^(it is not [A-Z]+: )?{reason}"):
        parse_json(text, RefusedError)


def test_what_is_as_deep_as_allowed_is_read():
    assert parse_json(nested(DEEPEST), RefusedError)
    assert parse_toml(f"a = {nested(DEEPEST - 1)}", RefusedError)
    assert parse_toml(".".join("a" * DEEPEST) + " = 1", RefusedError)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = " + "[" * 1_000, "lists and tables in it lie more than 64 deep"),
        ("a = " + nested(DEEPEST + 1), "lists and tables in it lie more than 64 deep"),
        (".".join("a" * 1_000) + " = 1", "a key in it has more than 64 parts"),
        (".".join("a" * 100_000) + " = 1", "a key in it has more than 64 parts"),
        ("[" + " . ".join(['"a.b"'] * 100) + "]", "a key in it has more than 64 parts"),
        ("x = { " + ".".join("a" * 100) + " = 1 }", "a key in it has more than 64 parts"),
        # Two keys, each short enough, and deeper than allowed together.
        (
            "[" + ".".join("a" * 40) + "]\n" + ".".join("b" * 40) + " = 1",
            "lists and tables in it lie more than 64 deep",
        ),
        ("a = " + "1" * 5_000, "it is not TOML: .*4300 digits"),
        ("a = 1\na = 2", "it is not TOML: Cannot overwrite a value"),
    ],
)
def test_toml_that_cannot_be_read_is_refused_by_the_error_of_the_caller(text, reason):
    with pytest.raises(RefusedError, match=f"^(it is not [A-Z]+: )?{reason}"):
        parse_toml(text, RefusedError)


@pytest.mark.parametrize(
    "text",
    [
        '"' + "a." * 200 + '"',
        "'" + "a." * 200 + "'",
        '"""\n' + "a." * 200 + '""""',
        "'''\n" + "a." * 200 + "'''",
        r'"\"' + "a." * 200 + '"',
        "[" + "0.5, " * 200 + "]",
        "1  # " + "a." * 200,
    ],
)
def test_dots_that_are_not_in_keys_are_not_counted(text):
    assert set(parse_toml(f"a = {text}\nb.c = 1.5", RefusedError)) == {"a", "b"}


def test_a_file_is_read_up_to_the_limit_and_not_beyond(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_small_file(path, RefusedError, largest=5) == b"12345"
    with pytest.raises(RefusedError, match="it has 5 bytes, and the limit is 4"):
        read_small_file(path, RefusedError, largest=4)
    with pytest.raises(FileNotFoundError):
        read_small_file(tmp_path / "gone", RefusedError, largest=5)


def test_a_small_file_takes_little_memory_whatever_the_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert read_small_file(path, RefusedError, largest=10**9) == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_meanwhile_is_read_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    opened = Path.open

    def grow_and_open(path, mode):
        with opened(path, "ab") as file:
            file.write(b"678")
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", grow_and_open)
    assert read_small_file(path, RefusedError, largest=8) == b"12345678"
    with pytest.raises(RefusedError, match="limit is 10"):
        read_small_file(path, RefusedError, largest=10)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_may_never_end_is_not_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, "/dev/zero"):
        with pytest.raises(
            RefusedError, match="^it is not a file, but a folder, a pipe or a device"
        ):
            read_small_file(path, RefusedError, largest=5)


def test_a_path_that_no_system_takes_is_refused():
    with pytest.raises(RefusedError, match="^it cannot be read"):
        read_small_file("a\0b", RefusedError, largest=5)


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", '{"a": Infinity}'])
def test_constants_that_json_does_not_have_are_read_unless_nobody_wants_them(text):
    parse_json(text, RefusedError)
    with pytest.raises(RefusedError, match="is not a value of JSON; write null where nothing is"):
        parse_json(text, RefusedError, constants=False)
