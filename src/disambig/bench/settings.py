"""A study as it is written down, in Python or TOML."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from disambig._core.errors import StudyError, UnknownNameError
from disambig._core.messages import join_names, printable, quote_value
from disambig._core.parsing import parse_toml, read_small_file
from disambig.bench.entries import (
    DatasetEntry,
    Many,
    MethodEntry,
    Protocol,
    Settings,
    without_repeats,
)
from disambig.metrics.registry import METRICS

_BASELINES = ("random_candidate", "oracle")
_LARGEST_FILE = 1_000_000
# Of wrong settings, in a message.
_MOST_PROBLEMS = 10


def _as_entry(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


_OR_NAME = BeforeValidator(_as_entry)


def _known_metric(name: str) -> str:
    if name not in METRICS:
        raise UnknownNameError("metric", name, METRICS)
    return name


class Study(Settings):
    """The settings of a study: methods, datasets, protocol and metrics.

    Two baselines, logistic regression on a random candidate (``random_candidate``) and on true
    labels (``oracle``), belong to every study and are added if they are not named.

    Parameters
    ----------
    name : str
        Name of the study; its results go into a folder of that name.
    title : str, optional
        Heading of its reports. By default the name.
    about : str, optional
        Introduction to its results, printed above them.
    datasets : list of DatasetEntry, dict or str
        A string is the name of a dataset.
    methods : list of MethodEntry, dict or str
        A string is the name of a method.
    protocol : Protocol or dict, optional
        Ten shuffled folds of rows by default; of whole groups with ``groups=True``.
    metrics : list of str, default=["accuracy"]
        Metrics to make tables of. All metrics are recorded.
    reference : str, optional
        Title of the method that the others are compared with. By default the first.

    See Also
    --------
    run_study : Runs it.
    read_results : Reads its results from a store.

    Examples
    --------
    >>> from disambig.bench import Study
    >>> study = Study(
    ...     name="small",
    ...     datasets=["lost", {"name": "glass", "corruption": {"p": 0.5, "r": 1}}],
    ...     methods=["plknn", {"name": "sure", "parameters": {"penalty": 0.05}}],
    ...     protocol={"folds": 5},
    ... )
    >>> study.reference_title
    'PLKNN'
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    title: str = ""
    datasets: Annotated[list[Annotated[DatasetEntry, _OR_NAME]], Many]
    methods: Annotated[list[Annotated[MethodEntry, _OR_NAME]], Many]
    about: str = ""
    protocol: Protocol = Protocol()
    metrics: Annotated[
        list[Annotated[str, AfterValidator(_known_metric)]],
        Many,
        AfterValidator(without_repeats),
    ] = Field(default=["accuracy"])
    reference: str | None = None

    @property
    def heading(self) -> str:
        """What its pages are called: the title, or else the name."""
        return self.title.strip() or self.name

    def __init__(self, /, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise StudyError(validation_message(error)) from None

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a study from a file; paths of data in it are relative to it."""
        path = Path(path)

        def refuse(reason: str) -> StudyError:
            return StudyError(f"{path} does not describe a study: {reason}.")

        try:
            content = read_small_file(path, refuse, largest=_LARGEST_FILE)
        except FileNotFoundError:
            raise StudyError(f"There is no file {path}. Check the path.") from None
        settings = parse_toml(content, refuse)
        resolve_data_paths(settings, path.parent)
        try:
            return cls(**settings)
        except StudyError as error:
            raise StudyError(f"{path}: {error}") from None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        titles = Counter(method.shown_title for method in self.with_baselines())
        twice = sorted(title for title, count in titles.items() if count > 1)
        if twice:
            raise ValueError(f"two methods are called {join_names(twice)}: give one a 'title'")
        compared = [m.shown_title for m in self.methods if m.method_class.card.role == "method"]
        if not compared:
            raise ValueError("a study needs a method besides the baselines")
        if self.reference is not None and self.reference not in compared:
            raise ValueError(
                f"'reference' must be one of {join_names(compared)}; got "
                f"{quote_value(self.reference)}"
            )
        if self.protocol.by_epoch:
            self._check_epochs(compared)
        if True not in self.protocol.groups and any(e.has_promise for e in self.datasets):
            raise ValueError("a 'promise' is one of groups: set groups = true in the protocol")
        return self

    def _check_epochs(self, compared: list[str]) -> None:
        for method in self.methods:
            if method.shown_title in compared and not method.has_epochs:
                raise ValueError(
                    f"'by_epoch' needs methods with epochs: {method.shown_title} has none"
                )
            watching = {"validation", "early_stopping"} & {*method.parameters, *method.grid}
            if watching:
                raise ValueError(
                    "'by_epoch' watches held-out rows itself: leave out "
                    f"{', '.join(sorted(watching))} of {method.shown_title}"
                )
            if "epochs" in method.grid:
                raise ValueError(
                    f"'by_epoch' needs the same epochs in every run: take 'epochs' out of the grid "
                    f"of {method.shown_title}"
                )

    def with_baselines(self) -> list[MethodEntry]:
        """Return all methods, the baselines among them."""
        named = {method.name for method in self.methods}
        added = [MethodEntry(name=name) for name in _BASELINES if name not in named]
        return [*self.methods, *added]

    @property
    def reference_title(self) -> str:
        """Title of the method that the others are compared with."""
        if self.reference is not None:
            return self.reference
        return next(m.shown_title for m in self.methods if m.method_class.card.role == "method")


def resolve_data_paths(settings: dict[str, Any], folder: Path) -> None:
    """Make the paths of data in settings that were read from a file relative to its folder."""
    entries = settings.get("datasets")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            entry["path"] = str(folder / entry["path"])


_MESSAGES = {
    "missing": "is missing. Give it.",
    "extra_forbidden": "there is no such setting. Take it out, or check its spelling.",
    "string_pattern_mismatch": "must be letters, digits and . _ -, a letter or digit first.",
}


def validation_message(error: ValidationError) -> str:
    """Return a line for every setting that is wrong."""
    problems = error.errors(include_url=False)
    lines = [f"{_key_path(one['loc'])}{_sentence(one)}" for one in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"{len(problems) - _MOST_PROBLEMS:,} more settings are wrong.")
    return "\n".join(lines)


def _key_path(location: tuple[int | str, ...]) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{printable(part, 60)}" for part in location
    )
    return f"{path.lstrip('.')}: " if path else ""


def _sentence(problem: Any) -> str:
    kind, given = problem["type"], f" Got {quote_value(problem['input'])}."
    message = problem["msg"].removeprefix("Value error, ").rstrip(".")
    if kind == "value_error":
        return f"{message}."
    if kind == "too_long":
        return f"{message.replace(' after validation', '')}. Make several studies of it."
    if kind == "string_pattern_mismatch":
        return _MESSAGES[kind] + given
    return _MESSAGES.get(kind, f"{message}.{given}")


# Writing -----------------------------------------------------------------------------------------

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def given_settings(study: Study, path_of: Callable[[str], str]) -> dict[str, Any]:
    """Return what was set, as plain values; what was left out has its default.

    Parameters
    ----------
    study : Study
        The study to write.
    path_of : callable
        Returns what to write for the path of a data file.
    """
    settings = study.model_dump(mode="json", exclude_unset=True)
    for entry in settings["datasets"]:
        if entry.get("path") is not None:
            entry["path"] = path_of(entry["path"])
    return settings


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as TOML, or as JSON where a value is None, which TOML cannot write.

    Written by hand: libraries put every number of a grid on a line of its own.
    """
    if can_be_toml(settings):
        return "\n".join(_toml(settings)) + "\n"
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def can_be_toml(value: Any) -> bool:
    """Tell whether plain values can be written as TOML, which has no None."""
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
    return isinstance(value, list) and bool(value) and all(isinstance(b, Mapping) for b in value)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # TOML writes numbers, booleans and strings as JSON does, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)
