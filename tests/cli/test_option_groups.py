"""Options written down once, for several commands."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from disambig.cli.option_groups import with_option_groups


@dataclass(frozen=True, kw_only=True)
class Size:
    width: Annotated[int, typer.Option(help="How wide.")] = 3
    names: Annotated[list[str] | None, typer.Option(help="Of whom.")] = None


@dataclass(frozen=True, kw_only=True)
class Needed:
    height: Annotated[int, typer.Option(help="How high.")]


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_option_groups
    def measure(
        place: Annotated[str, typer.Argument(help="Where.")],
        size: Size,
        needed: Needed,
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        """Measure something."""
        print(place, size, needed, loud)

    return app


def test_the_fields_of_a_group_are_options(app):
    result = CliRunner().invoke(
        app, ["here", "--width", "5", "--names", "a", "--names", "b", "--height", "2", "--loud"]
    )
    assert result.output == ("here Size(width=5, names=['a', 'b']) Needed(height=2) True\n")


def test_defaults_are_those_of_the_group(app):
    result = CliRunner().invoke(app, ["here", "--height", "2"])
    assert result.output == "here Size(width=3, names=None) Needed(height=2) False\n"


def test_an_option_without_a_default_is_needed(app):
    result = CliRunner().invoke(app, ["here"])
    assert result.exit_code == 2
    assert "--height" in result.output


def test_the_help_is_that_of_the_command_and_its_groups(app):
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"})
    for text in ("Measure something.", "How wide.", "Of whom.", "How high.", "Where."):
        assert text in result.output
