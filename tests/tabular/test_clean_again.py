"""The command that cleans a table again with decisions."""

import shlex

import pytest

from disambig.tabular.clean_again import command_again, words_again

NEW = ["--decisions", "new file.jsonl"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["clean", "a.csv", "--out", "b.csv"], ["clean", "a.csv", "--out", "b.csv", *NEW]),
        (["clean", "--decisions", "old", "a.csv"], ["clean", "a.csv", *NEW]),
        (["clean", "--decisions=old", "a.csv"], ["clean", "a.csv", *NEW]),
        (["clean", "--out=b", "--", "-a.csv"], ["clean", "--out=b", *NEW, "--", "-a.csv"]),
        (["clean", "a", "--separator", "-"], ["clean", "a", "--separator", "-", *NEW]),
        (["clean", "-", "--out", "b.csv"], []),  # standard input has been read
        (["clean", "a.csv", "--out", "-"], []),
        (["fit", "a.csv"], []),
        ([], []),
    ],
)
def test_decisions_replace_earlier_ones(command, expected):
    assert words_again(command, "new file.jsonl") == expected
    typed = command_again(command, "new file.jsonl")
    assert typed == (shlex.join(["disambig", *expected]) if expected else None)
