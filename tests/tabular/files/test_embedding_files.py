import pickle

import numpy as np
import pandas as pd
import pytest

from disambig import DisambigError
from disambig.tabular import read_embeddings

FRAME = pd.DataFrame({"item": ["a", "b", "c", "d"], "label": ["x", "y", "x|y", "x"]})
NUMBERS = np.random.default_rng(0).normal(size=(4, 3))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8", ">f4", ">i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_of_any_numbers_is_read_by_position(tmp_path, dtype, order):
    np.save(tmp_path / "e.npy", np.asarray(10 * NUMBERS, dtype=dtype, order=order))

    found = read_embeddings(tmp_path / "e.npy", FRAME)

    np.testing.assert_array_equal(found, (10 * NUMBERS).astype(dtype))
    assert found.dtype.isnative


def test_an_npy_file_stays_where_it_is(tmp_path):
    np.save(tmp_path / "e.npy", NUMBERS)

    found = read_embeddings(tmp_path / "e.npy", FRAME)

    assert isinstance(found, np.memmap)
    assert found.mode == "r"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("names", [("embeddings", "ids"), ("vectors", "rows")])
def test_an_archive_is_matched_by_identifiers(tmp_path, save, names):
    order = [2, 0, 3, 1]
    more = np.vstack([NUMBERS[order], [[9, 9, 9]]])
    save(tmp_path / "e.npz", **{names[0]: more, names[1]: np.array(["c", "a", "d", "b", "z"])})

    found = read_embeddings(tmp_path / "e.npz", FRAME, id="item")

    np.testing.assert_array_equal(found, NUMBERS)


def test_identifiers_are_compared_as_a_table_writes_them(tmp_path):
    np.savez(tmp_path / "e.npz", embeddings=NUMBERS[:3], ids=np.array([3, 1, 2]))
    frame = pd.DataFrame({"item": ["1", "2.0", " 3", "1"]})

    found = read_embeddings(tmp_path / "e.npz", frame, id="item")

    np.testing.assert_array_equal(found, NUMBERS[[1, 2, 0, 1]])


def test_an_archive_without_identifiers_goes_by_position(tmp_path):
    np.savez(tmp_path / "e.npz", NUMBERS)

    np.testing.assert_array_equal(read_embeddings(tmp_path / "e.npz", FRAME), NUMBERS)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (NUMBERS[0], r"have two dimensions. .* has the shape \(3,\)"),
        (NUMBERS[None], r"has the shape \(1, 4, 3\)"),
        (NUMBERS[:, :0], r"has the shape \(4, 0\)"),
        (NUMBERS[:3], "The table has 4 rows, and .* has 3"),
        (NUMBERS.astype(complex), "Embeddings are numbers"),
        (NUMBERS.astype(str), "Embeddings are numbers"),
        (np.array([["a"] * 3] * 4, dtype=object), r"never loaded: .*[^.]\. Write it"),
        (np.zeros(4, dtype=[("a", "f4")]), "Embeddings are numbers"),
        (np.where(np.eye(4, 3, -2) > 0, np.nan, NUMBERS), "finite.*2 rows, the first is row 3"),
        (np.where(np.eye(4, 3, 1) > 0, np.inf, NUMBERS), "finite.*2 rows, the first is row 1"),
        (np.where(np.eye(4, 3, -3) > 0, -1e301, NUMBERS), "finite.*row 4"),
    ],
)
def test_what_is_no_matrix_of_finite_numbers_is_refused(tmp_path, numbers, message):
    np.save(tmp_path / "e.npy", numbers, allow_pickle=True)

    with pytest.raises(DisambigError, match=message):
        read_embeddings(tmp_path / "e.npy", FRAME)


def test_every_row_is_looked_at_whatever_the_block(tmp_path, monkeypatch):
    monkeypatch.setattr("disambig.tabular.embeddings._NUMBERS_AT_A_TIME", 7)
    for row in range(4):
        numbers = NUMBERS.copy()
        numbers[row, 1] = np.nan
        np.save(tmp_path / "e.npy", numbers)
        with pytest.raises(DisambigError, match=f"are not: row {row + 1}"):
            read_embeddings(tmp_path / "e.npy", FRAME)


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ("abcd", {}, "Name the column of the table that has them: --id"),
        ("abce", {"id": "item"}, "none for 'd' in column 'item' .row 4"),
        ("abca", {"id": "item"}, "In 'ids' of .* that of row 4 is there twice: 'a'"),
        ("ab d", {"id": "item"}, "row 3 is empty"),
        ("abc", {"id": "item"}, "an identifier for each of its 4 embeddings. It has 3"),
        ("abcd", {"id": "itme"}, "no column 'itme'"),
    ],
)
def test_identifiers_that_do_not_fit_are_refused(tmp_path, ids, options, message):
    np.savez(tmp_path / "e.npz", embeddings=NUMBERS, ids=np.array(list(ids)))

    with pytest.raises(DisambigError, match=message):
        read_embeddings(tmp_path / "e.npz", FRAME, **options)


def test_python_objects_are_refused_without_advice_to_load_them(tmp_path):
    (tmp_path / "pickled.npy").write_bytes(pickle.dumps([1, 2]))
    np.savez(tmp_path / "named.npz", embeddings=NUMBERS, ids=np.array(list("abcd"), dtype=object))

    with pytest.raises(DisambigError, match="Write it by numpy.save") as caught:
        read_embeddings(tmp_path / "pickled.npy", FRAME)
    assert "allow_pickle" not in str(caught.value)
    with pytest.raises(DisambigError, match=r"'ids' holds Python objects.*ids.astype\(str\)"):
        read_embeddings(tmp_path / "named.npz", FRAME, id="item")


def test_names_that_may_be_identifiers_are_not_passed_over(tmp_path):
    path, files, years = tmp_path / "e.npz", np.array(list("dcba")), np.arange(4)
    np.savez(path, embeddings=NUMBERS, files=files, years=years)
    with pytest.raises(DisambigError, match="one dimension: files, years. Call the one .* ids"):
        read_embeddings(path, FRAME, id="item")

    np.savez(path, embeddings=NUMBERS, ids=files, years=years)
    np.testing.assert_array_equal(read_embeddings(path, FRAME, id="item"), NUMBERS[::-1])
    np.savez(path, embeddings=NUMBERS, weights=years, years=years)
    np.testing.assert_array_equal(read_embeddings(path, FRAME, id="item"), NUMBERS)


def test_an_archive_of_other_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "two.npz", a=NUMBERS, b=NUMBERS)
    np.savez(tmp_path / "none.npz", a=NUMBERS[0])

    for name in ("two", "none"):
        with pytest.raises(DisambigError, match="needs one array of two dimensions"):
            read_embeddings(tmp_path / f"{name}.npz", FRAME)


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_does(tmp_path):
    np.savez_compressed(tmp_path / "e.npz", embeddings=np.zeros((4, 3_000_000)))

    with pytest.raises(DisambigError, match="would take 96MB of memory. The limit is 10MB"):
        read_embeddings(tmp_path / "e.npz", FRAME, max_memory="10MB")


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_damaged_files_are_refused_or_read(tmp_path, suffix):
    path = tmp_path / f"e.{suffix}"
    (np.save if suffix == "npy" else np.savez)(path, NUMBERS)
    content = path.read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(content)
        for place in generator.integers(0, len(content), 3):
            damaged[place] = generator.integers(0, 256)
        path.write_bytes(damaged[: generator.integers(0, len(content) + 1)])
        try:
            found = read_embeddings(path, FRAME)
        except DisambigError:
            continue
        assert found.shape[0] == 4
        assert np.isfinite(found).all()
    with pytest.raises(DisambigError, match="There is no file"):
        read_embeddings(tmp_path / f"gone.{suffix}", FRAME)
