"""What commands say to people: on standard error, so that results can be piped on."""

import json
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console

from disambig.tables.wording import printable

__all__ = ["people_console", "print_json", "say", "say_notices"]


def people_console() -> Console:
    """Return the console for people."""
    return Console(stderr=True)


def say(text: str, console: Console | None = None) -> None:
    """Print a text as it is: nothing in it is taken for markup, or for orders to the terminal."""
    console = console or people_console()
    console.print(
        "\n".join(printable(line) for line in text.split("\n")),
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=not console.is_terminal,  # lines for people, one line for other programs
    )


def say_notices(notices: Iterable[str]) -> None:
    """Print what was left out, and why."""
    for notice in notices:
        say(f"Note: {notice}")


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print a result for another program."""
    # In ASCII, which every stream can take and no terminal obeys.
    print(json.dumps(value, indent=2))
