"""What is written is read back, whole or not at all."""

import datetime
import io
import json
import os
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.files.formats import read_table, write_table

ODD = st.sampled_from(['"', ",", "\t", "\n", "\r", "\r\n", " ", "", "\ufeff", "NA", "\x1a", "\x85"])
TEXTS = st.lists(
    ODD | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=4
).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@st.composite
def tables_of_text(draw):
    n_columns = draw(st.integers(1, 4))
    names = TEXTS.filter(lambda name: name.strip() and not name.startswith("\ufeff"))
    columns = draw(st.lists(names, min_size=n_columns, max_size=n_columns, unique=True))
    row = st.lists(TEXTS, min_size=n_columns, max_size=n_columns)
    rows = draw(st.lists(row, min_size=1, max_size=5))
    return pd.DataFrame(rows, columns=columns, dtype=str)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_nul_which_text_cannot_hold_is_replaced_and_said(suffix, tmp_path):
    path = tmp_path / f"table{suffix}"
    frame = pd.DataFrame({"text": ["a\0b\0", "a", "\0"], "label": ["cat", "dog", "c|\0"]})
    with pytest.warns(UserWarning, match="2 rows held NUL characters"):
        write_table(frame, path)
    assert read_table(path)["text"].tolist() == ["a\ufffdb\ufffd", "a", "\ufffd"]
    assert read_table(path)["label"].tolist() == ["cat", "dog", "c|\ufffd"]


@settings(max_examples=100)
@given(frame=tables_of_text(), suffix=st.sampled_from([".csv", ".tsv", ".jsonl"]))
def test_any_text_is_read_back_as_it_was_written(frame, suffix, folder):
    path = folder / f"any{suffix}"
    write_table(frame, path)
    rows = frame.to_numpy(dtype=object).tolist()
    if suffix != ".jsonl" and len(frame.columns) > 1:  # spreadsheets write blank rows at the end
        while rows and not any(map(str.strip, rows[-1])):
            rows.pop()
    options = {"delimiter": {".csv": ",", ".tsv": "\t"}.get(suffix)}
    if not rows:
        with pytest.raises(TableError, match="at least one row"):
            read_table(path, **options)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # says how many
        back = read_table(path, **options)
    assert list(back.columns) == list(frame.columns)
    assert back.to_numpy(dtype=object).tolist() == rows


def mixed():
    return pd.DataFrame(
        {
            "n": [1, 2],
            "x": [0.1, np.nan],
            "yes": [True, False],
            "day": pd.to_datetime(["2024-05-01", None]),
            "text": pd.array(["a", None], dtype="str"),
            "labels": [["cat", np.int64(3)], None],
            "weights": [{"cat": np.float64(0.5)}, {"dog": float("nan")}],
            "any": [Decimal("1.10"), b"raw"],
        },
        index=[7, 7],
    )


def test_csv_has_empty_cells_for_nothing_and_json_for_several_values(tmp_path):
    write_table(mixed(), tmp_path / "toys.csv")
    assert (tmp_path / "toys.csv").read_text() == (
        "n,x,yes,day,text,labels,weights,any\n"
        '1,0.1,True,2024-05-01,a,"[""cat"", 3]","{""cat"": 0.5}",1.10\n'
        '2,,False,,,,"{""dog"": null}",raw\n'
    )


def test_json_lines_have_null_for_nothing_and_keep_lists(tmp_path):
    write_table(mixed(), tmp_path / "toys.jsonl")
    first, second = map(json.loads, (tmp_path / "toys.jsonl").read_text().splitlines())
    assert first == {
        "n": 1,
        "x": 0.1,
        "yes": True,
        "day": "2024-05-01T00:00:00",
        "text": "a",
        "labels": ["cat", 3],
        "weights": {"cat": 0.5},
        "any": "1.10",
    }
    assert second == {
        **dict.fromkeys(["x", "day", "text", "labels"]),
        "n": 2,
        "yes": False,
        "weights": {"dog": None},
        "any": "raw",
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array(3), 3),
        ((1, None), [1, None]),
        pytest.param({"b", "a"}, ["a", "b"], id="a set"),  # its order is not always the same
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (datetime.time(8, 30), "08:30:00"),
        (np.datetime64("2024-05-01"), "2024-05-01"),
        (pd.Timestamp("2024-05-01", tz="UTC"), "2024-05-01T00:00:00+00:00"),
        (pd.Timedelta("1 day"), "1 days 00:00:00"),
        ({1: {2: pd.NaT}}, {"1": {"2": None}}),
        (pd.NA, None),
        (2**70, 2**70),
    ],
    ids=str,
)
def test_values_of_any_kind_become_json(value, written, tmp_path):
    frame = pd.DataFrame({"a": pd.Series([value, "x"], dtype=object)})
    write_table(frame, tmp_path / "toys.jsonl")
    assert json.loads((tmp_path / "toys.jsonl").read_text().splitlines()[0]) == {"a": written}


def test_columns_that_may_be_missing_are_null_in_json(tmp_path):
    columns = {"n": pd.array([1, None], dtype="Int64"), "c": pd.Categorical(["x", None])}
    write_table(pd.DataFrame(columns), tmp_path / "toys.jsonl")
    assert (tmp_path / "toys.jsonl").read_text().splitlines() == [
        '{"n": 1, "c": "x"}',
        '{"n": null, "c": null}',
    ]


def test_parquet_keeps_what_goes_together_and_writes_the_rest_as_text(tmp_path):
    frame = mixed().assign(
        mixed=[1, "x"], large=[2**70, 1], odd=[["a"], "b"], kinds=[frozenset("a"), object]
    )
    write_table(frame, tmp_path / "toys.parquet")
    back = read_table(tmp_path / "toys.parquet")
    assert back["n"].dtype == "int64"
    assert back["day"].dtype.kind == "M"
    assert back["text"].tolist()[0] == "a"
    assert back["mixed"].tolist() == ["1", "x"]
    assert back["large"].tolist() == [str(2**70), "1"]
    assert back["odd"].tolist() == ['["a"]', "b"]
    assert back["weights"].tolist() == ['{"cat": 0.5}', '{"dog": null}']
    assert back["kinds"].tolist()[0] == '["a"]'


def test_lists_of_labels_are_lists_in_parquet(tmp_path):
    write_table(pd.DataFrame({"a": [["cat", "dog"], ["dog"]]}), tmp_path / "toys.parquet")
    assert read_table(tmp_path / "toys.parquet")["a"].tolist() == [["cat", "dog"], ["dog"]]


def test_excel_holds_as_text_what_it_cannot_hold_as_a_value(tmp_path):
    values = {
        "list": ["cat"],
        "control": "a\x01b",
        "formula": "=1+1",
        "error": "#N/A",
        "digits": 12345678901234567890,
        "zone": pd.Timestamp("2024-05-01", tz="UTC"),
        "old": datetime.date(1815, 6, 18),
        "inf": float("inf"),
        "none": float("nan"),
        "day": pd.Timestamp("2024-05-01"),
        "time": datetime.time(8, 30),
        "yes": True,
        "count": np.int64(3),
        "size": 0.5,
    }
    frame = pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in values.items()})
    write_table(frame, tmp_path / "toys.xlsx")
    assert read_table(tmp_path / "toys.xlsx").iloc[0].to_dict() == {
        "list": '["cat"]',
        "control": "a\ufffdb",
        "formula": "=1+1",
        "error": "#N/A",
        "digits": "12345678901234567890",
        "zone": "2024-05-01T00:00:00+00:00",
        "old": "1815-06-18",
        "inf": "inf",
        "none": None,
        "day": datetime.datetime(2024, 5, 1),
        "time": "08:30:00",
        "yes": True,
        "count": 3,
        "size": 0.5,
    }
    sheet = openpyxl.load_workbook(tmp_path / "toys.xlsx").active
    assert sheet["C2"].data_type == "s"  # or Excel would compute it


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": np.zeros(1_048_576)}), "1,048,575 rows under .* Got 1,048,576 rows"),
        (pd.DataFrame([range(16_385)]), "16,384 columns. Got 1 rows and 16,385 columns"),
        (pd.DataFrame({"a": ["", "x" * 32_768]}), "Column 'a' has 32,768 in row 2"),
        (pd.DataFrame({"a": [["x" * 32_768]]}), "Column 'a' has 32,772 in row 1"),
    ],
    ids=["rows", "columns", "text", "list"],
)
def test_what_is_too_large_for_excel_is_refused(frame, message, tmp_path):
    with pytest.raises(TableError, match=message):
        write_table(frame, tmp_path / "toys.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_half_a_character_is_refused_and_the_old_file_stays(suffix, tmp_path):
    path = tmp_path / f"toys{suffix}"
    path.write_text("as it was")
    frame = pd.DataFrame({"a": pd.Series(["fine", "\ud800"], dtype=object)})
    with pytest.raises(TableError, match=r"'\\ud800' is half of a character"):
        write_table(frame, path)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_character_is_refused_in_the_other_formats(tmp_path):
    frame = pd.DataFrame({"a": pd.Series(["fine", "\ud800"], dtype=object)})
    for name in ("toys.parquet", "toys.xlsx"):
        with pytest.raises(TableError, match="half of a character"):
            write_table(frame, tmp_path / name)


TOYS = pd.DataFrame({"a": ["1"], "b": ["x,y"]})


def test_a_folder_is_made_and_a_file_replaced(tmp_path):
    path = tmp_path / "new" / "toys.csv"
    for _ in range(2):
        write_table(TOYS, path)
    assert path.read_bytes() == b'a,b\n1,"x,y"\n'


def test_a_delimiter_and_a_format_can_be_given(tmp_path):
    write_table(TOYS, tmp_path / "toys.txt", format="csv", delimiter=";")
    assert (tmp_path / "toys.txt").read_text() == "a;b\n1;x,y\n"
    with pytest.raises(ParameterError, match="csv or tsv only"):
        write_table(TOYS, tmp_path / "toys.jsonl", delimiter=";")


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "toys.csv")
    write_table(TOYS, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert not (tmp_path / "toys.csv").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_stays(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as reader:
        write_table(TOYS, path, format="csv")
        assert reader.stdout.read() == b'a,b\n1,"x,y"\n'
    assert path.is_fifo()


def test_a_target_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="is a folder. Name a file in it"):
        write_table(TOYS, tmp_path, format="csv")
    with pytest.raises(TableError, match=r"toys\.csv cannot be written: a part of its path is a"):
        write_table(TOYS, tmp_path / "file" / "toys.csv")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a disk that is full")
@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_full_disk_is_told(format_):
    # Which is no fault of the name, as a TableError would say.
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_table(TOYS, "/dev/full", format=format_)


@pytest.mark.parametrize(
    ("columns", "message"), [(["a", "a"], "both called 'a'"), (["a", ""], "Column 2 of 2 has none")]
)
def test_columns_need_names_of_their_own(columns, message, tmp_path):
    with pytest.raises(TableError, match=message):
        write_table(TOYS.set_axis(columns, axis=1), tmp_path / "toys.csv")


def test_standard_output_is_csv_unless_it_is_said_otherwise(capfdbinary):
    write_table(TOYS, "-")
    write_table(TOYS, "-", format="jsonl")
    assert capfdbinary.readouterr().out == b'a,b\n1,"x,y"\n{"a": "1", "b": "x,y"}\n'


@pytest.mark.parametrize("format_", ["parquet", "xlsx"])
def test_formats_that_are_no_text_go_through_standard_output_and_input(
    format_, capfdbinary, monkeypatch
):
    write_table(TOYS, "-", format=format_)
    content = capfdbinary.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-", format=format_).to_numpy().tolist() == [["1", "x,y"]]


def test_an_output_that_takes_no_bytes_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with pytest.raises(TableError, match="Standard output takes no bytes here"):
        write_table(TOYS, "-")


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet", "xlsx"])
def test_an_output_that_nobody_reads_is_no_error(format_, monkeypatch):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        write_table(pd.DataFrame({"a": [str(n) * 9 for n in range(10_000)]}), "-", format=format_)


def test_a_process_whose_reader_has_gone_ends_silently():
    code = (
        "import pandas as pd\n"
        "from disambig.tabular.files.formats import write_table\n"
        "write_table(pd.DataFrame({'a': [str(n) * 9 for n in range(10_000)]}), '-')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_many_columns_are_written_in_pieces_that_fit_together(tmp_path):
    texts = pd.DataFrame(
        {f"t{number}": [f"{number} {row}" for row in range(60)] for number in range(3)}
    )
    numbers = pd.DataFrame(np.arange(60 * 2_000).reshape(60, 2_000) / 7).add_prefix("n")
    frame = pd.concat([numbers, texts], axis=1)
    path = tmp_path / "wide.csv"
    write_table(frame, path)
    assert path.read_text().splitlines() == frame.to_csv(index=False).splitlines()
