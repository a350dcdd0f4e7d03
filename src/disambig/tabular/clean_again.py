"""The command that cleans a table again, with the decisions of a review."""

import os
import shlex
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

from disambig._core.errors import TableError

_DECISIONS, _OUT = "--decisions", "--out"
# What would replace a file of the user, or write the table in another way.
_OF_OUTPUT = frozenset({"--overwrite", "--json", "--excel-safe"})
_STREAM = "-"


def command_again(command: Sequence[str], decisions: str) -> str | None:
    """Return a command that cleaned a table, with these decisions beside those of other files.

    It is written as people type it. None where it is not known, or the table came from standard
    input.
    """
    if not can_be_repeated(command):
        return None
    words = _with_options(command, [_DECISIONS, decisions], decisions=decisions)
    return shlex.join(["disambig", *words])


def words_to_clean_again(
    command: Sequence[str], *, decisions: str | os.PathLike[str], out: str | os.PathLike[str]
) -> list[str]:
    """Return the words of a command that cleaned a table, with more decisions, to another place.

    The command may come from a file that somebody else wrote: it must be one that cleans, and
    whatever it says, its output is ``out``. Raise ``TableError`` where it is not known, or read a
    table that is gone since.
    """
    if not can_be_repeated(command):
        raise TableError(
            "To clean a table again takes the command that made it. This one was made from Python, "
            "from standard input, or by an older version. Clean it from a file: disambig clean "
            "FILE --out CLEAN."
        )
    # Each is one word, so that no option before them can take the paths for its own value.
    added = [f"{_DECISIONS}={os.fspath(decisions)}", f"{_OUT}={os.fspath(out)}"]
    return _with_options(command, added, decisions=decisions, replaced={_OUT}, dropped=_OF_OUTPUT)


def can_be_repeated(command: Sequence[str]) -> bool:
    """Tell whether a command cleans a table that is in a file."""
    after_values = [word for before, word in pairwise(command) if before != "--separator"]
    return list(command[:1]) == ["clean"] and _STREAM not in after_values


def _with_options(
    command: Sequence[str],
    added: Sequence[str],
    *,
    decisions: str | os.PathLike[str],
    replaced: Collection[str] = (),
    dropped: Collection[str] = (),
) -> list[str]:
    """Return a command with options at its end, which replace some and this file of decisions."""
    words: list[str] = []
    earlier = iter(command)
    for word in earlier:
        if word == "--":  # whatever comes after it is no option
            return [*words, *added, word, *earlier]
        name, sign, value = word.partition("=")
        if name in replaced or name == _DECISIONS:
            value = value if sign else next(earlier, "")
        if name == _DECISIONS and not _is_same(value, decisions):
            # One word, so that nothing reads the value as an option.
            words.append(f"{_DECISIONS}={value}")
        elif name not in (*replaced, *dropped, _DECISIONS):
            words.append(word)
    return [*words, *added]


def _is_same(one: str, other: str | os.PathLike[str]) -> bool:
    return Path(one).absolute() == Path(other).absolute()
