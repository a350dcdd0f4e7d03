import dataclasses
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from disambig import read_table
from disambig._core.errors import TableError
from disambig.tabular import TableOnDisk
from disambig.tabular.files.formats import write_blocks

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def every_kind(n_rows: int = 60) -> pd.DataFrame:
    """Return a table with a column of every kind that Parquet has for us."""
    numbers = np.arange(n_rows)
    return pd.DataFrame(
        {
            "size": numbers * 1.5,
            "label": ["x|y", "z", None, "x"] * (n_rows // 4),
            "count": pd.array([1, None] * (n_rows // 2), dtype="Int64"),
            "day": pd.date_range("2020-01-01", periods=n_rows),
            "kind": pd.Categorical(["u", "v"] * (n_rows // 2)),
            "list": [[1, 2], [3]] * (n_rows // 2),
            "is": [True, None] * (n_rows // 2),
        }
    )


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Write the table in three files of small row groups, one of them in a folder below."""
    frame = every_kind()
    (tmp_path / "table" / "more").mkdir(parents=True)
    for number, name in enumerate(["a", "b", "more/c"]):
        part = frame.iloc[20 * number : 20 * number + 20]
        part.to_parquet(tmp_path / "table" / f"{name}.parquet", row_group_size=7, index=False)
    return tmp_path / "table"


def test_the_files_of_a_folder_are_one_table_in_the_order_of_their_names(parts: Path) -> None:
    pd.testing.assert_frame_equal(read_table(parts), every_kind(), check_dtype=False)


def test_columns_and_rows_are_those_of_the_file_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    every_kind().to_parquet(path, row_group_size=7)
    table, frame = TableOnDisk(path), read_table(path)
    assert list(table.columns) == list(frame.columns)
    assert len(table) == len(frame)
    pd.testing.assert_frame_equal(table.to_frame(), frame)
    for name in frame:
        cells = pd.Series(list(frame[name]), dtype=object).map(repr)
        read = pd.Series(list(table[name]), dtype=object).map(repr)
        assert (cells == read).all() or frame[name].isna().equals(table[name].isna())
    for start, block in table.blocks(["label", "size"], n_rows=25):
        expected = frame[["label", "size"]].iloc[start : start + 25].reset_index(drop=True)
        pd.testing.assert_frame_equal(block, expected)
    some = np.array([0, 1, 13, 14, 58])
    pd.testing.assert_frame_equal(
        table.take(some), frame.iloc[some].reset_index(drop=True), check_dtype=False
    )


def test_an_index_of_pandas_is_a_column_by_the_same_name_as_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    names = [f"r{number}" for number in range(60)]
    every_kind().set_index(pd.Index(names)).to_parquet(path, row_group_size=7)
    table = TableOnDisk(path)
    assert list(table.columns) == list(read_table(path).columns)
    assert table["index"].tolist() == names
    assert table.rows(58, 60, ["size", "index"])["index"].tolist() == names[58:]


def test_the_index_of_a_table_that_was_filtered_takes_the_place_of_no_column(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.parquet"
    every_kind()[["size", "label"]].iloc[[3, 4, 9, 20]].to_parquet(path)
    table, expected = TableOnDisk(path), read_table(path)
    pd.testing.assert_frame_equal(table.to_frame(), expected)
    assert table["size"].tolist() == expected["size"].tolist()
    assert table["label"].dropna().tolist() == expected["label"].dropna().tolist()


def test_folders_called_by_a_value_are_a_column(tmp_path: Path) -> None:
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        part = pd.DataFrame({"size": [float(year), 1.0]})
        part.to_parquet(tmp_path / f"year={year}" / "part.parquet")
    table = TableOnDisk(tmp_path)
    assert table["year"].tolist() == [2020, 2020, 2021, 2021]
    assert read_table(tmp_path)["size"].tolist() == [2020, 1, 2021, 1]


def test_files_of_other_columns_or_kinds_are_refused_by_name(tmp_path: Path) -> None:
    pd.DataFrame({"size": [1.0]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"size": [1], "new": [2]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"same columns.*b\.parquet.*a\.parquet.*'new'"):
        TableOnDisk(tmp_path)
    pd.DataFrame({"size": ["tall"]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError, match="columns of the same kinds"):
        read_table(tmp_path)


def test_a_folder_without_parquet_and_a_damaged_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"folder without any"):
        read_table(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(TableError, match="damaged, or not a Parquet file"):
        TableOnDisk(tmp_path)
    whole = tmp_path / "whole.parquet"
    every_kind().to_parquet(whole, compression=None)
    content = bytearray(whole.read_bytes())
    content[4:40] = b"\xff" * 36
    (tmp_path / "a.parquet").write_bytes(content)
    whole.unlink()
    with pytest.raises(TableError):
        TableOnDisk(tmp_path).to_frame()


def test_text_that_is_not_utf8_is_refused_with_its_row_in_the_whole_table(tmp_path: Path) -> None:
    raw = pa.array([b"a"] * 29 + [b"\xff"] + [b"a"] * 10, type=pa.binary())
    bad = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    pq.write_table(pa.table({"label": bad}), tmp_path / "bad.parquet", row_group_size=8)
    with pytest.raises(TableError, match=r"'label'.*in row 30\."):
        TableOnDisk(tmp_path / "bad.parquet").to_frame()


def test_a_row_group_that_claims_more_rows_than_it_has_is_refused(tmp_path: Path) -> None:
    every_kind().to_parquet(tmp_path / "table.parquet", row_group_size=20)
    table = TableOnDisk(tmp_path / "table.parquet")
    starts = np.array([0, 20, 45, 65])
    table._pieces = dataclasses.replace(table._pieces, starts=starts)
    with pytest.raises(TableError, match="fewer rows than it claims"):
        table.to_frame()


def test_columns_of_one_name_are_refused_as_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["size", "size"]), path)
    with pytest.raises(TableError, match="Columns 1 and 2 are both called 'size'"):
        TableOnDisk(path)


def test_nested_cells_and_a_late_text_are_written_as_they_are(tmp_path: Path) -> None:
    cells = {
        "struct": pa.array([{"a": row, "b": "text"} for row in range(6)]),
        "map": pa.array([[("k", row)] for row in range(6)], pa.map_(pa.string(), pa.int64())),
        "nothing": pa.nulls(6),
    }
    path, copy = tmp_path / "table.parquet", tmp_path / "copy.parquet"
    pq.write_table(pa.table(cells), path)
    second = np.array([None] * 4 + ["cat", None], dtype=object)
    blocks = (
        block.assign(label_2=second[start : start + 2])
        for start, block in TableOnDisk(path).blocks(n_rows=2)
    )
    write_blocks(blocks, copy)
    expected = pq.read_table(path).append_column("label_2", pa.array(second, pa.string()))
    assert pq.read_table(copy).to_pydict() == expected.to_pydict()
    assert pq.read_schema(copy).types == expected.schema.types


def test_the_fingerprint_follows_the_files(parts: Path) -> None:
    before = TableOnDisk(parts).fingerprint
    assert TableOnDisk(parts).fingerprint == before
    every_kind(20).to_parquet(parts / "b.parquet", row_group_size=7, index=False)
    changed = TableOnDisk(parts).fingerprint
    assert changed != before
    state = (parts / "b.parquet").stat()
    os.utime(parts / "b.parquet", ns=(state.st_atime_ns, state.st_mtime_ns))  # as tar does
    assert TableOnDisk(parts).fingerprint != changed


def test_a_text_that_fills_memory_by_being_in_many_rows_is_refused(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(np.zeros(300, dtype="int32"), ["x" * 10_000])
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    with pytest.raises(TableError, match="300 rows in 1 file .* 3.*MB of memory.* 1MB"):
        read_table(tmp_path, max_memory="1MB")


def test_a_folder_that_would_take_too_much_memory_is_refused(parts: Path) -> None:
    with pytest.raises(TableError, match="60 rows in 3 files .*--memory"):
        read_table(parts, max_memory=100)


def test_a_sample_has_runs_of_neighbours_from_all_parts(tmp_path: Path) -> None:
    pd.DataFrame({"size": np.arange(1000.0)}).to_parquet(tmp_path / "a.parquet")
    rows = TableOnDisk(tmp_path).sample(100, n_runs=5)
    assert rows.tolist() == [
        *range(20), *range(245, 265), *range(490, 510), *range(735, 755), *range(980, 1000)
    ]  # fmt: skip
