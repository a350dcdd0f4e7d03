"""What commands say to people."""

import pytest

from disambig.cli.console import say


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
