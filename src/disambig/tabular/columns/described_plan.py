"""Which columns are images, and what describes them."""

from dataclasses import replace
from typing import get_args

from disambig._core.errors import MissingExtraError, TableError
from disambig._core.messages import option
from disambig.tabular.columns.cells import ColumnValues, distinct_strings
from disambig.tabular.columns.kinds import ColumnKind
from disambig.tabular.columns.values import ColumnPlan, PlannedColumn
from disambig.tabular.described.described_by import DescribedBy, find_describer
from disambig.tabular.described.described_columns import DescribedColumns, FoundImages
from disambig.tabular.described.describers import DescribedKind, Describer

_IMAGE = ColumnKind("image", "image")
_NOT_READ: dict[FoundImages, str] = {
    "missing": "The cells of {name!r} end like image files, but those that were looked for are not "
    "there, so the column is not read as images: paths begin in the folder of the table.",
    "addresses": "The cells of {name!r} are addresses of images, and nothing is fetched, so the "
    "column is not read as images: save the files, and write their paths.",
}


def described_kind(
    cells: ColumnValues, kind: ColumnKind, described: DescribedColumns
) -> ColumnKind:
    """Return what a column holds; images are told by their names and their files."""
    if kind.kind == "empty":
        return kind
    if cells.name in described.image_columns:
        return _IMAGE
    if cells.form != "strings" or kind.kind not in ("identifier", "names", "text", "category"):
        return kind
    found = described.find_images(distinct_strings(cells)[1])
    if found == "files":
        return _IMAGE
    return kind if found is None else replace(kind, remark=_NOT_READ[found].format(name=cells.name))


def plan_described(
    name: str, kind: DescribedKind, described: DescribedColumns
) -> tuple[PlannedColumn, Describer]:
    """Return the plan of a column that a describer turns into numbers, and the describer."""
    try:
        describer = find_describer(kind, described.model_of(kind))
    except MissingExtraError as error:
        raise MissingExtraError(
            f"Column {name!r} is one of {kind}s. {error} Or leave it out: {option('ignore', name)}."
        ) from error
    planned = PlannedColumn(name=name, kind=kind, described_by=DescribedBy.of(describer))
    return planned, describer


def check_models_have_columns(plan: ColumnPlan, described: DescribedColumns) -> None:
    """Refuse a model of images or texts that was asked for, and would describe nothing."""
    for kind in get_args(DescribedKind):
        if described.model_of(kind) is not None and kind not in plan.by_kind():
            raise TableError(
                f"There is nothing for {option(f'{kind}-model')} to describe: no column that is "
                f"used was read as {kind}s. Name one by --{kind}, or leave the model out."
            )


def described_notices(plan: ColumnPlan) -> list[str]:
    """Say which columns are described, and by what, and whether embeddings are used."""
    beside = [f"Each row has an embedding of {plan.embeddings:,} numbers."]
    return [
        f"Read {column.name!r} as {column.kind}s, each described by "
        f"{column.described_by.width:,} numbers (--{column.kind}-model "
        f"{column.described_by.name})."
        for column in plan.columns
        if column.described_by is not None
    ] + beside[: plan.embeddings]
