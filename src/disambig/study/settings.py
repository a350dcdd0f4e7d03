"""A study as it is written down, in Python or in a TOML file, checked before anything runs."""

import json
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from sklearn.model_selection import ParameterGrid

from disambig._core.errors import DisambigError, StudyError, UnknownNameError
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.catalogue import get_method
from disambig.study.evaluation import METRICS
from disambig.study.selection import Criterion

__all__ = ["Corruption", "DatasetEntry", "MethodEntry", "Protocol", "Study"]


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else [value]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Corruption(_Settings):
    """Candidate sets made from true labels: every ``p`` with every ``r``."""

    p: Annotated[list[Annotated[float, Field(ge=0, le=1)]], BeforeValidator(_as_list)]
    r: Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(_as_list)]


class DatasetEntry(_Settings):
    """Data of a study: a named dataset, or a file; with its own sets, or corrupted.

    ``labels``, ``separator`` and ``truth`` are columns of a table, as in ``load_dataset``.
    """

    name: str | None = None
    path: str | None = None
    labels: str | None = None
    separator: str | None = None
    truth: str | None = None
    corruption: Corruption | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("give either 'name', for a named dataset, or 'path', for a file")
        return self


class MethodEntry(_Settings):
    """A method of a study: its name, its parameters, and parameters to choose from a grid."""

    name: str
    label: str | None = None
    parameters: dict[str, Any] = {}
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}

    @property
    def title(self) -> str:
        """What tables and figures call it."""
        if self.label is not None:
            return self.label
        card = self.method_class.card
        return card.name.upper() if card.role == "method" else card.name.replace("_", " ")

    @property
    def method_class(self) -> type[PartialLabelClassifier]:
        """The class of the method."""
        return get_method(self.name)

    @property
    def has_epochs(self) -> bool:
        """Whether rows can be watched over the epochs of its training."""
        return "validation" in self.method_class().get_params(deep=False)

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        try:
            known = self.method_class().get_params(deep=False)
            for name in {**self.parameters, **self.grid}:
                if name not in known:
                    raise UnknownNameError(f"parameter of {self.name}", name, known)
            for chosen in ParameterGrid(self.grid) if self.grid else [{}]:
                self.method_class(**{**self.parameters, **chosen})._check_parameters()
        except DisambigError as error:
            raise ValueError(str(error)) from None
        both = sorted(set(self.parameters) & set(self.grid))
        if both:
            raise ValueError(f"'parameters' and 'grid' both have {', '.join(both)}: keep one")
        try:
            json.dumps([self.parameters, self.grid], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"parameters must be plain values that JSON can hold: {error}"
            ) from None
        return self


class Protocol(_Settings):
    """How rows are held out, how often, by which seed, and how parameters are chosen."""

    kind: Literal["kfold", "holdout"] = "kfold"
    folds: Annotated[int, Field(ge=2)] = 10
    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    repeats: Annotated[int, Field(ge=1)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    selection: Criterion = "covering_rate"
    inner_folds: Annotated[int, Field(ge=2)] = 5
    by_epoch: bool = False

    @property
    def held_out_share(self) -> float:
        """Share of the rows that a run is tested on."""
        return 1 / self.folds if self.kind == "kfold" else self.test_share

    @property
    def sentence(self) -> str:
        """The protocol in words."""
        how = (
            f"{self.folds} folds"
            if self.kind == "kfold"
            else f"{self.test_share:.0%} of the rows held out"
        )
        seeds = f"seed {self.seed}"
        if self.repeats > 1:
            seeds = f"{self.repeats} times, seeds {self.seed} to {self.seed + self.repeats - 1}"
        return f"{how}, {seeds}"

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        other = {"kfold": "test_share", "holdout": "folds"}[self.kind]
        if other in self.model_fields_set:
            raise ValueError(f"'{other}' means nothing with kind = \"{self.kind}\": leave it out")
        return self


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Study(_Settings):
    """What to compare, on what, and how: methods, datasets, protocol, metrics.

    The floor (``random_candidate``) and the ceiling (``oracle``) belong to every study and are
    added if they are not named.

    Parameters
    ----------
    name : str
        Name of the study; its results go into a folder of that name.
    about : str, optional
        What readers of its results should know; printed above them.
    datasets : list of DatasetEntry, dict or str
        A text is the name of a dataset.
    methods : list of MethodEntry, dict or str
        A text is the name of a method.
    protocol : Protocol or dict, optional
        Ten shuffled folds by default.
    metrics : list of str, default=["accuracy"]
        What tables are made of. Every metric is recorded.
    reference : str, optional
        Title of the method that the others are compared with. By default the first.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    datasets: Annotated[list[Annotated[DatasetEntry, BeforeValidator(_named)]], Field(min_length=1)]
    methods: Annotated[list[Annotated[MethodEntry, BeforeValidator(_named)]], Field(min_length=1)]
    about: str = ""
    protocol: Protocol = Protocol()
    metrics: Annotated[list[Literal[METRICS]], Field(min_length=1)] = ["accuracy"]  # type: ignore[valid-type]
    reference: str | None = None

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise StudyError(_described(error)) from None

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a study from a file; paths of data in it are relative to it."""
        path = Path(path)
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StudyError(f"There is no file {path}. Check the path.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise StudyError(f"{path} is not TOML: {error}.") from None
        for entry in _dictionaries(settings.get("datasets")):
            if isinstance(entry.get("path"), str):
                entry["path"] = str(path.parent / entry["path"])
        try:
            return cls(**settings)
        except StudyError as error:
            raise StudyError(f"{path}: {error}") from None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        titles = [method.title for method in self.methods]
        twice = sorted({title for title in titles if titles.count(title) > 1})
        if twice:
            raise ValueError(f"two methods are called {', '.join(twice)}: give one a 'label'")
        compared = [m.title for m in self.methods if m.method_class.card.role == "method"]
        if not compared:
            raise ValueError("a study needs a method besides floors and ceilings")
        if self.reference is not None and self.reference not in compared:
            raise ValueError(
                f"'reference' must be one of {', '.join(compared)}; got '{self.reference}'"
            )
        without = [m.title for m in self.methods if m.title in compared and not m.has_epochs]
        if self.protocol.by_epoch and without:
            raise ValueError(f"'by_epoch' needs methods with epochs, not {', '.join(without)}")
        return self

    @property
    def reference_title(self) -> str:
        """Title of the method that the others are compared with."""
        if self.reference is not None:
            return self.reference
        return next(m.title for m in self.methods if m.method_class.card.role == "method")


def _dictionaries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _described(error: ValidationError) -> str:
    return " ".join(f"{_place(one['loc'])}{_sentence(one)}" for one in error.errors())


def _place(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return f"{text.lstrip('.')}: " if text else ""


def _sentence(problem: Any) -> str:
    message = problem["msg"].removeprefix("Value error, ").rstrip(".")
    if problem["type"] in ("value_error", "missing"):
        return f"{message}."
    if problem["type"] == "extra_forbidden":
        return "there is no such setting. Take it out, or check its spelling."
    return f"{message}. Got {problem['input']!r}."
