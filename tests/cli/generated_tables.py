"""Tables as people have them, and as nobody should: columns, labels and files of every kind."""

import csv
import datetime
import gzip
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from disambig.tabular.files.formats import write_table

LABELS = ("cat", "dog", "fox", "7", "Übel")
SEPARATORS = ("|", ";", "/", ",", "||", " or ")
LABEL_FORMS = (
    *("delimited", "delimited", "json", "list", "weights", "mapping", "negative", "columns"),
    *("votes", "gaps", "literal", "junk"),
)
FORMATS = ("csv", "csv", "tsv", "jsonl", "parquet", "xlsx", "json", "csv.gz", "jsonl.zip")
TEXT_FORMATS = ("csv", "tsv", "csv.gz")  # whose cells are strings

column_names = st.one_of(
    st.sampled_from(["a", "b", "size", "id", "index", "row", "confidence", "label_2", "truth"]),
    st.sampled_from(["__x__", 'a "b"', "a,b", "two\nlines", "größe", "=1+1", "a (weekday)", "A"]),
    st.sampled_from(["probability", "chosen_label", "  a", "nan", "None", "0", "[bold]", "é"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6).filter(
        str.strip
    ),
)
_missing = st.sampled_from([None, "", "NA", "nan", "null", "?"])
_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
_numbers = st.one_of(
    st.integers(-5, 5),
    st.floats(-1e6, 1e6),
    st.sampled_from([0, 1e300, -1e300, 10**30, 1e-300, 2**63]),
)
_junk = st.one_of(
    _texts,
    _missing,
    _numbers,
    st.floats(),
    st.booleans(),
    st.sampled_from(["1,5", "1e999", "inf", "-inf", "07", "1_000", "٣", "\ufeff1", "#REF!", "0x1"]),
)
_sound = [
    st.floats(-10, 10),
    st.integers(0, 3),
    st.one_of(st.integers(-5, 5), st.just("")),
    st.sampled_from(["red", "green", "blue"]),
    st.sampled_from(["größer", "a, b", 'say "x"', ""]),
    st.booleans(),
    st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)).map(str),
]
sound_cells = st.sampled_from(_sound)
cells_of_a_kind = st.sampled_from(
    [
        *_sound,
        _numbers,
        st.one_of(_numbers, _missing),
        st.one_of(st.sampled_from(["red", "green"]), _missing),
        st.sampled_from(["yes", "no", "", "Yes"]),
        st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)).map(str),
        st.dates().map(lambda day: f"{day.day:02}.{day.month:02}.{day.year:04}"),
        st.datetimes().map(str),
        st.just("same"),
        st.just(None),
        _missing,
        st.integers(10**9, 10**9 + 1000).map(lambda number: f"u{number}"),
        st.sampled_from(["many words in one cell", "and again many other words", "x"]),
        _junk,
        _texts,
    ]
)


@dataclass(frozen=True, eq=False)
class GeneratedTable:
    """Cells by column, the options that name the labels, and the sets that they mean."""

    columns: dict[str, list[Any]]
    options: list[str]
    sets: list[set[str] | None]  # None where it is not known what the cells mean
    format: str

    @property
    def n_rows(self) -> int:
        """Rows as they were generated."""
        return len(self.sets)

    def texts(self) -> list[list[str]]:
        """Return the rows as a text file holds them."""
        return [[_text(cell) for cell in row] for row in zip(*self.columns.values(), strict=True)]

    def texts_as_read(self) -> list[list[str]]:
        """Return the rows that are read from a text file: blank ones at its end are not."""
        rows = self.texts()
        while rows and len(self.columns) > 1 and not any(map(str.strip, rows[-1])):
            rows.pop()
        return rows

    def write(self, folder: Path, stem: str = "table") -> Path:
        """Write the table and return where it is."""
        path = folder / f"{stem}.{self.format}"
        if self.format == "csv.gz":
            path.write_bytes(gzip.compress(_as_text_file(self, ",")))
        elif self.format in ("csv", "tsv"):
            path.write_bytes(_as_text_file(self, "\t" if self.format == "tsv" else ","))
        elif self.format in ("json", "jsonl", "jsonl.zip"):
            rows = zip(*self.columns.values(), strict=True)
            objects = [dict(zip(self.columns, row, strict=True)) for row in rows]
            lines = "".join(f"{json.dumps(each)}\n" for each in objects)
            if self.format == "jsonl.zip":
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr("table.jsonl", lines)
            else:
                path.write_text(json.dumps(objects) if self.format == "json" else lines)
        else:
            write_table(self.frame(), path)
        return path

    def frame(self) -> pd.DataFrame:
        """Return the table with its cells as they are."""
        return pd.DataFrame(
            {name: pd.Series(cells, dtype=object) for name, cells in self.columns.items()}
        )


def _as_text_file(table: GeneratedTable, delimiter: str) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
    if table.columns:
        writer.writerows([list(table.columns), *table.texts()])
    return stream.getvalue().encode()


def _text(cell: Any) -> str:
    if isinstance(cell, list | dict):
        return json.dumps(cell)
    return "" if cell is None else str(cell)


@st.composite
def label_columns(draw, n_rows):
    """Return columns, options and sets of labels in one of the forms that people write."""
    rows = draw(
        st.lists(
            st.lists(st.sampled_from(LABELS), min_size=1, max_size=4, unique=True),
            min_size=n_rows,
            max_size=n_rows,
        )
    )
    form = draw(st.sampled_from(LABEL_FORMS))
    name = draw(st.sampled_from(["label", "label", "label", "my label", "labels,\n all", "Label"]))
    options = [f"--labels={name}"]
    sets: list[set[str] | None] = [set(row) for row in rows]
    cells: list[Any]
    if form == "json":
        cells = [json.dumps(row) for row in rows]
    elif form == "list":
        cells = rows
    elif form in ("weights", "mapping"):
        share = st.floats(0.001, 1000)
        weighted = [{label: draw(share) for label in row} for row in rows]
        cells = weighted
        if form == "weights":
            cells = ["|".join(f"{label}:{x!r}" for label, x in row.items()) for row in weighted]
    elif form == "negative":
        cells = ["|".join(f"!{label}" for label in row) for row in rows]
        sets = [set(LABELS) - set(row) for row in rows]
    elif form in ("columns", "votes"):
        width = 4 if form == "votes" else 2
        columns = {f"by {number}": [""] * n_rows for number in range(width)}
        for number, row in enumerate(rows):
            for place, label in enumerate(row):
                cell = columns[f"by {place % width}"]
                cell[number] = f"{cell[number]}|{label}".strip("|")
        options = [f"--labels={column}" for column in columns]
        if form == "votes":
            # Annotators are weighed, who may all be wrong: any label may be the right one.
            sets = [None] * n_rows
        return columns, options + ["--votes"] * (form == "votes"), sets
    elif form == "gaps":
        cells = [draw(st.one_of(st.just("|".join(row)), _missing)) for row in rows]
        options.append("--empty=all")
        sets = [
            set(row) if cell == "|".join(row) else None
            for row, cell in zip(rows, cells, strict=True)
        ]
    elif form == "junk":
        cells = [draw(_junk) for _ in rows]
        sets = [None for _ in rows]
    else:
        separator = draw(st.sampled_from(SEPARATORS))
        options.append(f"--separator={separator}")
        options += ["--literal-labels"] * (form == "literal")
        cells = [separator.join(row) for row in rows]
    return {name: cells}, options, sets


@st.composite
def tables(draw, min_rows=0, sound=False):
    """Tables of a few rows and columns, with labels; sound ones can be learned from, mostly."""
    n_rows = draw(st.integers(2 if sound else min_rows, 12))
    columns: dict[str, list[Any]] = {}
    if sound:
        columns["x"] = [number % 5 / 4 for number in range(n_rows)]
    for name in draw(st.lists(column_names, max_size=6, unique=True)):
        kind = draw(sound_cells if sound else cells_of_a_kind)
        columns[name] = draw(st.lists(kind, min_size=n_rows, max_size=n_rows))
    labels, options, sets = draw(label_columns(n_rows))
    place = draw(st.integers(0, len(columns)))
    before, after = list(columns.items())[:place], list(columns.items())[place:]
    return GeneratedTable(
        {**dict(before), **labels, **dict(after), **labels},
        options,
        sets,
        draw(st.sampled_from(FORMATS)),
    )


_pieces = st.one_of(
    st.sampled_from([b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1b[31m", b"9" * 400, b"{", b"[1]"]),
    st.sampled_from([b'"', b'""', b",", b"\t", b"\n", b"\r", b"|"]),
    st.sampled_from(["latin-1", "utf-8", "utf-16-le"]).map("é".encode),
)


@st.composite
def damages(draw):
    """What may happen to the bytes of a file: a function from bytes to bytes."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["flip", "insert", "remove", "repeat", "cut", "recode", "behead"]),
                st.floats(0, 1),
                st.integers(0, 255),
                _pieces,
            ),
            min_size=1,
            max_size=3,
        )
    )

    def damage(content: bytes) -> bytes:
        for what, where, byte, piece in steps:
            content = _damaged(content, what, int(where * len(content)), byte, piece)
        return content

    return damage


def _damaged(content: bytes, what: str, at: int, byte: int, piece: bytes) -> bytes:
    match what:
        case "cut":
            return content[:at]
        case "flip":
            return content[:at] + bytes([byte]) + content[at + 1 :]
        case "insert":
            return content[:at] + piece + content[at:]
        case "remove":
            return content[:at] + content[at + 1 + byte % 8 :]
        case "repeat":
            lines = content.splitlines(keepends=True)
            line = lines[at % len(lines) : at % len(lines) + 1] if lines else []
            return content + b"".join(line) * (1 + byte % 3)
        case "recode":
            half = content[at:].decode("utf-8", errors="replace")
            return content[:at] + half.encode(("latin-1", "utf-16", "cp1252")[byte % 3], "replace")
        case _:
            return content[at:]
