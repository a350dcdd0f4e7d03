"""The command that cleans a table again, with the decisions of a review."""

import shlex
from collections.abc import Sequence
from itertools import pairwise

_DECISIONS = "--decisions"
_STREAM = "-"


def words_again(command: Sequence[str], decisions: str) -> list[str]:
    """Return the words of a clean command with these decisions in place of earlier ones.

    Empty where they are not known, or where the table came from standard input.
    """
    values = [word for before, word in pairwise(command) if before != "--separator"]
    if not command or command[0] != "clean" or _STREAM in values:
        return []
    words: list[str] = []
    earlier = iter(command)
    for word in earlier:
        if word == "--":  # whatever comes after it is no option
            return [*words, _DECISIONS, decisions, word, *earlier]
        if word == _DECISIONS:
            next(earlier, None)
        elif not word.startswith(f"{_DECISIONS}="):
            words.append(word)
    return [*words, _DECISIONS, decisions]


def command_again(command: Sequence[str], decisions: str) -> str | None:
    """Return the same as people type it; None where it is not known."""
    words = words_again(command, decisions)
    return shlex.join(["disambig", *words]) if words else None
