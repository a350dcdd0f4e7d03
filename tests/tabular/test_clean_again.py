"""The command that cleans a table again with decisions."""

import shlex

import numpy as np
import pytest
import typer

from disambig._core.errors import TableError
from disambig.cli.main import app
from disambig.tabular.clean_again import command_again, words_to_clean_again

NEW = ["--decisions", "new file.jsonl"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["clean", "a.csv", "--out", "b.csv"], ["clean", "a.csv", "--out", "b.csv", *NEW]),
        (["clean", "--decisions", "new file.jsonl", "a.csv"], ["clean", "a.csv", *NEW]),
        (["clean", "--decisions=./new file.jsonl", "a.csv"], ["clean", "a.csv", *NEW]),
        # Other files hold other decisions, which the new ones do not replace.
        (["clean", "--decisions", "old", "a"], ["clean", "--decisions=old", "a", *NEW]),
        (["clean", "--decisions=old", "a.csv"], ["clean", "--decisions=old", "a.csv", *NEW]),
        (["clean", "--out=b", "--", "-a.csv"], ["clean", "--out=b", *NEW, "--", "-a.csv"]),
        (["clean", "a", "--separator", "-"], ["clean", "a", "--separator", "-", *NEW]),
        (["clean", "-", "--out", "b.csv"], []),  # standard input has been read
        (["clean", "a.csv", "--out", "-"], []),
        (["fit", "a.csv"], []),
        ([], []),
    ],
)
def test_decisions_come_after_those_of_other_files(command, expected):
    typed = command_again(command, "new file.jsonl")
    assert typed == (shlex.join(["disambig", *expected]) if expected else None)


@pytest.mark.parametrize(
    ("earlier", "words"),
    [
        (["clean", "a.csv", "--out", "b.csv"], ["clean", "a.csv", *"DO"]),
        (
            ["clean", "--out=b.csv", "a.csv", "--seed", "3"],
            ["clean", "a.csv", "--seed", "3", *"DO"],
        ),
        (
            ["clean", "a.csv", "--decisions", "d.jsonl", "--out", "a.csv", "--overwrite", "--json"],
            ["clean", "a.csv", *"DO"],
        ),
        (
            ["clean", "a.csv", "--decisions=d.csv", "--excel-safe"],
            ["clean", "a.csv", "--decisions=d.csv", *"DO"],
        ),
        (["clean", "--out", "b", "--", "-a.csv"], ["clean", *"DO", "--", "-a.csv"]),
        (["clean", "a", "--separator", "-"], ["clean", "a", "--separator", "-", *"DO"]),
        (["clean", "a", "--labels", "--outer"], ["clean", "a", "--labels", "--outer", *"DO"]),
    ],
)
def test_output_is_replaced_and_all_else_stays(earlier, words):
    places = {"D": "--decisions=d.jsonl", "O": "--out=new.jsonl"}
    expected = [places.get(word, word) for word in words]
    assert words_to_clean_again(earlier, decisions="d.jsonl", out="new.jsonl") == expected


@pytest.mark.parametrize("command", [[], ["fit", "a.csv"], ["clean", "-", "--out", "b.csv"]])
def test_a_table_whose_command_cannot_be_repeated_is_refused(command):
    with pytest.raises(TableError, match="takes the command that made it"):
        words_to_clean_again(command, decisions="d", out="o")


USAGE_ERROR = typer.BadParameter.__base__
WORDS = [
    *("--", "--out", "--out=/theirs", "--ou=/theirs", "--decisions", "--decisions=/theirs"),
    *("--ignore", "--ignore=--", "--overwrite", "--labels", "--separator", "FILE", "/theirs"),
]


def test_whatever_a_command_says_nothing_is_written_where_it_wants():
    clean = typer.main.get_command(app).commands["clean"]
    generator = np.random.default_rng(0)
    n_read = 0
    for _ in range(3_000):
        command = ["clean", *generator.choice(WORDS, size=generator.integers(1, 8))]
        words = words_to_clean_again(command, decisions="/ours.jsonl", out="/ours")
        try:
            given = clean.make_context("clean", words[1:]).params
        except USAGE_ERROR:  # nothing is cleaned then
            continue
        n_read += 1
        assert (given["out"], given["overwrite"]) == ("/ours", False), command
    assert n_read > 100
