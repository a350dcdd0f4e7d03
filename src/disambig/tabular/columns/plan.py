"""Which columns of a table are features, and how each is read; kept with a model."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from disambig._core.errors import TableError
from disambig._core.messages import did_you_mean, join_names, option
from disambig.tabular.columns.kinds import ColumnKind, DateFormat, FeatureKind, describe_column
from disambig.tabular.table_columns import missing_columns_message

_MOST_REMARKS = 5
# They can give the label away.
_LEAKING = ("identifier", "counter")
# Why a column is left out, said of one and of several.
_WHY_LEFT_OUT = {
    "identifier": ("is an identifier", "are identifiers"),
    "counter": ("counts the rows", "count the rows"),
    "constant": ("has one value in all rows", "have one value in all rows"),
    "empty": ("is empty", "are empty"),
}


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PlannedColumn(_Record):
    """A column that is a feature. ``date_format`` goes with dates, and only with them."""

    name: str
    kind: FeatureKind
    date_format: DateFormat | None = None

    @model_validator(mode="after")
    def _check_date_format(self) -> Self:
        if (self.kind == "date") != (self.date_format is not None):
            raise ValueError(f"{self.name!r}: a date, and nothing else, needs a 'date_format'")
        return self


class ColumnPlan(_Record):
    """The columns that are features, in the order of the table."""

    columns: tuple[PlannedColumn, ...] = Field(min_length=1)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def by_kind(self) -> dict[str, list[str]]:
        """Return the names of the columns of each kind."""
        kinds: dict[str, list[str]] = {}
        for column in self.columns:
            kinds.setdefault(column.kind, []).append(column.name)
        return kinds

    @model_validator(mode="after")
    def _check_names_differ(self) -> Self:
        if len(set(self.names)) < len(self.names):
            raise ValueError("a column is planned twice")
        return self


def plan_columns(
    frame: Any,
    *,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    reserved: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
) -> tuple[ColumnPlan, list[str]]:
    """Decide which columns of a table are features, and how each is read.

    Parameters
    ----------
    frame : DataFrame
        The table.
    features : sequence of str, optional
        The columns to take, even identifiers and counters. By default all that can be learned from.
    ignore : sequence of str, default=()
        Columns to leave out.
    reserved : sequence of str, default=()
        Columns that are never features, such as labels.
    categories : sequence of str, default=()
        Columns whose values are codes, even if they look like numbers or anything else.

    Returns
    -------
    plan : ColumnPlan
        The features.
    notices : list of str
        Which columns were left out and why, and what was guessed.

    Raises
    ------
    TableError
        If a column is not in the table, cannot be read or holds free text, or none is left.
    """
    names = chosen_columns(frame, features=features, ignore=ignore, reserved=reserved)
    codes = _as_names(categories)
    _check_categories(codes, names, _as_names(ignore), list(frame.columns))
    kinds = {name: describe_column(frame[name], category=name in codes) for name in names}
    _refuse_text([name for name, kind in kinds.items() if kind.kind == "text"], kinds)
    by_hand = features is not None
    columns = [
        PlannedColumn(name=name, kind=kind.feature, date_format=kind.date_format)
        for name, kind in kinds.items()
        if kind.feature is not None and (by_hand or kind.kind not in _LEAKING)
    ]
    if not columns:
        raise TableError(_no_features_message(kinds))
    plan = ColumnPlan(columns=tuple(columns))
    return plan, _notices(kinds, set(plan.names))


def check_column_names(frame: Any) -> None:
    """Refuse a table whose columns are not named by different strings."""
    for name in frame.columns:
        if not isinstance(name, str):
            raise TableError(
                f"The columns of a table are known by their names. Got {name!r}, a "
                f"{type(name).__name__}. Write frame.columns = [...] with a string for each."
            )
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()]
        raise TableError(
            "The columns of a table need different names. More than one is called "
            f"{join_names(repr(name) for name in dict.fromkeys(twice))}: rename them."
        )


def chosen_columns(
    frame: Any,
    *,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    reserved: str | Sequence[str] = (),
) -> list[str]:
    """Return the columns that may be features, in the order of the table; refuse unknown names.

    The parameters are those of ``plan_columns``.
    """
    check_column_names(frame)
    present = list(frame.columns)
    _check_present(_as_names(ignore), present, "left out")
    left_out = {*_as_names(ignore), *_as_names(reserved)}
    if features is None:
        return [name for name in present if name not in left_out]
    chosen = set(_as_names(features))
    _check_present(_as_names(features), present, "a feature" if len(chosen) == 1 else "features")
    for others, role in ((ignore, "to be left out"), (reserved, "a label or the like")):
        both = [name for name in present if name in chosen and name in _as_names(others)]
        if both:
            raise TableError(
                f"A column is a feature or it is not. {join_names(map(repr, both))} was chosen as "
                f"a feature, and is also {role}: keep one."
            )
    return [name for name in present if name in chosen]


def _as_names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def _check_present(names: Iterable[str], present: list[str], what: str) -> None:
    known = set(present)
    missing = [name for name in names if name not in known]
    if missing:
        raise TableError(missing_columns_message(missing, present, what=what))


def _check_categories(
    codes: list[str], chosen: list[str], ignored: list[str], present: list[str]
) -> None:
    _check_present(codes, present, "a category" if len(codes) == 1 else "categories")
    # A column that is left out may be named as well.
    strange = [name for name in codes if name not in {*chosen, *ignored}]
    if strange:
        raise TableError(
            f"A category must be a feature. {strange[0]!r} is not: it holds labels or names of "
            f"rows, or other features were chosen.{did_you_mean(strange[0], chosen)}"
        )


def _refuse_text(names: list[str], kinds: dict[str, ColumnKind]) -> None:
    if not names:
        return
    one = len(names) == 1
    which = f"{'Column' if one else 'Columns'} {join_names(map(repr, names))}"
    remark = next((f" {kinds[name].remark}" for name in names if kinds[name].remark), "")
    raise TableError(
        f"Features must be numbers, categories, booleans or dates. {which} "
        f"{'holds' if one else 'hold'} free text: values of many words, or too many different ones "
        f"for a category. Give embeddings of the text instead, one number per column, or leave "
        f"{'it' if one else 'them'} out: {option('ignore')}.{remark}"
    )


def _no_features_message(kinds: dict[str, ColumnKind]) -> str:
    start = "A table needs at least one column that can be a feature."
    if not kinds:
        return f"{start} Got none besides the labels and what was left out: add features."
    reasons = join_names(
        (f"{name!r} {_WHY_LEFT_OUT[kind.kind][0]}" for name, kind in kinds.items()), most=4
    )
    remark = next((f" {kind.remark}" for kind in kinds.values() if kind.remark), "")
    return (
        f"{start} Got none: {reasons}. Add features, or choose some: {option('features')}.{remark}"
    )


def _notices(kinds: dict[str, ColumnKind], used: set[str]) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if name not in used:
            by_kind.setdefault(kind.kind, []).append(name)
    notices = [_left_out_notice(kind, by_kind[kind]) for kind in _WHY_LEFT_OUT if kind in by_kind]
    remarks = [kind.remark for kind in kinds.values() if kind.remark]
    more = len(remarks) - _MOST_REMARKS
    if more > 0:
        remarks[_MOST_REMARKS:] = [f"The same goes, or the like, for {more:,} more columns."]
    return notices + remarks


def _left_out_notice(kind: str, names: list[str]) -> str:
    one = len(names) == 1
    they, them = ("it", "it") if one else ("they", "them")
    start = f"Left out {join_names(map(repr, names))}, which {_WHY_LEFT_OUT[kind][not one]}"
    if kind not in _LEAKING:
        return f"{start}: nothing can be learned from {them}."
    return (
        f"{start}, because {they} can give the label away; use {option('features')} to keep {them}."
    )
