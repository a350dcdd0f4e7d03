"""What the parts of a workbook would take in memory, counted before openpyxl reads them."""

import re
import zipfile
from contextlib import closing
from typing import IO, Any, BinaryIO
from xml.parsers import expat

from openpyxl.reader.excel import ExcelReader

from disambig._core.errors import TableError
from disambig.tabular.files.content import FileContent

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384

_BYTES_AT_ONCE = 1 << 18
# In bytes, and of a row or text in tags.
_LONGEST = 1 << 20
# What openpyxl makes of a cell, of a place in a row, of a tag inside a row, inside a shared string
# and elsewhere in a sheet, and of a byte of the small parts: styles become objects.
_OF_CELL, _OF_PLACE, _OF_TAG_IN_ROW, _OF_TAG_IN_STRING, _OF_TAG_ELSEWHERE = 60, 8, 100, 1_500, 3_000
_OF_SMALL_PART = 200
# Each becomes an object, in 30 microseconds: a spreadsheet has 65,490 cell formats at most.
_MOST_TAGS_IN_SMALL_PART = 500_000
_COLUMN = re.compile("[A-Za-z]{1,4}")


def open_first_sheet(source: FileContent, stream: BinaryIO) -> tuple[Any, list[str]]:
    """Return the first sheet of a workbook, to be read row by row, and the names of all sheets.

    Refuses a sheet that is too large. Nothing of the other sheets is unpacked, and of this one
    nothing is kept before its size is known.
    """
    reader = _reader(source, stream)
    reader.read_manifest()
    reader.read_workbook()
    archive = reader.archive
    sheets = [
        (str(sheet.name), relation.target)
        for sheet, relation in reader.parser.find_sheets()
        if "chartsheet" not in relation.Type and relation.target in reader.valid_files
    ]
    if not sheets:
        raise TableError(f"{source.name} needs a sheet of cells. It has none.")
    names = [name for name, _ in sheets]
    first = sheets[0][1]
    strings = reader.package.find(_SHARED_STRINGS)
    counted: dict[str, _Counter] = {first: _SheetCounter(source)}
    if strings is not None:
        counted[strings.PartName[1:]] = _StringCounter(source)
    for name, counter in counted.items():
        with closing(zipfile.ZipFile.open(archive, name)) as part:
            counter.count(part, archive.getinfo(name).file_size)
    source.check_memory(sum(counter.needed for counter in counted.values()), "The first sheet")
    reader = _reader(source, stream, counted=frozenset(counted))
    reader.valid_files = [first]  # others are left alone
    reader.read()
    return reader.wb.worksheets[0], names


_SHARED_STRINGS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


def _reader(
    source: FileContent, stream: BinaryIO, counted: frozenset[str] = frozenset()
) -> ExcelReader:
    reader = ExcelReader(stream, read_only=True, data_only=True, keep_links=False)
    reader.archive = _CheckedArchive(source, stream, counted)
    return reader


class _CheckedArchive(zipfile.ZipFile):
    """An archive that unpacks nothing that would take more memory than allowed.

    What is unpacked never exceeds the size that the directory of the archive states.
    """

    def __init__(self, source: FileContent, stream: BinaryIO, counted: frozenset[str]) -> None:
        super().__init__(stream)
        self._source, self._counted = source, counted

    def open(self, name: str | zipfile.ZipInfo, *args: Any, **kwargs: Any) -> Any:
        part = name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)
        if part.filename not in self._counted:
            needed = _OF_SMALL_PART * part.file_size
            self._source.check_memory(needed, f"The part {part.filename!r}")
            self._check_tags(part)
        return super().open(name, *args, **kwargs)

    def _check_tags(self, part: zipfile.ZipInfo) -> None:
        n_tags = 0
        with closing(super().open(part)) as content:
            while some := content.read(_BYTES_AT_ONCE):
                n_tags += some.count(b"<")
        if n_tags > _MOST_TAGS_IN_SMALL_PART:
            raise TableError(
                f"{self._source.name} may have {_MOST_TAGS_IN_SMALL_PART:,} tags in its part "
                f"{part.filename!r}, which is more than a program for spreadsheets writes. It has "
                f"{n_tags:,}. Save the table as .csv, which has no styles."
            )


class _Counter:
    """Counts tags and text as they stream past; ``inside`` are those within an ``item``."""

    item = ""
    inside: frozenset[str] = frozenset()
    of_tag_in_item = of_tag_elsewhere = 0

    def __init__(self, source: FileContent) -> None:
        self._source = source
        self._n_items = self._in_item = self._most_in_item = self._elsewhere = 0
        self._text = self._longest_text = self._characters = 0

    def count(self, part: IO[bytes], size: int) -> None:
        """Count all of a part of so many bytes; raise ``ExpatError`` if it is not XML."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.CharacterDataHandler = self._add_text
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        fed, limit = 0, self._source.memory_limit
        while some := part.read(_BYTES_AT_ONCE):
            parser.Parse(some)
            fed += len(some)
            if max(fed - parser.CurrentByteIndex, self._in_item) > _LONGEST:
                raise TableError(
                    f"{self._source.name} has a row or a text of more than {_LONGEST:,} tags, or a "
                    "tag of as many bytes, which no program for spreadsheets writes. Save it again."
                )
            if self.needed > limit:
                # The rest is likely to be of the same kind.
                likely = self.needed * max(size, fed) // fed
                self._source.check_memory(likely, "The first sheet")
        parser.Parse(b"", True)

    @property
    def needed(self) -> int:
        """The bytes that all of it takes when it is read."""
        in_item = max(self._most_in_item, self._in_item) * self.of_tag_in_item
        longest = max(self._longest_text, self._text)
        return in_item + self._elsewhere * self.of_tag_elsewhere + self._characters + 3 * longest

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._longest_text = max(self._longest_text, self._text)
        self._text = 0
        name = tag.rpartition(":")[2]
        if name == self.item:
            self._most_in_item = max(self._most_in_item, self._in_item)
            self._in_item = 1
            self._n_items += 1
            self._start_item(attributes)
        elif self._in_item and name in self.inside:
            self._in_item += 1
            self._start_inside(name, attributes)
        else:
            self._elsewhere += 1

    def _start_item(self, attributes: dict[str, str]) -> None: ...

    def _start_inside(self, name: str, attributes: dict[str, str]) -> None: ...

    def _add_text(self, text: str) -> None:
        self._text += len(text)
        self._characters += len(text)

    def _refuse_doctype(self, *_: object) -> None:
        raise TableError(
            f"{self._source.name} has a document type inside, which no program for spreadsheets "
            "writes. Save it again."
        )


class _StringCounter(_Counter):
    item = "si"
    inside = frozenset({
        *("t", "r", "rPr", "rPh", "phoneticPr", "rFont", "sz", "color", "family", "charset"),
        *("scheme", "b", "i", "u", "strike", "vertAlign", "outline", "shadow", "condense"),
    })  # fmt: skip
    of_tag_in_item, of_tag_elsewhere = _OF_TAG_IN_STRING, _OF_TAG_ELSEWHERE

    @property
    def needed(self) -> int:
        return super().needed + _OF_CELL * self._n_items


class _SheetCounter(_Counter):
    item = "row"
    inside = frozenset(("c", "v", "f", "is", "t"))
    of_tag_in_item, of_tag_elsewhere = _OF_TAG_IN_ROW, _OF_TAG_ELSEWHERE

    def __init__(self, source: FileContent) -> None:
        super().__init__(source)
        self._row = self._column = self._n_cells = self._n_places = 0

    @property
    def needed(self) -> int:
        places = self._n_places + self._column
        # Rows leave an empty tag behind.
        of_rows = _OF_TAG_IN_ROW * self._row
        return super().needed + of_rows + _OF_CELL * self._n_cells + _OF_PLACE * places

    def _start_item(self, attributes: dict[str, str]) -> None:
        self._n_places += self._column
        self._column = 0
        try:
            self._row = int(float(attributes["r"]))
        except (KeyError, ValueError, OverflowError):
            self._row += 1
        if self._row > MOST_ROWS:
            self._refuse("row", self._row, MOST_ROWS)

    def _start_inside(self, name: str, attributes: dict[str, str]) -> None:
        if name != "c":
            return
        self._n_cells += 1
        letters = _COLUMN.match(attributes.get("r", ""))
        if letters is None:
            self._column += 1
        else:
            column = 0
            for letter in letters[0].upper():
                column = 26 * column + ord(letter) - ord("A") + 1
            self._column = max(self._column, column)
        if self._column > MOST_COLUMNS:
            self._refuse("column", self._column, MOST_COLUMNS)

    def _refuse(self, what: str, number: int, most: int) -> None:
        raise TableError(
            f"A sheet has {most:,} {what}s at most. The first sheet of {self._source.name} has a "
            f"cell in {what} {number:,}. Save it again, or give the table as .csv or .parquet."
        )
