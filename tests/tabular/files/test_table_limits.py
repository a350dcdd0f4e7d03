"""What a small file would expand to is refused before it is expanded, and text is text."""

import json
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from disambig._core.errors import TableError
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.formats import read_table

_SHEET = "xl/worksheets/sheet1.xml"
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_HEADER = '<row r="1"><c r="A1"><v>1</v></c></row>'
_ROW = '<row r="2"><c r="A2"><v>7</v></c></row>'


@pytest.fixture
def workbook(tmp_path):
    """Return a function that writes a workbook whose parts are as given."""

    def write(rows: str = _HEADER + _ROW, *, after: str = "", **parts: str) -> Path:
        plain, path = tmp_path / "plain.xlsx", tmp_path / "toys.xlsx"
        made = openpyxl.Workbook()
        made.create_sheet("other")
        made.save(plain)
        sheet = f"<worksheet {_MAIN}><sheetData>{rows}</sheetData>{after}</worksheet>"
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                part = parts.get(Path(name).stem, old.read(name))
                new.writestr(name, sheet if name == _SHEET else part)
        return path

    return write


def test_other_sheets_are_not_unpacked(workbook):
    path = workbook(sheet2="<" * 50_000_000, theme1="not XML")
    assert read_table(path, max_memory="10MB").iloc[0, 0] == 7


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('<row r="2000000000"><c><v>1</v></c></row>', "a cell in row 2,000,000,000"),
        ('<row r="1_048_577"><c><v>1</v></c></row>', "a cell in row 1,048,577"),
        ('<row r="1048576"/><row><c><v>1</v></c></row>', "a cell in row 1,048,577"),
        ('<row><c r="XFE2"><v>1</v></c></row>', "a cell in column 16,385"),
        ('<x:row xmlns:x="x" r="1048577"/>', "a cell in row 1,048,577"),
    ],
)
def test_a_sheet_that_no_program_can_hold_is_refused(workbook, rows, message):
    with pytest.raises(TableError, match=message):
        read_table(workbook(_HEADER + rows))


@pytest.mark.parametrize(
    ("rows", "after"),
    [
        ("".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(2, 200)), ""),
        (f'<row><c t="inlineStr"><is><t>{"x" * 5_000_000}</t></is></c></row>', ""),
        (f"<row>{'<v/>' * 200_000}</row>", ""),
        (f"<row>{'<x/>' * 10_000}</row>", ""),
        ("", "<conditionalFormatting/>" * 10_000),
    ],
    ids=["last column", "long text", "many tags", "strange tags", "rules"],
)
def test_a_sheet_that_would_take_too_much_is_refused_before_it_is_read(workbook, rows, after):
    path = workbook(_HEADER + rows, after=after)
    with pytest.raises(TableError, match=r"The first sheet of .* The limit is 10MB"):
        read_table(path, max_memory="10MB")


def test_a_small_part_that_is_large_is_refused(workbook):
    path = workbook(styles=f"<styleSheet {_MAIN}>{' ' * 10**6}</styleSheet>")
    with pytest.raises(TableError, match=r"The part 'xl/styles.xml' of .* take 200MB"):
        read_table(path, max_memory="10MB")


def test_more_styles_than_a_spreadsheet_can_have_are_refused(workbook):
    fonts = "<fonts>" + "<font/>" * 500_000 + "</fonts>"
    path = workbook(styles=f"<styleSheet {_MAIN}>{fonts}</styleSheet>")
    with pytest.raises(
        TableError, match=r"500,000 tags in its part 'xl/styles.xml'.* It has 500,0"
    ):
        read_table(path)


def test_entities_and_endless_tags_are_refused(workbook):
    path = workbook()
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    long = b'r="2" x="%s"' % (b"x" * (1 << 21))
    for sheet, message in (
        (b'<!DOCTYPE a [<!ENTITY b "c">]>' + parts[_SHEET], "a document type"),
        (parts[_SHEET].replace(b'r="2"', long), "tag of as many bytes"),
    ):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name, part in (parts | {_SHEET: sheet}).items():
                new.writestr(name, part)
        with pytest.raises(TableError, match=message):
            read_table(path)


# ---- Parquet


@pytest.fixture
def parquet(tmp_path):
    def write(table, **options) -> Path:
        path = tmp_path / "toys.parquet"
        pq.write_table(table, path, **options)
        return path

    return write


def _repeated(n_values: int, kind: pa.DataType | None = None) -> pa.Array:
    """Return a long string in all cells, which a file holds once."""
    codes = pa.array(np.zeros(n_values, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([b"x" * 100_000]).cast(kind or "str"))


def _list_of_one(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1), pa.int32()), values)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"size": np.zeros(2_000_000)}),
        pa.table({"name": _repeated(1_000)}),
        pa.table({"a.b": _repeated(1_000)}),
        pa.table({"name": _list_of_one(_repeated(1_000))}),
        pa.table({"name": pa.StructArray.from_arrays([_repeated(1_000)], ["first"])}),
        pa.table({"name": _repeated(1_000, pa.binary())}),
        pa.table({"name": _repeated(1_000, pa.binary(100_000))}),
    ],
    ids=["numbers", "strings", "a dot in a name", "lists", "structs", "bytes", "as many bytes"],
)
def test_a_parquet_file_that_would_take_too_much_is_refused(parquet, table):
    path = parquet(table, store_schema=False)
    assert path.stat().st_size < 10_000
    with pytest.raises(
        TableError, match=r"The table of [\d,]+ rows and 1 column of .* limit is 10MB"
    ):
        read_table(path, max_memory="10MB")
    assert len(read_table(path)) == len(table)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_were_not_written_as_categories_are_counted_too(parquet, encoding):
    names = [f"{number} toys" for number in range(3_000)]
    path = parquet(
        pa.table({"name": names}), use_dictionary=False, column_encoding={"name": encoding}
    )
    assert read_table(path, max_memory="1MB")["name"].tolist() == names
    with pytest.raises(TableError, match=r"The table of 3,000 rows .* limit is 100KB"):
        read_table(path, max_memory="100KB")


def test_a_file_of_many_texts_is_opened_a_few_times(parquet, monkeypatch):
    path = parquet(pa.table({f"name {number}": ["some text"] * 100 for number in range(50)}))
    opened = []
    open_file = pq.ParquetFile

    def note(*arguments, **options):
        opened.append(options)
        return open_file(*arguments, **options)

    monkeypatch.setattr(pq, "ParquetFile", note)
    monkeypatch.setattr(FileContent, "memory_limit", 1_000)
    monkeypatch.setattr(FileContent, "check_memory", lambda *_: None)
    assert read_table(path).shape == (100, 50)
    assert len(opened) == 3
    assert len(opened[1]["read_dictionary"]) == 50


def test_a_parquet_file_without_any_group_of_rows_has_no_rows(tmp_path):
    path = tmp_path / "toys.parquet"
    pq.ParquetWriter(path, pa.schema([("name", pa.string())])).close()
    with pytest.raises(TableError, match="needs at least one row"):
        read_table(path)


def _not_utf_8(*cells: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(cells), pa.array(cells, pa.binary()).buffers())


@pytest.mark.parametrize(
    ("column", "place"),
    [
        (_not_utf_8(b"ok", b"\xff", b"ok"), " in row 2"),
        (_list_of_one(_not_utf_8(b"ok", b"ok", b"\xed\xa0\x80")), " in row 3"),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), _not_utf_8(b"ok", b"\xff")), ""),
    ],
    ids=["string", "list", "category"],
)
def test_text_of_parquet_that_is_not_utf_8_is_named(parquet, column, place):
    path = parquet(pa.table({"size": [1, 2, 3], "name": column}))
    with pytest.raises(TableError, match=rf"'name' of .* holds something else{place}\. Write"):
        read_table(path)


# ---- text


def test_objects_with_keys_of_their_own_are_refused_where_they_make_too_large_a_table(tmp_path):
    path = tmp_path / "toys.jsonl"
    path.write_text("".join(json.dumps({f"k{i}": i}) + "\n" for i in range(1_000)))
    with pytest.raises(TableError, match="table of 1,000 rows and 1,000 different keys"):
        read_table(path, max_memory="10MB")
    assert read_table(path).shape == (1_000, 1_000)


def test_so_many_columns_are_refused_before_they_are_made(tmp_path):
    path = tmp_path / "toys.csv"
    path.write_text(",".join(f"c{i}" for i in range(10_000)) + "\n")
    with pytest.raises(TableError, match="The 10,000 columns of .* would take 20MB"):
        read_table(path, max_memory="10MB")
