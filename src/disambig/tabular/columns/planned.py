"""The columns that are features, as they are kept with a model."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig.tabular.columns.kinds import DateFormat, FeatureKind


class Record(BaseModel):
    """Something that is kept with a model: checked strictly, and never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PlannedColumn(Record):
    """A column that is a feature. ``date_format`` goes with dates, and only with them."""

    name: str
    kind: FeatureKind
    date_format: DateFormat | None = None

    @model_validator(mode="after")
    def _check_date_format(self) -> Self:
        if (self.kind == "date") != (self.date_format is not None):
            raise ValueError(f"{self.name!r}: a date, and nothing else, needs a 'date_format'")
        return self


class ColumnPlan(Record):
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
