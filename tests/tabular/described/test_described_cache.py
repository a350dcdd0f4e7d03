import hashlib
import threading

import numpy as np
import pytest

from disambig import DisambigError
from disambig.tabular.described.described_cache import DescribedCache


class Lengths:
    """Describes a content by its length and a constant."""

    name, width, fingerprint = "lengths", 2, "1"

    def describe(self, contents):
        return [np.array([len(one), 7], dtype=np.float32) for one in contents]


class OtherLengths(Lengths):
    fingerprint = "2"


def described(*contents: bytes) -> dict[bytes, np.ndarray]:
    numbers = Lengths().describe(contents)
    return {hashlib.sha256(one).digest(): row for one, row in zip(contents, numbers, strict=True)}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        np.testing.assert_array_equal(found[key], row)


def test_what_was_kept_comes_back_and_more_is_added(tmp_path):
    folder = tmp_path / "table.csv.described"
    assert DescribedCache(folder, Lengths()).load() == {}
    assert not folder.exists()

    DescribedCache(folder, Lengths()).keep(described(b"a", b"bb"))
    DescribedCache(folder, Lengths()).keep(described(b"ccc"))

    assert_same(DescribedCache(folder, Lengths()).load(), described(b"a", b"bb", b"ccc"))


def test_other_weights_find_nothing(tmp_path):
    DescribedCache(tmp_path, Lengths()).keep(described(b"a"))

    assert DescribedCache(tmp_path, OtherLengths()).load() == {}


@pytest.mark.parametrize("place", [0, 20, -1, -9])
def test_a_damaged_file_counts_as_missing_and_is_written_again(tmp_path, place):
    cache = DescribedCache(tmp_path, Lengths())
    cache.keep(described(b"a", b"bb"))
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[place] ^= 0x55
    path.write_bytes(content)

    assert cache.load() == {}
    cache.keep(described(b"a", b"bb"))
    assert_same(cache.load(), described(b"a", b"bb"))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_cut_short_counts_as_missing(tmp_path):
    cache = DescribedCache(tmp_path, Lengths())
    cache.keep(described(b"a"))
    (path,) = tmp_path.iterdir()
    for length in (0, 8, 100, path.stat().st_size - 1):
        path.write_bytes(path.read_bytes()[:length])
        assert cache.load() == {}


def test_numbers_that_were_exchanged_are_not_taken_for_ours(tmp_path):
    ours, others = tmp_path / "ours", tmp_path / "others"
    DescribedCache(ours, Lengths()).keep(described(b"a"))
    DescribedCache(others, OtherLengths()).keep(described(b"a"))
    (path,) = ours.iterdir()
    (other,) = others.iterdir()
    path.write_bytes(other.read_bytes())

    assert DescribedCache(ours, Lengths()).load() == {}


def test_several_writers_do_not_disturb_each_other(tmp_path):
    contents = [bytes([number]) * number for number in range(40)]

    def write(some):
        for one in some:
            DescribedCache(tmp_path, Lengths()).keep(described(one))

    shares = [contents[start::3] + contents[:5] for start in range(3)]
    threads = [threading.Thread(target=write, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert_same(DescribedCache(tmp_path, Lengths()).load(), described(*contents))


def test_something_else_in_its_place_is_refused_and_left(tmp_path):
    (tmp_path / "table.csv.described").write_text("mine")

    with pytest.raises(DisambigError, match="there is something else"):
        DescribedCache(tmp_path / "table.csv.described", Lengths())

    assert (tmp_path / "table.csv.described").read_text() == "mine"


def test_files_of_others_in_the_folder_are_left(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    cache = DescribedCache(tmp_path, Lengths())

    cache.keep(described(b"a"))

    assert_same(cache.load(), described(b"a"))
    assert (tmp_path / "notes.txt").read_text() == "mine"
