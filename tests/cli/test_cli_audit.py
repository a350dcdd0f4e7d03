import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from cli.command_runs import accepted
from disambig.cli.audit import print_audit
from disambig.tabular.audit.table_audit import audit_table
from disambig.tabular.labels.label_columns import LabelColumns


def make_table(labels):
    features = np.random.default_rng(0).normal(size=(len(labels), 3))
    return pd.DataFrame(features, columns=["a", "b", "c"]).assign(label=labels)


def view(cells, *, width=80, colour=False, **settings):
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=colour)
    print_audit(audit_table(make_table(cells), **settings), console)
    return out.getvalue()


def typical_labels(n_labels=4, n_rows=200):
    rng = np.random.default_rng(0)
    return [
        "|".join(f"kind {chr(97 + x)}" for x in set(rng.integers(0, n_labels, rng.integers(1, 4))))
        for _ in range(n_rows)
    ]


def test_a_table_is_seen_on_one_screen_and_a_half():
    text = view([*typical_labels(), "", "Kind a", "kindd b"])
    lines = text.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80


def test_all_parts_are_there_in_order():
    text = view(typical_labels())
    parts = [
        "200 rows, 3 features (3 numbers), 4 labels.",
        "How many labels a row has",
        "#####",
        "possible in",
        "kind a",
        "Most often together",
        "What looks wrong",
        "What the ambiguity costs",
        "These labels are worth about as much as",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_numbers_of_labels_are_those_of_the_table():
    lines = view(["cat|dog", "dog", "bird|cat", "bird", "cat"]).splitlines()
    assert ["cat", "3", "1"] in [line.split() for line in lines]
    assert "  'bird' and 'cat': 1 row" in lines


def test_no_pairs_and_nothing_wrong_are_said_in_few_words():
    text = view(["a", "b", "a", "b"])
    assert "together" not in text
    assert "What looks wrong\n  Nothing.\n" in text


@pytest.mark.parametrize(
    "label", ["[bold]", "[/]", "[/bold] x", "[link=file:///x]y[/link]", ":cat:"]
)
def test_markup_in_labels_is_text(label):
    text = view([label, "b", f"{label}|b", label], labels=LabelColumns(literal=True))
    assert label in text


@pytest.mark.parametrize("colour", [False, True])
def test_orders_to_the_terminal_are_spelled_out(colour):
    text = view(["a\x1b[2J\x07", "A\x1b[2J\x07", "b\x9b1m|a\x1b[2J\x07", "c"], colour=colour)
    assert "a\\x1b[2J\\x07" in text
    assert not set(text) & {"\x07", "\x9b"}
    assert "\x1b[2J" not in text


def test_column_names_in_messages_are_spelled_out():
    table = make_table(["a", "b"]).assign(**{"[red]x\x1b[2J": [1.0, 1.0]})
    out = StringIO()
    print_audit(audit_table(table), Console(file=out, width=80))
    assert "\x1b" not in out.getvalue()
    assert "[red]x" in out.getvalue()


def test_without_colour_nothing_but_text_is_printed():
    assert "\x1b" not in view(typical_labels())


def test_many_labels_and_sizes_are_cut():
    rng = np.random.default_rng(0)
    labels = [
        "|".join(f"L{x}" for x in rng.integers(0, 90, rng.integers(1, 40))) for _ in range(99)
    ]
    text = view(labels)
    assert len(text.splitlines()) < 55
    assert "and 78 more, possible in" in text
    assert "8+" in text


def test_a_narrow_terminal_cuts_nothing_off_the_sentences():
    text = view(["cat", "Cat", "dog", "dog|cat"], width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert "If they mean the same, spell them the same way." in " ".join(text.split())


def test_weights_and_denials_are_mentioned():
    assert "Labels have weights or votes" in view(["a:0.5|b:0.5", "a", "b"])
    assert "rule labels out" in view(["!a", "a", "b"])


def test_many_notes_on_columns_are_cut():
    audit = replace(
        audit_table(make_table(["a", "b"])), notices=tuple(f"Note {i}." for i in range(9))
    )
    out = StringIO()
    print_audit(audit, Console(file=out, width=80))
    assert "Note 4.\nAnd 4 more notes on columns, which --json lists.\n" in out.getvalue()


def test_groups_are_audited_and_the_next_commands_hold_them_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    captions = np.repeat(
        ["|".join(rng.choice(list("abcdef"), 2, replace=False)) for _ in range(50)], 3
    )
    table = make_table(captions).assign(photo=np.repeat(np.arange(50), 3))
    table.to_csv("faces.csv", index=False)
    unnamed = accepted("audit", "faces.csv")
    assert "Hold out whole groups: --group photo" in " ".join(unnamed.out.split())
    assert "disambig fit faces.csv --group photo --out model" in unnamed.out + unnamed.err
    # A column cannot be a category and name groups; what is then typed must still work.
    category = accepted("audit", "faces.csv", "--category", "photo")
    next_lines = category.out + category.err
    assert "disambig fit faces.csv --category photo --out model" in next_lines
    named = accepted("audit", "faces.csv", "--id", "photo")
    assert "--group photo" not in named.out + named.err
    words = ("--group", "photo", "--promise", "exclusive", "--promise-strength", "0.8")
    ended = accepted("audit", "faces.csv", *words)
    assert "50 groups. The median group has 3 rows, the largest 3." in ended.out
    assert "Exclusive is impossible in 50 of 50 groups (150 rows)" in ended.out
    assert f"disambig fit faces.csv {' '.join(words)} --out model" in ended.out + ended.err
    groups = json.loads(accepted("audit", "faces.csv", *words, "--json").out)["groups"]
    assert groups["promise"] == {"kind": "exclusive", "strength": 0.8}
    assert groups["exclusive"]["n_rows"] == 150
