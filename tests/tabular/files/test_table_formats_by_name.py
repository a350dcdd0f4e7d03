"""The format of a table is said by its suffix, or given."""

import pytest

from disambig._core.errors import ParameterError, TableError, UnknownNameError
from disambig.tabular.files.formats import checked_delimiter, format_of


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.csv", "csv"),
        ("A.CSV", "csv"),
        ("a.b.tsv", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.Parquet", "parquet"),
        ("a.xlsx", "xlsx"),
    ],
)
def test_the_suffix_says_the_format_in_any_case(name, format_):
    assert format_of(name) == format_


def test_a_given_format_wins_over_the_suffix():
    assert format_of("a.csv", "jsonl") == "jsonl"


@pytest.mark.parametrize(
    ("name", "ending"), [("a.txt", r"ends in '\.txt'"), ("data", "has no suffix")]
)
def test_an_unknown_suffix_is_met_with_the_known_ones_and_the_way_out(name, ending):
    with pytest.raises(
        TableError, match=rf"\.csv, \.tsv, .*{name} {ending}\. .*--format \(in Python format=\)"
    ):
        format_of(name)


def test_an_unknown_format_is_met_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'parquet'"):
        format_of("a.csv", "parket")


@pytest.mark.parametrize(
    ("format_", "given", "delimiter"),
    [
        ("csv", None, ","),
        ("tsv", None, "\t"),
        ("csv", ";", ";"),
        ("csv", "\\t", "\t"),
        ("jsonl", None, None),
    ],
)
def test_the_delimiter_is_the_usual_one_or_the_given_one(format_, given, delimiter):
    assert checked_delimiter(format_, given) == delimiter


@pytest.mark.parametrize("given", ["", "ab", '"', "\n", "\r", "\0"])
def test_a_delimiter_that_cannot_be_one_is_refused(given):
    with pytest.raises(ParameterError, match="must be one character"):
        checked_delimiter("csv", given)


def test_a_delimiter_for_a_format_without_one_is_refused():
    with pytest.raises(ParameterError, match="csv and tsv only. Got ';' for parquet"):
        checked_delimiter("parquet", ";")
