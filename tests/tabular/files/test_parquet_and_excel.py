"""Parquet and Excel keep the types of their cells, and no row and no column is lost."""

import datetime
import sys

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from disambig._core.errors import MissingExtraError, TableError
from disambig.tabular.files.formats import read_table


@pytest.fixture
def read_parquet(tmp_path):
    def write_and_read(content):
        path = tmp_path / "year=2020" / "toys.parquet"
        path.parent.mkdir()
        if isinstance(content, pd.DataFrame):
            content.to_parquet(path)
        else:
            pq.write_table(content, path)
        return read_table(path)

    return write_and_read


def test_parquet_keeps_types_and_lists(read_parquet):
    table = pa.table(
        {
            "count": pa.array([1, None, 2**62 + 1]),
            "size": pa.array([0.5, None, 1.0]),
            "name": ["x", None, "007"],
            "label": [["cat", "dog"], ["dog"], None],
            "nested": [[["a"]], [], None],
            "votes": [{"cat": 1}, {"cat": 2}, None],
        }
    )
    frame = read_parquet(table)
    assert list(frame.columns) == ["count", "size", "name", "label", "nested", "votes"]
    assert frame["count"].tolist() == [1, None, 2**62 + 1]
    assert frame["size"].dtype == "float64"
    assert frame["name"].tolist()[::2] == ["x", "007"]
    assert frame["label"].tolist() == [["cat", "dog"], ["dog"], None]
    assert frame["nested"].tolist() == [[["a"]], [], None]
    assert frame["votes"].tolist() == [{"cat": 1}, {"cat": 2}, None]


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        (pd.Index(["p", "q"], name="file"), ["file", "a"]),
        (pd.RangeIndex(5, 7, name="id"), ["id", "a"]),
        (pd.Index(["p", "q"]), ["index", "a"]),
        (pd.Index([7, 3]), ["a"]),
        (pd.MultiIndex.from_tuples([(1, 2), (1, 3)], names=["x", "y"]), ["x", "y", "a"]),
    ],
)
def test_names_of_rows_become_columns_unless_they_only_count(read_parquet, index, columns):
    frame = read_parquet(pd.DataFrame({"a": [1, 2]}, index=index))
    assert list(frame.columns) == columns
    assert frame.index.tolist() == [0, 1]
    assert frame["a"].tolist() == [1, 2]


def test_columns_of_parquet_need_different_names(read_parquet):
    with pytest.raises(TableError, match="Columns 1 and 2 are both called 'a'"):
        read_parquet(pa.Table.from_arrays([pa.array([1]), pa.array([["x"]])], names=["a", "a"]))


def test_a_parquet_without_rows_is_refused(read_parquet):
    with pytest.raises(TableError, match=r"toys\.parquet needs at least one row"):
        read_parquet(pa.table({"a": pa.array([], pa.int64())}))


@pytest.fixture
def read_excel(tmp_path):
    def write_and_read(rows):
        path = tmp_path / "toys.xlsx"
        workbook = openpyxl.Workbook()
        for row in rows:
            workbook.active.append(row)
        workbook.create_sheet("second").append(["other"])
        workbook.save(path)
        message = "Only the first sheet of .*toys.xlsx, 'Sheet', is read. Left out: 'second'."
        with pytest.warns(UserWarning, match=message):
            return read_table(path)

    return write_and_read


def test_cells_of_the_first_sheet_keep_their_types(read_excel):
    day = datetime.datetime(2024, 5, 1)
    frame = read_excel([["a", 2020, "c"], [1, "007", True], [1.5, None, day]])
    assert list(frame.columns) == ["a", "2020", "c"]
    assert (frame.dtypes == "object").all()
    assert frame.to_numpy().tolist() == [[1, "007", True], [1.5, None, day]]


def test_empty_rows_and_columns_of_a_sheet_are_none(read_excel):
    frame = read_excel([[], ["a", "b", None], [], [None, "x", None], [1], [None, None], [""]])
    assert frame.to_numpy().tolist() == [[None, "x"], [1, None]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], r"toys\.xlsx needs a header and rows\. Its first sheet is empty"),
        ([["a", "b"]], r"toys\.xlsx needs at least one row"),
        ([["a", None, "b"], [1, 2, 3]], "Column 2 of 3 has none"),
        ([["My toys"], [], ["a", "b"], [1, 2]], "line 1, .* If 'My toys' is a title, take its"),
        (
            [["a", "b"], [1, 2], [1, 2, 3]],
            "Line 3 .* cell in column 3, and the header, line 1, ends in column 2",
        ),
        ([[1, "1"], [1, 2]], "Columns 1 and 2 are both called '1'"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(read_excel, rows, message):
    with pytest.raises(TableError, match=message):
        read_excel(rows)


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [("pyarrow", ".parquet", "parquet"), ("openpyxl", ".xlsx", "excel")],
)
def test_a_missing_library_is_told_with_the_extra_that_brings_it(
    module, suffix, extra, tmp_path, monkeypatch
):
    path = tmp_path / f"toys{suffix}"
    path.touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"disambig\[{extra}\]"):
        read_table(path)
