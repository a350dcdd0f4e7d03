import contextlib
import json
import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import DisambigError, TableError
from disambig.tabular import read_table, write_table

ROWS = [{"size": 1.5, "label": ["cat", "dog"]}, {"size": 2.0, "label": ["dog"]}]
LISTS = {"size": [1.5, 2.0], "label": [["cat", "dog"], ["dog"]]}


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="toys.json", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(path, **options)

    return write_and_read


@pytest.mark.parametrize(
    "document",
    [
        ROWS,
        LISTS,
        {"data": ROWS},
        {"columns": ["size", "label"], "data": [list(row.values()) for row in ROWS]},
        {name: {"0": cells[0], "1": cells[1]} for name, cells in LISTS.items()},
        {"0": ROWS[0], "1": ROWS[1]},
    ],
    ids=["list", "columns", "wrapped", "split", "columns by row", "rows by number"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_has_the_rows_that_its_lines_would_have(document, indent, read):
    lines = read("".join(f"{json.dumps(row)}\n" for row in ROWS), "toys.jsonl")
    pd.testing.assert_frame_equal(read(json.dumps(document, indent=indent)), lines)


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split", "table"])
def test_what_pandas_writes_is_read(orient, read):
    frame = pd.DataFrame({"size": [1.5, 2.5], "label": ["cat", "dog"]})
    found = read(frame.to_json(orient=orient))
    columns = found[["size", "label"]]
    assert columns.to_dict("list") == frame.to_dict("list")
    assert set(found.columns) <= {"size", "label", "index"}


def test_names_of_rows_are_the_first_column(read):
    frame = pd.DataFrame({"size": [1, 2]}, index=["ann", "bob"])
    assert read(frame.to_json(orient="split")).to_dict("list") == {
        "Unnamed: 0": ["ann", "bob"],
        "size": [1, 2],
    }


def test_objects_one_a_line_are_read_whatever_the_suffix(read):
    lines = "\n".join(map(json.dumps, ROWS))
    assert len(read(lines)) == 2
    assert len(read("\ufeff\n" + lines + "\n\n")) == 2
    pd.testing.assert_frame_equal(read(json.dumps(ROWS, indent=1), "a.jsonl"), read(lines))


def test_one_line_of_a_jsonl_is_a_row_and_no_table_of_its_own(read):
    assert read('{"a": [1, 2], "b": [3, 4]}', "toys.jsonl").to_dict("list") == {
        "a": [[1, 2]],
        "b": [[3, 4]],
    }


def test_one_object_of_plain_values_is_one_row(read):
    assert read('{"a": 1, "label": "cat"}').to_dict("list") == {"a": [1], "label": ["cat"]}


def test_what_is_beside_the_rows_is_left_out_with_a_notice(read):
    document = {"version": 2, "rows": ROWS, "info": {"by": "ann"}}
    with pytest.warns(UserWarning, match="from 'rows' of .*toys.json; left out: version, info"):
        assert len(read(json.dumps(document))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"toys\.json needs to be a JSON list of objects, one for each row. It is empty"),
        ("  \n", "It is empty"),
        ("[]", "needs at least one JSON object. It is empty"),
        ("{}", "needs at least one JSON object. It is empty"),
        ("[{}]", "needs at least one column"),
        ("5", "begins with something else"),
        ("[1, 2]", r"Object 1 of .*toys\.json is a number. It needs to look like"),
        ('[{"a": 1}, [2]]', "Object 2 of .* is a list"),
        ('[{"a": 1},', "Object 2 of .* cannot be read: Expecting value.*complete"),
        ('[{"a": 1}, {"a"', "Object 2 of .* cannot be read"),
        ('[{"a": 1}', "has '' behind object 1. Is the file complete"),
        ('[{"a": 1}] x', "behind object 1"),
        ('[{"a": 1} {"a": 2}]', """has '{"a": 2}]' behind object 1"""),
        ('[{"a": 1, "a": 2}]', "the key 'a' is there twice"),
        ('{"a": [1], "a": [2]}', "the key 'a' is there twice"),
        ('{"a": [1, 2], "b": [3]}', "same number of cells. Those of .* have 1 to 2"),
        ('{"a": [1, 2], "b": 3}', "which of its parts are rows is not clear"),
        ('{"a": [{"x": 1}], "b": [{"x": 1}], "c": 1}', "is not clear.*orient='records'"),
        ('{"ann": {"size": 1}, "bob": {"size": 2}}', "is not clear"),
        ('{"0": {"1": 1}, "1": {"1": 2}}', "is not clear"),
        ('{"columns": ["a"], "data": [[1, 2]]}', "is not clear"),
        ('{"columns": ["a", "a"], "data": [[1, 2]]}', "is not clear"),
        ('{"columns": 5, "data": 5}', "is not clear"),
        ('{"a": 1', r"toys\.json cannot be read as JSON"),
        ("[" * 100_000, "Object 1 of .* recursion"),
        ('{"a":' * 100_000, "recursion"),
        (f'[{{"b": {"[" * 67}{"]" * 67}}}]', "may lie 64 deep in each other. Object 1 .* 'b'"),
        (f'{{"b": [{"[" * 67}{"]" * 67}]}}', "may lie 64 deep"),
        ('[{"a": "\\ud800"}]', r"whole characters\. Object 1 of .* half of one, '\\ud800', in"),
        ('{"a": ["\\ud800"]}', "half of one"),
        ('[{"": 1}, {"": 2, "b": 1}, {"c": 1, " ": 2}]', "needs a name"),
        (b'[{"a": "\xff"}]', "Byte 9 .*column 'a'"),
    ],
    ids=range(32),
)
def test_what_is_no_table_is_refused_and_says_why(text, message, read):
    with pytest.raises(TableError, match=message):
        read(text)


def test_a_document_that_would_take_too_much_memory_is_refused(read):
    with pytest.raises(TableError, match="The content of .* would take"):
        read('{"a": [' + ",".join(["[]"] * 100_000) + "]}", max_memory="1MB")


def test_a_table_is_written_as_a_list_with_an_object_a_line(tmp_path):
    frame, path = pd.DataFrame(LISTS), tmp_path / "toys.json"
    write_table(frame, path)
    text = path.read_text()
    assert json.loads(text) == ROWS
    assert text.splitlines()[1:-1] == [f"{json.dumps(ROWS[0])},", json.dumps(ROWS[1])]
    pd.testing.assert_frame_equal(read_table(path), frame)
    long = pd.DataFrame({"a": range(5_000)})
    write_table(long, path)
    pd.testing.assert_frame_equal(read_table(path), long)
    write_table(frame.iloc[:0], path)
    assert json.loads(path.read_text()) == []


cells = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(
    cells, st.integers(0, 3), st.sampled_from(["", "]", "}", ",", '"', "\\ud800", "{", "[", "1"])
)
def test_any_json_damaged_or_not_is_a_table_or_refused(tmp_path_factory, value, times, piece):
    text = json.dumps(value)
    place = len(text) * times // 3
    path = tmp_path_factory.mktemp("any") / "any.json"
    path.write_text(text[:place] + piece + text[place:], encoding="utf-8", errors="ignore")
    with contextlib.suppress(DisambigError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about what is beside the rows
        assert len(read_table(path)) > 0
