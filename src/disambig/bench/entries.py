"""The parts of a study: datasets, methods, protocol."""

import json
import math
from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from sklearn.model_selection import ParameterGrid

from disambig._core.errors import DisambigError, UnknownNameError
from disambig._core.messages import quote_value
from disambig.bench.trial import Criterion
from disambig.candidates.groups import DEFAULT_STRENGTH
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import get_method


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else [value]


def without_repeats(values: list[Any]) -> list[Any]:
    """Refuse a list that has something twice."""
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(f"{quote_value(twice[0])} is listed twice: keep one")
    return values


# Lists of a study: nobody writes longer ones, and some of them are multiplied by others.
Many = Field(min_length=1, max_length=1_000)
_MOST_COMBINATIONS = 10_000


class Settings(BaseModel):
    """Settings that are taken literally: "3" is not read as a number, nor is true."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_ONE_OR_MORE = (BeforeValidator(_as_list), Many, AfterValidator(without_repeats))


_Shares = Annotated[list[Annotated[float, Field(ge=0, le=1)]], *_ONE_OR_MORE]


class Corruption(Settings):
    """What happens to labels before training: every ``p`` with every ``r`` and every ``miss``.

    ``p`` and ``r`` make candidate sets from true labels, in every run anew. So do ``q``, the
    probability of every false label, and ``instance``, the probability of the false label that a
    network confuses most with the truth; these sets are made once, by the seed of the protocol.
    Without any of them the sets are those of the dataset. ``miss`` is the share of training sets
    that the truth is then left out of.
    """

    p: _Shares | None = None
    r: Annotated[list[Annotated[int, Field(ge=1)]], *_ONE_OR_MORE] | None = None
    q: _Shares | None = None
    instance: _Shares | None = None
    miss: _Shares = [0.0]

    @property
    def n_settings(self) -> int:
        """In how many ways it corrupts a dataset."""
        lists = (self.p, self.r, self.q, self.instance, self.miss)
        return math.prod(len(values) for values in lists if values)

    @property
    def makes_sets(self) -> bool:
        """Whether it makes candidate sets of true labels."""
        return any(values is not None for values in (self.p, self.q, self.instance))

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.p is None) != (self.r is None):
            raise ValueError("'p' and 'r' go together: give both, or 'miss' alone")
        if sum(values is not None for values in (self.p, self.q, self.instance)) > 1:
            raise ValueError(
                "candidate sets are made in one way: give 'p' and 'r', or 'q', or 'instance'"
            )
        if not self.makes_sets and "miss" not in self.model_fields_set:
            raise ValueError(
                "give 'p' and 'r', 'q', 'instance' or 'miss', or leave 'corruption' out"
            )
        return self


class DatasetEntry(Settings):
    """Data of a study: a named dataset or a file, with the candidate sets it has or corrupted.

    ``title`` is what results call it. ``labels``, ``separator`` and ``truth`` say how to read a
    table, as in ``load_dataset``; ``group`` is the column that says which rows come together, or
    "runs" for neighbouring rows with equal sets. ``promise`` and ``strength`` are what its groups
    promise: one thing, or several in turn. ``imbalance`` leaves training rows out until the
    largest class has so many times as many rows as the smallest: one number, or several in turn.
    """

    name: str | None = None
    path: str | None = None
    title: Annotated[str, Field(min_length=1)] | None = None
    labels: str | None = None
    separator: str | None = None
    truth: str | None = None
    group: str | None = None
    promise: Annotated[list[Literal["none", "cover", "exclusive"]], *_ONE_OR_MORE] = ["none"]
    strength: Annotated[float, Field(ge=0, le=1)] = DEFAULT_STRENGTH
    imbalance: Annotated[list[Annotated[float, Field(ge=1)]], *_ONE_OR_MORE] = [1.0]
    corruption: Corruption | None = None

    @property
    def has_promise(self) -> bool:
        """Whether its groups promise anything."""
        return self.promise != ["none"]

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("give either 'name', for a named dataset, or 'path', for a file")
        if self.path is None and (self.labels or self.separator or self.truth):
            raise ValueError("'labels', 'separator' and 'truth' go with the 'path' of a table only")
        if self.path is None and self.group not in (None, "runs"):
            raise ValueError(
                "a named dataset has no column of groups: leave 'group' out, or make it \"runs\""
            )
        return self

    @model_validator(mode="after")
    def _can_keep_its_promise(self) -> Self:
        if "strength" in self.model_fields_set and not self.has_promise:
            raise ValueError("'strength' is that of a promise: give 'promise', or leave it out")
        if "cover" in self.promise and self.corruption is not None and self.corruption.makes_sets:
            raise ValueError(
                "false labels that are drawn at random belong to no row of a group: leave out "
                'promise = "cover", or what makes sets'
            )
        if "cover" in self.promise and self.imbalance != [1.0]:
            raise ValueError(
                "where rows are left out, a label may belong to no row of its group: leave out "
                "promise = \"cover\", or 'imbalance'"
            )
        return self


class MethodEntry(Settings):
    """A method of a study: its name, its parameters, and a grid of parameters to choose from.

    ``title`` is what results call it.
    """

    name: str
    title: Annotated[str, Field(min_length=1)] | None = None
    parameters: dict[str, Any] = {}
    grid: dict[str, Annotated[list[Any], Many]] = {}

    @property
    def shown_title(self) -> str:
        """What results call it: by default its name in capitals, the title of a baseline."""
        if self.title is not None:
            return self.title
        card = self.method_class.card
        if card.role == "method":
            return card.name.upper()
        return card.title.replace("Logistic regression", "LR")  # which has to fit a column

    @property
    def method_class(self) -> type[PartialLabelClassifier]:
        """The class of the method."""
        return get_method(self.name)

    @property
    def has_epochs(self) -> bool:
        """Whether rows can be watched over the epochs of its training."""
        return {"validation", "early_stopping"} <= set(self.method_class().get_params(deep=False))

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        try:
            self._check_values()
        except (DisambigError, TypeError) as error:  # TypeError: a required argument is missing
            raise ValueError(str(error)) from None
        if "random_state" in {**self.parameters, **self.grid}:
            raise ValueError("leave out 'random_state': seeds follow from that of the protocol")
        both = sorted(set(self.parameters) & set(self.grid))
        if both:
            raise ValueError(f"'parameters' and 'grid' both have {', '.join(both)}: keep one")
        try:
            json.dumps([self.parameters, self.grid], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"parameters must be plain values, as JSON has: {error}") from None
        return self

    def _check_values(self) -> None:
        known = self.method_class().get_params(deep=False)
        for name in {**self.parameters, **self.grid}:
            if name not in known:
                raise UnknownNameError(f"parameter of {self.name}", name, known)
        combinations = math.prod(map(len, self.grid.values()))
        if combinations > _MOST_COMBINATIONS:
            raise ValueError(
                f"'grid' has {combinations:,} combinations, and the limit is "
                f"{_MOST_COMBINATIONS:,}: leave some values out"
            )
        for chosen in ParameterGrid(self.grid) if self.grid else [{}]:
            method = self.method_class(**{**self.parameters, **chosen})
            method._check_parameters()
            method._check_many()


class Protocol(Settings):
    """How rows are held out, how often, by which seed, and how parameters are chosen."""

    kind: Literal["kfold", "holdout"] = "kfold"
    folds: Annotated[int, Field(ge=2)] = 10
    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    repeats: Annotated[int, Field(ge=1)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    selection: Criterion = "covering_rate"
    inner_folds: Annotated[int, Field(ge=2)] = 5
    by_epoch: bool = False
    # Whether whole groups are held out. Both, one after the other, if both are listed.
    groups: Annotated[list[bool], *_ONE_OR_MORE] = [False]

    @property
    def held_out_share(self) -> float:
        """Share of the rows that a run is tested on."""
        return 1 / self.folds if self.kind == "kfold" else self.test_share

    @property
    def sentence(self) -> str:
        """The protocol in words."""
        is_kfold = self.kind == "kfold"
        how = f"{self.folds} folds" if is_kfold else f"{self.test_share:.0%} of the rows"
        if self.groups == [True]:
            how += ", whole groups held out"
        elif True in self.groups:
            how += ", held out as single rows and again as whole groups"
        elif not is_kfold:
            how += " held out"
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
