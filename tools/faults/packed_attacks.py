"""Attacks by packed files: xlsx, parquet, models, and the archives of fetch."""

import io
import json
import pickle
import struct
from collections.abc import Iterator
from typing import Any

from attacks import ESCAPE, MARKUP, Attack, Payload, change_archive, put
from bases import pack_rar
from bombs import Zeros, pack_zip

_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"
_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _sheet(rows: str, before: str = "") -> bytes:
    return (
        f'<?xml version="1.0"?>{before}<worksheet xmlns="{_NAMESPACE}"><sheetData>{rows}'
        "</sheetData></worksheet>"
    ).encode()


def _cell(reference: str, text: str) -> str:
    return f'<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>'


_HEADER = f'<row r="1">{_cell("A1", "label")}{_cell("B1", "x")}</row>'
_ROWS = f'<row r="2">{_cell("A2", "cat|dog")}<c r="B2"><v>1</v></c></row>'


def excel_attacks() -> Iterator[Attack]:
    """Yield workbooks."""
    for name, sheet in {
        "row 2,000,000,000": lambda: _sheet(
            f'{_HEADER}<row r="2000000000">{_cell("A2000000000", "c")}</row>'
        ),
        "row 2**63": lambda: _sheet(f'{_HEADER}<row r="{2**63}">{_cell("A1", "c")}</row>'),
        "a row that is not a number": lambda: _sheet(
            f'{_HEADER}<row r="x">{_cell("A2", "c")}</row>'
        ),
        "20,000 cells in column XFD": lambda: _sheet(
            _HEADER
            + "".join(f'<row r="{r}">{_cell(f"XFD{r}", "c")}</row>' for r in range(2, 20_002))
        ),
        "column ZZZZZZ": lambda: _sheet(f'{_HEADER}<row r="2">{_cell("ZZZZZZ2", "c")}</row>'),
        "two million empty rows": lambda: _sheet(_HEADER + "<row/>" * 2_000_000),
        "great depth": lambda: _sheet("<a>" * 100_000),
        "laughing entities": lambda: _sheet(
            f'<row r="1">{_cell("A1", "&j;")}</row>',
            '<!DOCTYPE x [<!ENTITY a "lol">'
            + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
            + "]>",
        ),
        "an entity of the system": lambda: _sheet(
            f'{_HEADER}<row r="2">{_cell("A2", "&e;")}</row>',
            '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        ),
        "one cell of 1 GB": lambda: Zeros(
            1_000,
            _sheet("").split(b"</sheetData>")[0] + b'<row r="1"><c t="inlineStr"><is><t>',
            b"a",
        ),
        "4 GB of spaces": lambda: Zeros(4_000, _sheet("").split(b"</sheetData>")[0], b" "),
        "dates beyond all calendars": lambda: _sheet(
            _HEADER
            + _ROWS
            + '<row r="3"><c r="A3" t="d"><v>99999-99-99</v></c><c r="B3"><v>1e300</v></c></row>'
        ),
        "cells that are errors": lambda: _sheet(
            _HEADER + _ROWS + '<row r="3"><c r="A3" t="e"><v>#REF!</v></c></row>'
        ),
        "a string that is not there": lambda: _sheet(
            _HEADER + '<row r="2"><c r="A2" t="s"><v>99999999</v></c></row>'
        ),
        "a negative string": lambda: _sheet(
            _HEADER + '<row r="2"><c r="A2" t="s"><v>-5</v></c></row>'
        ),
        "a style that is not there": lambda: _sheet(
            _HEADER + '<row r="2"><c r="A2" s="99999"><v>1</v></c></row>'
        ),
        "an escape in code": lambda: _sheet(
            _HEADER.replace(">x<", ">_x001B_[2J<") + _ROWS.replace("cat", "_x001B_]0;x_x0007_")
        ),
        "a lone surrogate in code": lambda: _sheet(
            f'{_HEADER}<row r="2">{_cell("A2", "_xD800_")}<c r="B2"><v>1</v></c></row>'
        ),
        "an integer of 5,000 digits": lambda: _sheet(
            f'{_HEADER}<row r="2">{_cell("A2", "c")}<c r="B2"><v>{"9" * 5000}</v></c></row>'
        ),
        "merged cells over everything": lambda: _sheet(_HEADER + _ROWS).replace(
            b"</worksheet>",
            b'<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>',
        ),
        "formulas": lambda: _sheet(
            _HEADER + '<row r="2"><c r="A2"><f>HYPERLINK("http://127.0.0.1")</f></c></row>'
        ),
        "bad UTF-8": lambda: _sheet(_HEADER).replace(b"label", b"l\xff\xfebel"),
        "nothing": lambda: b"",
    }.items():
        yield Attack(
            "xlsx", name, change_archive("table.xlsx", {_SHEET: lambda _, sheet=sheet: sheet()})
        )
    rels = "xl/_rels/workbook.xml.rels"
    for name, changes in {
        "a sheet outside the archive": {
            rels: lambda old: old.replace(b"sheet1.xml", b"../../../../etc/passwd")
        },
        "a million styles": {
            "xl/styles.xml": lambda old: old.replace(b"</fonts>", b"<font/>" * 10**6 + b"</fonts>")
        },
        "4 GB of styles": {"xl/styles.xml": lambda _: Zeros(4_000, b"<styleSheet>", b" ")},
        "4 GB that nobody asked for": {"xl/media/image.png": lambda: Zeros(4_000)},
        "a member above": {"../../above.txt": b"x"},
        "no workbook": {"xl/workbook.xml": b""},
        "no types": {"[Content_Types].xml": b"<a/>"},
    }.items():
        yield Attack("xlsx", name, change_archive("table.xlsx", changes))
    yield Attack(
        "xlsx", "a sheet that lies about its size", change_archive("table.xlsx", {}, {_SHEET: 10})
    )


def parquet_attacks() -> Iterator[Attack]:
    """Yield parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(table: Any, **options: Any) -> bytes:
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        return buffer.getvalue()

    def bomb() -> bytes:
        piece = pa.table({"x": pa.array([0] * 10**6), "label": ["cat"] * 10**6})
        buffer = io.BytesIO()
        with pq.ParquetWriter(buffer, piece.schema) as writer:
            for _ in range(300):
                writer.write_table(piece)
        return buffer.getvalue()

    def text(*values: bytes) -> Any:
        column = pa.array(list(values), pa.binary())
        return pa.Array.from_buffers(pa.string(), len(values), column.buffers())

    def extension() -> bytes:
        field = pa.field(
            "x",
            pa.int64(),
            metadata={
                "ARROW:extension:name": "arrow.py_extension_type",
                "ARROW:extension:metadata": pickle.dumps(Payload()),
            },
        )
        return write(
            pa.table(
                [pa.array([1, 2]), ["cat", "dog"]],
                schema=pa.schema([field, ("label", pa.string())]),
            )
        )

    def with_metadata(metadata: bytes) -> bytes:
        table = pa.table({"x": [1, 2], "label": ["cat", "dog"]})
        return write(table.replace_schema_metadata({"pandas": metadata}))

    deep: Any = pa.array([1, 2])
    for _ in range(60):
        deep = pa.ListArray.from_arrays([0, 1, 2], deep)
    labels = ["cat", "dog"]
    for name, content in {
        "300 million rows in little": bomb,
        "bad UTF-8 in a label": lambda: write(
            pa.table({"x": [1, 2], "label": text(b"\xff\xfe", b"cat")})
        ),
        "bad UTF-8 in a cell": lambda: write(
            pa.table({"x": text(b"\xed\xa0\x80", b"a"), "label": labels})
        ),
        "an escape": lambda: write(pa.table({ESCAPE: [1, 2], "label": [ESCAPE, "cat"]})),
        "markup": lambda: write(pa.table({MARKUP: [1, 2], "label": [MARKUP, "cat"]})),
        "lists of great depth": lambda: write(pa.table({"x": deep, "label": labels})),
        "a pickled type": extension,
        "no rows": lambda: write(pa.table({"x": [1], "label": ["a"]}).slice(1)),
        "pandas metadata of great depth": lambda: with_metadata(b"[" * 100_000),
        "pandas metadata that is wrong": lambda: with_metadata(
            b'{"columns": 7, "index_columns": [{}]}'
        ),
        "an index that is not there": lambda: with_metadata(
            b'{"index_columns": ["z"], "columns": [], "column_indexes": []}'
        ),
        "10,000 columns": lambda: write(
            pa.table({f"x{i}": [1, 2] for i in range(10_000)} | {"label": labels})
        ),
        "times beyond all": lambda: write(
            pa.table({"x": pa.array([2**62, -(2**62)], pa.timestamp("ms")), "label": labels})
        ),
        "decimals": lambda: write(
            pa.table({"x": pa.array([1, 2]).cast(pa.decimal256(70, 0)), "label": labels})
        ),
        "structs and maps": lambda: write(pa.table({"x": [{"a": 1}, {"a": 2}], "label": labels})),
        "labels in lists of lists": lambda: write(
            pa.table({"x": [1, 2], "label": [[["cat"]], [["dog"]]]})
        ),
        "labels that are bytes": lambda: write(
            pa.table({"x": [1, 2], "label": pa.array([b"\xff", b"a"])})
        ),
        "NaN and infinity": lambda: write(
            pa.table({"x": [float("nan"), float("inf")], "label": labels})
        ),
        "a column twice": lambda: write(
            pa.table(
                [pa.array([1, 2]), pa.array([1, 2]), pa.array(labels)], names=["x", "x", "label"]
            )
        ),
        "a footer of 2 GB": lambda: (
            write(pa.table({"x": [1]}))[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1"
        ),
    }.items():
        yield Attack("parquet", name, put("table.parquet", content))


def safetensors_attacks() -> Iterator[Attack]:
    """Yield models whose files of arrays lie, and what lies beside them."""

    def header(text: bytes, size: int | None = None, rest: bytes = bytes(64)) -> bytes:
        return struct.pack("<Q", len(text) if size is None else size) + text + rest

    def tensor(dtype: str, shape: list[int], offsets: list[int]) -> bytes:
        return json.dumps({"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}).encode()

    for name, content in {
        "a header of 2**63": header(b"{}", 2**63),
        "a header of 90 MB": header(b"{}", 90 * 10**6),
        "great depth": header(b"[" * 100_000),
        "no header": b"",
        "a pickle": pickle.dumps(Payload()),
        "a shape that overflows": header(tensor("F64", [2**32, 2**32], [0, 64])),
        "offsets outside": header(tensor("F64", [8], [0, 2**40])),
        "offsets backwards": header(tensor("F64", [8], [64, 0])),
        "a type nobody has": header(tensor("F999", [8], [0, 64])),
        "50 MB of header": header(b'{"__metadata__": {"disambig": "' + b"x" * 50_000_000 + b'"}}'),
        "a description of great depth": header(
            json.dumps({"__metadata__": {"disambig": "[" * 10**5}}).encode(), rest=b""
        ),
        "an escape as its kind": header(
            json.dumps({"__metadata__": {"disambig": json.dumps({"kind": ESCAPE})}}).encode(),
            rest=b"",
        ),
    }.items():
        for reader, file in (
            ("model, features.safetensors", "model/features.safetensors"),
            ("model, method.safetensors", "model/method.safetensors"),
            ("network file", "method.safetensors"),
            ("checkpoint", "out.csv.partial/*.checkpoint*"),
        ):
            codes = (0, 2) if reader == "checkpoint" else (2,)
            yield Attack(reader, name, put(file, content), codes)


def archive_attacks() -> Iterator[Attack]:
    """Yield archives that a server sends."""
    for name, content in {
        "2 GB of zeros": lambda: pack_zip({"lost.mat": Zeros(2_000)}),
        "2 GB that claim to be 100 bytes": lambda: pack_zip(
            {"lost.mat": Zeros(2_000)}, {"lost.mat": 100}
        ),
        "0.9 GB of zeros": lambda: pack_zip({"lost.mat": Zeros(900)}),
        "a file above": lambda: pack_zip({"../../above.mat": b"x"}),
        "an absolute path": lambda: pack_zip({"/tmp/disambig-above.mat": b"x"}),  # noqa: S108
        "an escape for a name": lambda: pack_zip({f"{ESCAPE}.mat": b"x", f"{ESCAPE}b.mat": b"y"}),
        "10,000 members": lambda: pack_zip({f"{i}.mat": b"x" for i in range(10_000)}),
        "a page": lambda: b"<html><script>owned()</script></html>" * 1_000,
        "nothing": lambda: b"",
        "a pickle": lambda: pickle.dumps(Payload()),
    }.items():
        yield Attack("zip", name, put("archive", content), (2,))
    for name, packed in {
        "a claim of 4 GB": pack_rar("lost.mat", b"x", 2**32 - 1),
        "a claim of 500 MB": pack_rar("lost.mat", b"x", 500_000_000),
        "a file above": pack_rar("../../above.mat", b"x"),
        "an escape": pack_rar(f"{ESCAPE}.mat", b"x"),
    }.items():
        yield Attack("rar", name, put("archive", packed), (2,))
