from pathlib import Path

import pandas as pd
import pytest

from disambig import read_table
from disambig._core.cache_folder import made_of_tables
from disambig._core.errors import TableError
from disambig.tabular.defaults import DELIMITER
from disambig.tabular.files.formats import find_format
from disambig.tabular.files.table_on_disk import TableOnDisk
from disambig.tabular.files.text_on_disk import text_on_disk

pytest.importorskip("pyarrow.parquet")

ROWS = "".join(f"{row},{'cat|dog' if row % 3 else 'dog'},{row / 7}\n" for row in range(11))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files of a few rows be several blocks."""
    monkeypatch.setattr("disambig.tabular.files.text._ROWS_IN_BLOCK", 3)


def opened(path: Path, **given: str) -> TableOnDisk:
    """Return a text file as a table on disk."""
    record = find_format(path)
    assert record is not None
    return text_on_disk(path, record, **given)


@pytest.mark.parametrize(
    "text",
    [
        f"size,label,share\n{ROWS}",
        f"size,label,share\n{ROWS},,\n ,,\n,,\n,,\n",  # blank rows at the end
        f"size,label,share\n1,,\n,,\n,,\n,,\n,,\n{ROWS}\n\n",  # and in between
        f"size,label,share,,\n{ROWS.replace(chr(10), ',,' + chr(10))}",  # blank columns
        f"size;label;share\n{ROWS.replace(',', ';')}",
        'size,label\n"1,5","a ""b""\nc"\n2,d\n',
        "label\na\n\nb\n\n",
        f"label,share\n{ROWS}",  # names of rows, as R writes them
    ],
)
def test_every_cell_is_the_one_of_the_file_read_at_once(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    expected, table = read_table(path), opened(path)
    pd.testing.assert_frame_equal(table.to_frame(), expected)
    assert table.attrs.get(DELIMITER) == expected.attrs.get(DELIMITER)


def test_a_faulty_row_is_named_as_in_memory_and_nothing_is_kept(tmp_path: Path) -> None:
    for text in (f"size,label,share\n{ROWS}1,2\n", f"a,b,\n{ROWS}", 'a,b\n1,"2\n', "a,b\n,\n"):
        path = tmp_path / "table.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(TableError) as in_memory:
            read_table(path)
        with pytest.raises(TableError) as on_disk:
            opened(path)
        assert str(on_disk.value) == str(in_memory.value)
    assert not any(made_of_tables().glob("*.parquet"))


def test_a_file_is_copied_once_and_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("size\tlabel\n1\ta\n", encoding="latin-1")
    first = opened(path, encoding="latin-1").path
    assert opened(path, encoding="latin-1").path == first
    first.write_bytes(b"damaged")
    assert opened(path, encoding="latin-1")["label"].tolist() == ["a"]
    path.write_text("size\tlabel\n1\té\n", encoding="latin-1")
    again = opened(path, encoding="latin-1")
    assert again.path != first
    assert again["label"].tolist() == ["é"]
