"""JSON lines keep their values, and a line that is no object is named."""

import json

import pytest

from disambig._core.errors import TableError
from disambig.tabular.files.formats import read_table


@pytest.fixture
def read(tmp_path):
    def write_and_read(content, **options):
        path = tmp_path / "toys.jsonl"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return write_and_read


def test_every_line_is_a_row_and_every_key_a_column_in_the_order_met(read):
    frame = read('{"b": 1, "a": "x"}\n\n  \n{"a": "y", "c": true}\r\n{}\n')
    assert list(frame.columns) == ["b", "a", "c"]
    assert len(frame) == 3
    assert frame["b"].tolist() == [1, None, None]
    assert frame["a"].tolist()[:2] == ["x", "y"]
    assert frame.isna().to_numpy().tolist() == [
        [False, False, True],
        [True, False, False],
        [True, True, True],
    ]


def test_lists_and_objects_stay_in_their_cells(read):
    frame = read('{"label": ["cat", "dog"], "votes": {"cat": 2}}\n{"label": [], "votes": null}\n')
    assert frame["label"].tolist() == [["cat", "dog"], []]
    assert frame["votes"].tolist() == [{"cat": 2}, None]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], "int64"),
        ([1, 2.5], "float64"),
        ([1.5, None], "float64"),
        ([True, False], "bool"),
        (["007", "NA"], "str"),
        (["007", None], "str"),
        ([1, None], "object"),
        ([True, None], "object"),
        ([1, True], "object"),
        ([2**70, 1], "object"),
        ([2**60 + 1, 0.5], "object"),
        ([1, "x"], "object"),
        ([None, None], "object"),
    ],
)
def test_a_column_has_a_type_where_that_changes_no_value(read, values, dtype):
    frame = read("".join(json.dumps({"a": value, "b": 0}) + "\n" for value in values))
    assert frame["a"].dtype == dtype
    assert frame["a"].astype(object).where(frame["a"].notna(), None).tolist() == values


def test_numbers_beyond_json_are_understood(read):
    values = read('{"a": NaN}\n{"a": Infinity}\n{"a": 1e999}\n')["a"].tolist()
    assert values[0] != values[0]
    assert values[1:] == [float("inf")] * 2


def test_a_key_first_met_after_many_rows_is_missing_before(read):
    frame = read('{"a": 1}\n' * 4_999 + '{"b": "x", "a": 2}\n')
    assert frame["b"].isna().sum() == 4_999
    assert frame["b"].iloc[-1] == "x"
    assert frame["a"].iloc[-1] == 2


def test_a_mark_and_characters_in_two_halves_are_understood(read):
    assert read('\ufeff{"a": "\\ud83d\\ude00 \u2028"}\n')["a"].tolist() == ["😀 \u2028"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', r"Line 2 of .*toys\.jsonl cannot be read: Expecting ',' delimiter"),
        ("{'a': 1}", "Line 2 of .* Expecting property name"),
        ('{"a": 1} {"a": 2}', "Line 2 of .* Extra data"),
        ("[" * 100_000, "Line 2 of .* recursion"),
        (f'{{"a": {"9" * 5_000}}}', "Line 2 of .* cannot be read"),
        (
            '{"a": "\\ud800"}',
            r"whole characters\. Line 2 of .* half of one, '\\ud800', in column 'a'",
        ),
        ('{"a\\udfff": 1}', r"Line 2 of .* half of one, '\\udfff', in column 'a\\udfff'"),
        ('{"a": ["x", {"b": "\\uD83D"}]}', r"Line 2 of .*, '\\ud83d', in column 'a'"),
        (
            f'{{"a": 1, "b": {"[" * 67}{"]" * 67}}}',
            "may lie 64 deep in each other. Line 2 .* column 'b'",
        ),
        ("[1, 2]", r"Line 2 of .* is a list\. It needs to look like"),
        ('"x"', 'Line 2 of .* is a string. It needs to look like {"name": "value"}'),
        ("null", "Line 2 of .* is null"),
        ("true", "Line 2 of .* is true or false"),
        ("3", "Line 2 of .* is a number"),
        ('{"a": 1, "a": 2}', "Line 2 of .* the key 'a' is there twice"),
        ('{"a": {"cat": 1, "cat": 2}}', "Line 2 of .* the key 'cat' is there twice"),
    ],
    ids=range(16),
)
def test_a_line_that_is_no_object_is_named(read, line, message):
    with pytest.raises(TableError, match=message):
        read(f'{{"a": 1}}\n{line}\n')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"toys\.jsonl needs at least one JSON object\. It is empty"),
        ("\n \n", "It is empty"),
        ("{}\n", r"toys\.jsonl needs at least one column"),
        ('{"": 1}\n', "Column 1 of 1 has none"),
    ],
)
def test_a_file_without_rows_or_names_is_refused(read, content, message):
    with pytest.raises(TableError, match=message):
        read(content)


def test_another_encoding_is_refused_or_given(read):
    content = '{"a": "ö"}\n'.encode("latin-1")
    with pytest.raises(TableError, match=r"Byte 8 \(0xf6, in line 1: column 'a'\)"):
        read(content)
    assert read(content, encoding="latin-1")["a"].tolist() == ["ö"]
