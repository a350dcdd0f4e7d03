"""Columns of new rows that do not hold what they held in training, all of them in one message."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows, join_names, quote_value
from disambig._core.typing import BoolArray
from disambig.tabular.columns.cells import ColumnValues, UnusableColumnError

_GAPS = "leave cells empty where nothing is known"


class MisfitError(TableError):
    """A column that does not hold what it held in training: what it should hold, and what came."""

    def __init__(self, name: str, needed: str, value: str, rows: str, advice: str) -> None:
        super().__init__(
            f"Column {name!r} must hold {needed}, as in the training table. Got {value} ({rows}): "
            f"{advice}, and {_GAPS}."
        )
        self.name, self.needed, self.value, self.rows, self.advice = (
            name, needed, value, rows, advice,
        )  # fmt: skip

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str, str]]:
        # Exceptions cross process borders by pickling, with the arguments of __init__.
        return type(self), (self.name, self.needed, self.value, self.rows, self.advice)


def misfit_error(cells: ColumnValues, bad: BoolArray, needed: str, advice: str) -> MisfitError:
    """Return the error that the marked cells of a column are not what is needed."""
    value = quote_value(cells.column.iloc[int(np.flatnonzero(bad)[0])])
    return MisfitError(cells.name, needed, value, describe_table_rows(bad), advice)


def read_all(readers: Iterable[Callable[[], Any]]) -> list[Any]:
    """Return what every column gives; raise one error for all columns that are not as needed."""
    read: list[Any] = []
    errors: list[MisfitError | UnusableColumnError] = []
    for reader in readers:
        try:
            read.append(reader())
        except (MisfitError, UnusableColumnError) as error:
            errors.append(error)
    if len(errors) > 1:
        raise TableError(
            f"{len(errors):,} columns do not hold what they held in the training table. "
            f"{'; '.join(_clauses(errors))}. {_GAPS.capitalize()}."
        )
    if errors:
        raise errors[0]
    return read


def _clauses(errors: list[MisfitError | UnusableColumnError]) -> Iterator[str]:
    """Yield what is wrong and what to do, alike columns together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        if isinstance(error, MisfitError):
            problem = (f"must hold {error.needed}", error.advice)
            column = f"{error.name!r} (got {error.value} in {error.rows})"
        else:
            problem = (f"cannot hold {error.what}", error.advice)
            column = f"{error.name!r}{error.rows}"
        alike.setdefault(problem, []).append(column)
    for (what, advice), columns in alike.items():
        yield f"{join_names(columns, longest=None)} {what}: {advice}"
