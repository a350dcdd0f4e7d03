"""How commands look in ``--help``, and how an interrupt ends them."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from disambig.cli.console import say

INTERRUPTED = 130  # the exit code that shells have for it

# Options of typer that the docs describe; on a first look they are in the way.
_HIDDEN = ("install_completion", "show_completion")


class PlainCommand(TyperCommand):
    """A command whose help names no types of Python, and that says so when it is interrupted."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Files are written under another name first, so that none is half done.

        Here, because typer ends without a word, or with an empty line, by its version.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("Interrupted. No file was left half written. Run the same command to start again.")
            raise typer.Exit(INTERRUPTED) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help."""
        _hide_types(self.get_params(ctx))
        super().format_help(ctx, formatter)


class PlainGroup(TyperGroup):
    """The same for the command that has the others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help."""
        _hide_types(self.get_params(ctx))
        super().format_help(ctx, formatter)


def _hide_types(parameters: list[Any]) -> None:
    """Hide "<bool>" beside a flag, and "<str>" beside the name of an argument."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument" and parameter.metavar is not None:
            parameter.display_type_rich = _no_type
        if parameter.name in _HIDDEN:
            parameter.hidden = True


def _no_type(ctx: Any) -> str:  # noqa: ARG001  # click gives it
    return ""
