"""Which columns of a table are features, how each is read, and what they hold."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, get_args

from disambig._core.errors import TableError
from disambig._core.messages import did_you_mean, join_names, option, printable
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.columns.cells import UnusableColumnError, read_column
from disambig.tabular.columns.described_plan import (
    described_kind,
    described_notices,
    plan_described,
)
from disambig.tabular.columns.embeddings import check_embeddings
from disambig.tabular.columns.kinds import ColumnKind, describe_cells
from disambig.tabular.columns.numbers import PLAIN, Decimal, may_separate_thousands
from disambig.tabular.columns.values import (
    ColumnPlan,
    PlannedColumn,
    check_column_names,
    read_described,
    read_values,
    values_frame,
)
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.files.content import DELIMITER
from disambig.tabular.labels.label_columns import LabelColumns, Labels, label_column_names
from disambig.tabular.labels.row_groups import GROUPS, RowGroups
from disambig.tabular.listener import FitListener
from disambig.tabular.table_cells import (
    CLEAN_COLUMNS,
    MISS_COLUMNS,
    UNNAMED,
    check_columns,
    find_column,
    is_blank,
)

Names = str | Sequence[str]

# A column of more values, or of a single label, is not taken for a column of labels.
_MOST_VALUES = 1000
_FEWEST_LABELS = 2
_MOST_REMARKS = 5
# They can give the label away.
_LEAKING = ("identifier", "names", "counter")
# Why a column is left out, said of one and of several.
_WHY_LEFT_OUT = {
    "identifier": ("is an identifier", "are identifiers"),
    "names": ("holds names or codes", "hold names or codes"),
    "counter": ("counts the rows", "count the rows"),
    "constant": ("has one value in all rows", "have one value in all rows"),
    "empty": ("is empty", "are empty"),
}
_NO_NAME = " (the first column, which has no name)"


class FeatureColumns:
    """What a caller says about the columns of a table; misspelled names are refused at once."""

    def __init__(
        self,
        frame: Any,
        labels: Labels,
        *,
        truth: str | None,
        id: str | None,  # noqa: A002  # as people call it
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
    values : DataFrame
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
    both = [name for name in _as_names(text) if name in codes]
    if both:
        raise TableError(
            f"A column is either text or a category. {join_names(map(repr, both))} was chosen as "
            "both: keep one."
        )
    cleaned = not by_hand and set(CLEAN_COLUMNS) <= set(frame.columns)
    results = [name for name in (*CLEAN_COLUMNS, *MISS_COLUMNS) if cleaned and name in names]
    kinds: dict[str, ColumnKind] = {}
    read: dict[str, tuple[PlannedColumn, list[Any] | AnyArray]] = {}
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
            if kind.kind == "image" or (kind.kind == "text" and described.text_model is not None):
                planned = plan_described(name, kind.kind, described)
                read[name] = planned, read_described(cells, planned, described, listener)
            elif kind.feature is not None and (by_hand or kind.kind not in _LEAKING):
                planned = PlannedColumn.of(name, kind)
                read[name] = planned, read_values(cells, planned)
        except UnusableColumnError as error:
            unusable.append(error)

    for name, column in frame.items():
        if name in wanted:
            look_at(name, column, decimal)
    if decimal is None and _has_decimal_commas(frame, kinds):
        for name in [name for name, kind in kinds.items() if kind.both_decimals]:
            read.pop(name, None)
            look_at(name, frame[name], ",")
        _remark_on_points(frame, kinds)
    if unusable and by_hand:
        raise TableError(_unusable_message(unusable, kinds))
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
        raise TableError(_no_features_message(kinds, unusable))
    in_order = [read[name] for name in names if name in read]
    plan = ColumnPlan(
        columns=tuple(planned for planned, _ in in_order),
        embeddings=0 if matrix is None else matrix.shape[1],
    )
    values = values_frame(plan, [arrays for _, arrays in in_order], len(frame), matrix)
    notices = [
        *_leakage_notices(leaking, results),
        *_unusable_notices(unusable),
        *_writing_notices(kinds, plan.names),
        *_notices(kinds, set(plan.names)),
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


def _unusable_message(unusable: list[UnusableColumnError], kinds: dict[str, ColumnKind]) -> str:
    remarks = (kinds[each.name].remark for each in unusable if each.name in kinds)
    remark = next((f" {remark}" for remark in remarks if remark), "")
    return (
        "Features must be numbers, categories, booleans or dates. "
        f"{_what_they_hold(unusable)}. Choose others, or leave "
        f"{'it' if len(unusable) == 1 else 'them'} out: {option('ignore')}.{remark}"
    )


def _unusable_notices(unusable: list[UnusableColumnError]) -> list[str]:
    if not unusable:
        return []
    columns = "a column" if len(unusable) == 1 else f"{len(unusable):,} columns"
    return [f"Left out {columns} that cannot be learned from: {_what_they_hold(unusable)}."]


def _what_they_hold(unusable: list[UnusableColumnError]) -> str:
    """Say what every unusable column holds, and what to do; alike ones together."""
    alike: dict[tuple[str, str], list[UnusableColumnError]] = {}
    for each in unusable:
        alike.setdefault((each.what, each.advice), []).append(each)
    clauses = []
    for (what, advice), some in alike.items():
        if len(some) == 1:
            clause = f"{printable(repr(some[0].name))} holds {what}{some[0].rows}"
        else:
            names = join_names((f"{each.name!r}{each.rows}" for each in some), longest=None)
            clause = f"{names} hold {what}"
        clauses.append(f"{clause}: {advice}")
    return "; ".join(clauses)


def _no_features_message(kinds: dict[str, ColumnKind], unusable: list[UnusableColumnError]) -> str:
    start = "A table needs at least one column that can be a feature."
    if not kinds and not unusable:
        return f"{start} Got none besides the labels and what was left out: add features."
    left_out = [
        f"{name!r} {_WHY_LEFT_OUT[kind.kind][0]}"
        for name, kind in kinds.items()
        if kind.kind in _WHY_LEFT_OUT
    ]
    reasons = filter(None, [join_names(left_out, most=4), _what_they_hold(unusable)])
    remark = next((f" {kind.remark}" for kind in kinds.values() if kind.remark), "")
    return (
        f"{start} Got none: {'; '.join(reasons)}. Add features, or choose some: "
        f"{option('features')}.{remark}"
    )


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


def _writing_notices(kinds: dict[str, ColumnKind], used: Sequence[str]) -> list[str]:
    """Say which numbers are written in another way than 1234.5."""
    by_example: dict[str, list[str]] = {}
    for name in used:
        writing = kinds[name].writing
        if writing is not None and writing.example != PLAIN:
            by_example.setdefault(writing.example, []).append(repr(name))
    if not by_example:
        return []
    clauses = (f"in {join_names(names)} like {example}" for example, names in by_example.items())
    return [f"Numbers are read as they are written: {'; '.join(clauses)}."]


def _leakage_notices(leaking: Sequence[str], results: Sequence[str]) -> list[str]:
    notices = []
    if leaking:
        holds, it = ("holds", "it") if len(leaking) == 1 else ("hold", "them")
        notices.append(
            f"Left out {join_names(map(repr, leaking))}, which {holds} labels and can give the "
            f"right one away; use {option('features')} to keep {it}. A column of true labels is "
            "named by --truth (truth=)."
        )
    if results:
        notices.append(f"Left out what an earlier cleaning has added: {join_names(results)}.")
    return notices


def _notices(kinds: dict[str, ColumnKind], used: set[str]) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if name not in used:
            by_kind.setdefault(kind.kind, []).append(name)
    notices = [_left_out_notice(kind, by_kind[kind]) for kind in _WHY_LEFT_OUT if kind in by_kind]
    remarks = [kind.remark for kind in kinds.values() if kind.remark]
    remarks += [
        f"The first column has no name, and is learned from as {name!r}: it does not number or "
        "name the rows."
        for name in kinds
        if name.startswith(UNNAMED) and name in used
    ]
    more = len(remarks) - _MOST_REMARKS
    if more > 0:
        remarks[_MOST_REMARKS:] = [f"The same, or similar, holds for {more:,} more columns."]
    return notices + remarks


def _left_out_notice(kind: str, names: list[str]) -> str:
    one = len(names) == 1
    they, them = ("it", "it") if one else ("they", "them")
    shown = (f"{name!r}{_NO_NAME if name.startswith(UNNAMED) else ''}" for name in names)
    start = f"Left out {join_names(shown)}, which {_WHY_LEFT_OUT[kind][not one]}"
    if kind not in _LEAKING:
        return f"{start}: nothing can be learned from {them}."
    return (
        f"{start}, because {they} can give the label away; use {option('features')} to keep {them}."
    )
