"""The settings of a study as they would be written down, to run it again."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from disambig.study.settings import Study

__all__ = ["can_be_toml", "given_settings", "settings_text"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def given_settings(study: Study, path_of: Callable[[str], str]) -> dict[str, Any]:
    """Return what was set, as plain values; what was left out has its default.

    Parameters
    ----------
    study : Study
        What to write down.
    path_of : callable
        What to write for the path of a file with data.
    """
    settings = study.model_dump(mode="json", exclude_unset=True)
    for entry in settings["datasets"]:
        if entry.get("path") is not None:
            entry["path"] = path_of(entry["path"])
    return settings


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as TOML, or as JSON where they cannot be."""
    if can_be_toml(settings):
        return "\n".join(_toml(settings)) + "\n"
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def can_be_toml(value: Any) -> bool:
    """Tell whether plain values hold no None, for which TOML has no word."""
    if isinstance(value, Mapping):
        return all(map(can_be_toml, value.values()))
    return all(map(can_be_toml, value)) if isinstance(value, list) else value is not None


def _toml(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines: plain values first, then tables, then lists of tables, a block for each."""
    tables = {key: value for key, value in settings.items() if isinstance(value, Mapping)}
    lists = {key: value for key, value in settings.items() if _is_list_of_tables(value)}
    for key, value in settings.items():
        if key not in tables and key not in lists:
            yield f"{_key(key)} = {_value(value)}"
    for key, table in tables.items():
        yield f"\n[{_key(key)}]"
        yield from (f"{_key(name)} = {_value(value)}" for name, value in table.items())
    for key, blocks in lists.items():
        for block in blocks:
            yield f"\n[[{_key(key)}]]"
            yield from (f"{_key(name)} = {_value(value)}" for name, value in block.items())


def _is_list_of_tables(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(block, Mapping) for block in value)
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(own)}" for key, own in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # Numbers, truth and texts are written in TOML as in JSON, but for one sign.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)
