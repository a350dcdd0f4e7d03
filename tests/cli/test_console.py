"""What commands say to people."""

import io
import warnings

import pytest
from rich.console import Console

from disambig.bench.formats import Table
from disambig.cli.console import collected_notices, print_table, say


def test_people_are_spoken_to_on_standard_error(capsys):
    say("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_nothing_in_a_text_is_markup(capsys):
    say("[bold]x[/bold] :smile: [/]")
    assert capsys.readouterr().err == "[bold]x[/bold] :smile: [/]\n"


@pytest.mark.parametrize("order", ["\x1b[31m", "\x07", "\x9b2J", "\r", "\x00", "\x7f"])
def test_orders_to_the_terminal_are_not_passed_on(capsys, order):
    say(f"a{order}b\nsecond line")
    text = capsys.readouterr().err
    assert order not in text
    assert text.splitlines()[1] == "second line"


def test_what_several_models_warn_of_is_said_once(capsys):
    with collected_notices() as notices:
        warnings.simplefilter("always")
        for text in ("few rows", "few rows", "few labels"):
            warnings.warn(text, stacklevel=1)
    assert notices == ["few rows", "few labels"]
    assert capsys.readouterr().err.splitlines() == ["Note: few rows", "Note: few labels"]


TABLE = Table(
    title="Accuracy: mean ± standard deviation",
    header=("data", "NCPD", "a rival", "LR on true labels"),
    rows=(
        ("glass, p=0.1, r=2", "0.636 ± 0.100", "0.430 ± 0.200 •", "0.300 ± 0.100"),
        ("ecoli, p=0.1, r=2", "0.872 ± 0.100", "0.717 ± 0.100", "0.500 ± 0.100"),
        ("win/tie/loss", "", "1/1/0", ""),
    ),
    notes=("The first note.", "The second note."),
    n_summary_rows=1,
)


def printed(width: int, table: Table = TABLE, **options: int) -> list[str]:
    stream = io.StringIO()
    print_table(table, Console(file=stream, width=width), **options)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_table_with_room_is_printed_as_it_is():
    lines = printed(120)
    assert lines[0] == "Accuracy: mean ± standard deviation"
    assert "0.430 ± 0.200 •" in lines[3]
    assert lines[-3:-1] == ["The first note.", "The second note."]


def test_without_room_deviations_are_left_out():
    lines = printed(60, n_notes=1)
    assert lines[0] == "Accuracy: mean"
    assert "0.430 •" in lines[3]
    assert "LR on true labels" in lines[1]
    assert lines[-3] == "The first note."
    assert lines[-2].startswith("Standard deviations do not fit here")


def test_with_less_room_names_are_short():
    lines = printed(48)
    assert lines[0] == "Accuracy: mean, p=0.1, r=2"
    assert lines[1].split() == ["data", "NCPD", "a", "rival", "LR", "on", "true", "labels"]
    assert lines[3].split() == ["glass", "0.636", "0.430•", "0.300"]
    assert "win/tie/loss" in "".join(lines)


def test_a_file_gets_all_of_a_table_and_a_terminal_what_it_has_room_for():
    table = Table(
        title="Accuracy: mean",
        header=("data", *(f"method{number}" for number in range(20))),
        rows=tuple((f"data{number}", *["0.810"] * 20) for number in range(20)),
    )
    stream = io.StringIO()
    print_table(table, Console(file=stream, width=60, force_terminal=True, color_system=None))
    assert max(map(len, stream.getvalue().splitlines())) <= 60
    rows = [line.split() for line in printed(60, table)[3:23]]
    assert rows == [[f"method{number}", *["0.810"] * 20] for number in range(20)]


def test_a_table_of_many_methods_is_turned_where_that_makes_it_narrower():
    methods = tuple(f"method {number}" for number in range(9))
    table = Table(
        title="Accuracy: mean",
        header=("data", *methods),
        rows=(("lost", *["0.810"] * 9), ("win/tie/loss", *["0/1/0"] * 9)),
        emphasised=frozenset({(0, 2)}),
        n_summary_rows=1,
    )
    lines = printed(40, table)
    assert lines[1].split() == ["data", "lost", "win/tie/loss"]
    assert [line.split()[:3] for line in lines[3:12]] == [[*m.split(), "0.810"] for m in methods]
    stream = io.StringIO()
    print_table(table, Console(file=stream, width=40, force_terminal=True, color_system="standard"))
    (bold,) = (line for line in stream.getvalue().splitlines() if "\x1b[1m0.810" in line)
    assert bold.startswith("method 1")
