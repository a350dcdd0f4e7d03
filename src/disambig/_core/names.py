"""Compare names as people write them."""

import difflib
from collections.abc import Iterable

__all__ = ["bare_name", "closest_name", "did_you_mean"]


def bare_name(name: str) -> str:
    """Keep letters and digits only, in lower case: ``"Yahoo! News"`` becomes ``"yahoonews"``."""
    return "".join(character for character in name.lower() if character.isalnum())


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is probably a slip of, or None."""
    by_bare_name = {bare_name(candidate): candidate for candidate in known}
    matches = difflib.get_close_matches(bare_name(name), by_bare_name, n=1)
    return by_bare_name[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to follow a message that ``name`` is not known, or nothing."""
    suggestion = closest_name(name, known)
    return f" Did you mean {suggestion!r}?" if suggestion else ""
