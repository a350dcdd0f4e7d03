"""Which columns of a table are features, how each is read, and what they hold."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, get_args

from disambig._core.errors import TableError
from disambig._core.messages import did_you_mean, join_names, option
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.columns.cells import UnusableColumnError, read_column
from disambig.tabular.columns.described_plan import (
    check_models_have_columns,
    described_kind,
    described_notices,
    plan_described,
)
from disambig.tabular.columns.kinds import ColumnKind, describe_cells
from disambig.tabular.columns.numbers import Decimal, may_separate_thousands
from disambig.tabular.columns.plan_notices import (
    LEAKING,
    leakage_notices,
    no_features_message,
    not_on_disk,
    notices_of_kinds,
    text_notices,
    unusable_message,
    unusable_notices,
    writing_notices,
)
from disambig.tabular.columns.values import (
    ColumnPlan,
    PlannedColumn,
    check_column_names,
    read_described,
    read_values,
    values_frame,
)
from disambig.tabular.columns.values_on_disk import Values, ValuesOnDisk
from disambig.tabular.defaults import DELIMITER
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.embeddings import check_embeddings
from disambig.tabular.files.table_on_disk import TableOnDisk
from disambig.tabular.labels.label_columns import LabelColumns, Labels, label_column_names
from disambig.tabular.labels.row_groups import GROUPS, RowGroups
from disambig.tabular.listener import FitListener
from disambig.tabular.table_cells import (
    CLEAN_COLUMNS,
    DECISION_COLUMN,
    MISS_COLUMNS,
    check_columns,
    find_column,
    is_blank,
)

Names = str | Sequence[str]

# A column of more values, or of a single label, is not taken for a column of labels.
_MOST_VALUES = 1000
_FEWEST_LABELS = 2
_READ_WHOLE = (
    f"Leave them out ({option('ignore')}), or read the whole table: --memory SIZE (in Python "
    "read_table)."
)


class FeatureColumns:
    """What a caller says about the columns of a table; misspelled names are refused at once."""

    def __init__(
        self,
        frame: Any,
        labels: Labels,
        *,
        truth: str | None,
        id: str | None,
        features: Names | None,
        ignore: Names,
        categories: Names,
        text: Names = (),
        group: str | None = None,
        decimal: Decimal | None = None,
        described: DescribedColumns | None = None,
        embeddings: Any = None,
        listener: FitListener | None = None,
    ) -> None:
        check_column_names(frame)
        if decimal is not None:
            check_choice("decimal", decimal, get_args(Decimal))
        described = described or DescribedColumns()
        reserved = dict.fromkeys(label_column_names(labels, frame), "the candidate labels")
        others = (
            (truth, "the true labels"),
            (id, "the names of the rows"),
            (RowGroups(group=group).column(frame), GROUPS),
        )
        for name, what in others:
            if name is not None:
                find_column(frame, name, what=what)
                if name in reserved:
                    raise TableError(
                        f"Column {name!r} cannot be {what}: it already holds {reserved[name]}. "
                        "Name another."
                    )
                # The file of an image may well name its row; other columns do one thing.
                if name != id or name not in described.image_columns:
                    reserved[name] = what
        chosen_columns(frame, features=features, ignore=ignore, reserved=list(reserved))
        made_elsewhere = not label_column_names(labels, frame)
        self._separator = LabelColumns.of("label" if made_elsewhere else labels).separator
        self._frame = frame
        self._given: dict[str, Any] = {
            "features": features,
            "ignore": ignore,
            "reserved": list(reserved),
            "categories": categories,
            "text": text,
            "decimal": decimal,
            "described": described,
            "embeddings": embeddings,
            "listener": listener,
        }

    def plan(self, candidates: CandidateLabels) -> tuple[ColumnPlan, Any, list[str]]:
        """Return which columns are features, their values, and notices about the others."""
        classes = set(candidates.classes.tolist())
        return plan_columns(self._frame, **self._given, labels=classes, separator=self._separator)


def plan_columns(
    frame: Any,
    *,
    features: Names | None = None,
    ignore: Names = (),
    reserved: Names = (),
    categories: Names = (),
    text: Names = (),
    labels: Collection[str] = (),
    separator: str = LabelColumns.separator,
    decimal: Decimal | None = None,
    described: DescribedColumns | None = None,
    embeddings: Any = None,
    listener: FitListener | None = None,
) -> tuple[ColumnPlan, Any, list[str]]:
    """Decide which columns of a table are features and how each is read, and read them.

    Unless they were chosen by hand, columns are left out that can give the label away.

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
    text : sequence of str, default=()
        Columns of free text, even if they look like anything else.
    labels, separator : collection of str, str
        A column whose values are some of these, or several with the separator between, holds
        labels.
    decimal : {".", ","}, optional
        What is before the decimals of numbers. By default what the numbers themselves say.
    described : DescribedColumns, optional
        Which columns are images, and how these become numbers.
    embeddings : array-like of shape (n_rows, n_numbers), optional
        Numbers of every row that are not in the table.
    listener : FitListener, optional
        Is told how far that is.

    Returns
    -------
    plan : ColumnPlan
        The features.
    values : DataFrame or ValuesOnDisk
        What ``column_values`` returns for the plan. Read here, because a column is judged by what
        it holds, and to read it again would take as long.
    notices : list of str
        Which columns were left out and why, and what was guessed.

    Raises
    ------
    TableError
        If a column is not in the table, if one that was chosen cannot be learned from, or if none
        is left.
    """
    names = chosen_columns(frame, features=features, ignore=ignore, reserved=reserved)
    codes, texts = set(_as_names(categories)), set(_as_names(text))
    known, by_hand = set(labels), features is not None
    described, listener = described or DescribedColumns(), listener or FitListener()
    can_be_named = {*names, *_as_names(ignore)}
    _check_kind(frame, _as_names(categories), "a category", "categories", can_be_named, names)
    _check_kind(frame, _as_names(text), "a column of text", "text", can_be_named, names)
    _check_kind(frame, described.image_columns, "an image", "images", can_be_named, names)
    given = Counter([*codes, *texts, *set(described.image_columns)])
    twice = sorted(name for name, count in given.items() if count > 1)
    if twice:
        raise TableError(
            f"A column is a category, a text or an image. {join_names(map(repr, twice))} was "
            "chosen as more than one of these: keep one."
        )
    cleaned = not by_hand and set(CLEAN_COLUMNS) <= set(frame.columns)
    added = (*CLEAN_COLUMNS, *MISS_COLUMNS, DECISION_COLUMN)
    results = [name for name in added if cleaned and name in names]
    kinds: dict[str, ColumnKind] = {}
    read: dict[str, tuple[PlannedColumn, list[Any] | AnyArray]] = {}
    on_disk = isinstance(frame, TableOnDisk)
    left_on_disk: list[str] = []  # texts and images, which are described by what they hold together
    unusable: list[UnusableColumnError] = []
    wanted = set(names) - set(results)

    def look_at(name: str, column: Any, decimal: Decimal | None) -> None:
        try:
            cells = read_column(column)
            kind = kinds[name] = describe_cells(
                cells, category=name in codes, text=name in texts, decimal=decimal
            )
            if name not in codes and name not in texts:
                kind = kinds[name] = described_kind(cells, kind, described)
            learned = by_hand or kind.kind not in LEAKING
            if on_disk and learned and kind.feature in ("image", "text"):
                left_on_disk.append(name)
            elif kind.kind == "image" or (kind.kind == "text" and described.text_model is not None):
                planned, describer = plan_described(name, kind.kind, described)
                numbers = read_described(cells, planned, described, listener, describer)
                read[name] = planned, numbers
            elif kind.feature is not None and learned:
                planned = PlannedColumn.of(name, kind)
                values = read_values(cells, planned)
                read[name] = planned, [] if on_disk else values
        except UnusableColumnError as error:
            unusable.append(error)

    for name in names:
        if name in wanted:
            look_at(name, frame[name], decimal)
    if decimal is None and _has_decimal_commas(frame, kinds):
        for name in [name for name, kind in kinds.items() if kind.both_decimals]:
            read.pop(name, None)
            look_at(name, frame[name], ",")
        _remark_on_points(frame, kinds)
    if left_on_disk and (by_hand or texts.intersection(left_on_disk)):
        raise TableError(f"{not_on_disk(left_on_disk)} {_READ_WHOLE}")
    if unusable and by_hand:
        raise TableError(unusable_message(unusable, kinds))
    # Booleans and numbers are other things even where labels are called yes and no, or 0 and 1.
    leaking = [
        name
        for name, kind in kinds.items()
        if not by_hand and kind.kind == "category" and _are_labels(frame[name], known, separator)
    ]
    for name in leaking:
        del kinds[name], read[name]
    matrix = None if embeddings is None else check_embeddings(embeddings, len(frame))
    if not read and matrix is None:
        raise TableError(no_features_message(kinds, unusable))
    in_order = [read[name] for name in names if name in read]
    plan = ColumnPlan(
        columns=tuple(planned for planned, _ in in_order),
        embeddings=0 if matrix is None else matrix.shape[1],
    )
    check_models_have_columns(plan, described)
    values: Values
    if isinstance(frame, TableOnDisk):
        values = ValuesOnDisk(frame, plan, embeddings=matrix)
    else:
        values = values_frame(plan, [arrays for _, arrays in in_order], len(frame), matrix)
    notices = [
        *leakage_notices(leaking, results),
        *unusable_notices(unusable),
        *writing_notices(kinds, plan.names),
        *text_notices(plan, named=texts),
        *([not_on_disk(left_on_disk)] if left_on_disk else []),
        *notices_of_kinds(kinds, set(plan.names)),
        *described_notices(plan),
    ]
    return plan, values, notices


def chosen_columns(
    frame: Any, *, features: Names | None, ignore: Names, reserved: Names
) -> list[str]:
    """Return the columns that may be features, in the order of the table; refuse unknown names."""
    check_column_names(frame)
    present = list(frame.columns)
    check_columns(frame, _as_names(ignore), "left out")
    left_out = {*_as_names(ignore), *_as_names(reserved)}
    if features is None:
        return [name for name in present if name not in left_out]
    chosen = set(_as_names(features))
    check_columns(frame, _as_names(features), "a feature", "features")
    for others, role in ((ignore, "to be left out"), (reserved, "a label or the like")):
        both = [name for name in present if name in chosen & set(_as_names(others))]
        if both:
            raise TableError(
                f"A column is either a feature or not. {join_names(map(repr, both))} was chosen as "
                f"a feature, and is also {role}: keep one."
            )
    return [name for name in present if name in chosen]


def _as_names(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def _check_kind(
    frame: Any, codes: Sequence[str], one: str, several: str, known: set[str], chosen: list[str]
) -> None:
    """Refuse columns of a kind that cannot be features; one that is left out may be named too."""
    check_columns(frame, codes, one, several)
    strange = next((name for name in codes if name not in known), None)
    if strange is not None:
        raise TableError(
            f"{one.capitalize()} must be a feature. {strange!r} is not: it holds labels, groups or "
            f"names of rows, or other features were chosen.{did_you_mean(strange, chosen)}"
        )


def _are_labels(column: Any, known: set[str], separator: str) -> bool:
    distinct = column.dropna().unique()[: _MOST_VALUES + 1]
    values = [str(value) for value in distinct if not is_blank(value)]  # gaps may be called NA
    pieces = {piece.strip() for value in values for piece in value.split(separator)} - {""}
    return len(values) <= _MOST_VALUES and len(pieces) >= _FEWEST_LABELS and pieces <= known


def _has_decimal_commas(frame: Any, kinds: dict[str, ColumnKind]) -> bool:
    """Tell whether numbers of a table are sure to be written with decimal commas, if with commas.

    Where commas are before decimals, spreadsheets put semicolons between the cells of a text file.
    """
    written = [kind.writing for kind in kinds.values() if not kind.both_decimals]
    commas = any(writing is not None and writing.decimal == "," for writing in written)
    return commas or frame.attrs.get(DELIMITER) == ";"


def _remark_on_points(frame: Any, kinds: dict[str, ColumnKind]) -> None:
    """Remark on points that may be between thousands, as others have commas before decimals."""
    for name, kind in kinds.items():
        plain = kind.feature == "number" and kind.writing is None
        if plain and may_separate_thousands(read_column(frame[name])):
            remark = (
                f"Points in {name!r} are taken to be before decimals, but may be between "
                f"thousands: other columns have decimal commas. If so, use {option('decimal', ',')}"
                "."
            )
            kinds[name] = replace(kind, remark=remark)
