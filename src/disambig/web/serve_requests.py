"""What a request for predictions asks, checked: options, rows, and the form of the answer."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from disambig._core.errors import DisambigError, ParameterError, TableError
from disambig._core.messages import did_you_mean, join_names, plural, quote_value
from disambig._core.parsing import parse_json
from disambig._core.typing import FloatArray
from disambig.candidates.groups import PromiseKind
from disambig.tabular.columns.cells import UnusableColumnError
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.files.content import FileContent, half_character
from disambig.tabular.files.json_lines import frame_of_records, type_name
from disambig.tabular.files.text import read_delimited, write_delimited
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.model_folder import ModelParts
from disambig.tabular.new_rows import NewRows, WhatToSay, read_new_rows
from disambig.tabular.ranked_labels import POSSIBLE, RankedLabels

Form = Literal["application/json", "text/csv"]
FORMS: tuple[Form, ...] = get_args(Form)
_JSON, _CSV = FORMS
_TABLE = "the table"
_ROWS, _EMBEDDINGS = "rows", "embeddings"
_TRUE_OR_FALSE = {"true": True, "1": True, "false": False, "0": False}
# Of the query: what it is called there, and what it means.
_SET_OPTIONS = ("separator", "votes", "literal_labels", "column_per_label", "empty")
_GROUP_OPTIONS = ("group", "promise", "promise_strength")
QUERY = ("top", "labels", *_SET_OPTIONS, *_GROUP_OPTIONS)
_A_ROW = 'It needs to look like {"rows": [{"column": value}]}, or be the list alone.'


class RequestError(DisambigError, ValueError):
    """A request that cannot be answered, and the status of HTTP that says so."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class Asked:
    """A request for predictions whose head is checked; its body is read where there is time."""

    what: WhatToSay
    sent: Form
    wanted: Form


def check_can_be_served(model: ModelParts) -> None:
    """Refuse a model whose rows cannot come in a request."""
    described = [one for one in model.plan.columns if one.described_by is not None]
    if described:
        one = described[0]
        what = "image files" if one.kind == "image" else "a pretrained model of texts"
        raise ParameterError(
            f"Rows that are served are numbers, categories, dates and words. Column {one.name!r} "
            f"needs {what}. Predict by 'disambig predict', or describe the column in your own "
            "program and fit on the numbers: --features FILE.npy. They can come in a request, as "
            "'embeddings'."
        )


def read_head(query: Sequence[tuple[str, str]], content_type: str, accept: str) -> Asked:
    """Return what the query and the headers of a request ask for."""
    return Asked(_read_query(query), _form_sent(content_type), _form_wanted(accept))


def read_body(model: ModelParts, asked: Asked, body: bytes, *, most_rows: int) -> NewRows:
    """Return the rows of a request; refuse what the model cannot read, and too many of them."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = _read_rows(model, asked, _decoded(body), most_rows)
    except RequestError:
        raise
    except UnusableColumnError as error:  # whose advice is for training
        raise RequestError(
            f"Column {error.name!r} cannot hold {error.what}{error.rows}: {error.advice}.", 422
        ) from None
    except DisambigError as error:
        raise RequestError(str(error), 422) from None
    return replace(rows, notices=(*(str(one.message) for one in caught), *rows.notices))


def write_answer(asked: Asked, rows: NewRows, ranked: RankedLabels) -> bytes:
    """Return the body of an answer."""
    columns = ranked.to_columns()
    if asked.wanted == _CSV:
        cells = ranked.possible_cells()
        stream = BytesIO()
        table = pd.DataFrame(columns if cells is None else columns | {POSSIBLE: cells})
        write_delimited(table, stream, delimiter=",")
        return stream.getvalue()
    lists = {name: _plain(column) for name, column in columns.items()}
    possible = ranked.possible_labels()
    if possible is not None:
        lists[POSSIBLE] = possible
    predictions = [
        dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)
    ]
    answer = {"predictions": predictions, "notices": list(rows.notices)}
    return json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()


# ---- the head


def _read_query(query: Sequence[tuple[str, str]]) -> WhatToSay:
    found: dict[str, list[str]] = {}
    for name, value in query:
        found.setdefault(name, []).append(value)
    for name in found:
        if name not in QUERY:
            hint = did_you_mean(name, QUERY)
            raise RequestError(
                f"There is no parameter {quote_value(name)}.{hint} Known: {', '.join(QUERY)}."
            )
    labels = found.pop("labels", None)
    given = {name: _only(name, values) for name, values in found.items()}
    try:
        sets = None
        if labels is not None:
            sets = LabelColumns(
                columns=tuple(labels),
                separator=given.get("separator", "|"),
                literal=_boolean(given, "literal_labels"),
                votes=_boolean(given, "votes"),
                column_per_label=_boolean(given, "column_per_label"),
                empty=given.get("empty", "refuse"),
            )
        elif alone := [name for name in (*_SET_OPTIONS, *_GROUP_OPTIONS) if name in given]:
            raise RequestError(
                f"{join_names(alone)} is about candidate labels of the rows. Name their column by "
                "'labels', or leave it out."
            )
        groups = RowGroups(
            group=given.get("group"),
            promise=_promise(given),
            promise_strength=_number(given, "promise_strength", DEFAULT_PROMISE_STRENGTH),
        )
        return WhatToSay(top=_count(given), labels=sets, groups=groups)
    except RequestError:
        raise
    except DisambigError as error:
        raise RequestError(str(error)) from None


def _only(name: str, values: list[str]) -> str:
    if len(values) > 1:
        raise RequestError(f"{name!r} may be given once. It came {len(values):,} times.")
    return values[0]


def _boolean(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false")
    if text.lower() not in _TRUE_OR_FALSE:
        raise RequestError(f"{name!r} must be true or false. Got {quote_value(text)}.")
    return _TRUE_OR_FALSE[text.lower()]


def _count(given: Mapping[str, str]) -> int:
    text = given.get("top", "1")
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
        raise RequestError(f"'top' must be a number of labels, 1 or more. Got {quote_value(text)}.")
    return int(text)


def _number(given: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(given.get(name, default))
    except ValueError:
        raise RequestError(f"{name!r} must be a number. Got {quote_value(given[name])}.") from None


def _promise(given: Mapping[str, str]) -> PromiseKind | None:
    for kind in get_args(PromiseKind):
        if given.get("promise", kind) == kind:
            return kind if "promise" in given else None
    known = " or ".join(get_args(PromiseKind))
    raise RequestError(f"'promise' must be {known}. Got {quote_value(given['promise'])}.")


def _form_sent(content_type: str) -> Form:
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charsets = [one.partition("=")[2].strip('"') for one in parameters if "charset" in one]
    if any(one not in ("utf-8", "utf8", "us-ascii") for one in charsets):
        raise RequestError(f"The body must be in UTF-8. Got {quote_value(charsets[0])}.", 415)
    for form in FORMS:
        if kind == form:
            return form
    raise RequestError(
        "Rows must be sent as application/json or text/csv. Got "
        f"{quote_value(kind) if kind else 'no type'}: set the header Content-Type.",
        415,
    )


def _form_wanted(accept: str) -> Form:
    """Return the form that a header ``Accept`` likes best; JSON where it does not mind."""
    best, form = 0.0, None
    for part in accept.lower().split(",") if accept.strip() else ["*/*"]:
        kind, *parameters = (one.strip() for one in part.split(";"))
        quality = 1.0
        for one in parameters:
            if one.startswith("q="):
                try:
                    quality = float(one[2:])
                except ValueError:
                    quality = 0.0
        fitting = [each for each in FORMS if kind in (each, "*/*", f"{each.partition('/')[0]}/*")]
        if fitting and quality > best:
            best, form = quality, fitting[0]
    if form is None:
        raise RequestError(
            f"Answers are application/json or text/csv. The header Accept asks for "
            f"{quote_value(accept)}: name one of the two, or leave it out.",
            406,
        )
    return form


# ---- the body


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(
            f"The body must be text in UTF-8. Byte {error.start + 1:,} "
            f"(0x{body[error.start]:02x}) is not: write it in this encoding."
        ) from None


def _read_rows(model: ModelParts, asked: Asked, text: str, most_rows: int) -> NewRows:
    numbers: FloatArray | None = None
    if asked.sent == _CSV:
        source = FileContent(_TABLE, content=text.encode())
        frame = read_delimited(source, delimiter=",", encoding=None)
        _check_count(len(frame), most_rows)
    else:
        others = asked.what.labels is not None
        frame, numbers = _read_json(text, model.plan.names, most_rows, with_others=others)
    return read_new_rows(model, frame, asked.what, embeddings=numbers)


def _read_json(
    text: str, columns: Sequence[str], most_rows: int, *, with_others: bool
) -> tuple[pd.DataFrame, FloatArray | None]:
    def refuse(reason: str) -> RequestError:
        return RequestError(f"The body cannot be read: {reason}.")

    value = parse_json(text, refuse, constants=False)
    half = half_character(json.dumps(value, ensure_ascii=False)) if "\\u" in text else None
    if half is not None:
        raise RequestError(f"Text needs whole characters. The body has half of one, {half}.")
    rows, numbers = value, None
    if isinstance(value, dict):
        unknown = value.keys() - {_ROWS, _EMBEDDINGS}
        if unknown or _ROWS not in value:
            got = join_names(sorted(map(repr, value))) if value else "nothing"
            raise RequestError(f"The body holds 'rows', and nothing else. Got {got}. {_A_ROW}")
        rows, numbers = value[_ROWS], value.get(_EMBEDDINGS)
    if not isinstance(rows, list):
        raise RequestError(f"Rows come as a list of objects. Got {_kind_of(rows)}. {_A_ROW}")
    if not rows:
        raise RequestError(f"At least one row is needed. The list is empty. {_A_ROW}")
    _check_count(len(rows), most_rows)
    _check_rows(rows, columns)
    if not with_others:  # keys that nobody knows would be columns of gaps
        rows = [{name: row[name] for name in columns} for row in rows]
    frame: pd.DataFrame = frame_of_records(rows, FileContent(_TABLE, content=text.encode()))
    return frame, None if numbers is None else _matrix(numbers)


def _check_count(n_rows: int, most_rows: int) -> None:
    if n_rows > most_rows:
        raise RequestError(
            f"A request may have {most_rows:,} rows. This one has {n_rows:,}: send them in parts.",
            413,
        )


def _check_rows(rows: Sequence[Any], columns: Sequence[str]) -> None:
    """Refuse a row that is no object, or lacks a column: a misspelled name is not a gap."""
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise RequestError(f"Every row is an object. Row {number:,} is {_kind_of(row)}.", 422)
        missing = [name for name in columns if name not in row]
        if missing:
            unknown = [name for name in row if name not in columns]
            beside = (
                f" It has {join_names(map(quote_value, unknown))}, which the model does not use."
                if unknown
                else ""
            )
            raise RequestError(
                f"Every row needs all {plural(len(columns), 'column')} of the model. Row "
                f"{number:,} has no {join_names(map(repr, missing))}.{beside} Write null where "
                "nothing is known.",
                422,
            )


def _matrix(numbers: Any) -> FloatArray:
    is_table = isinstance(numbers, list) and all(isinstance(row, list) for row in numbers)
    if not is_table or any(type(one) not in (int, float) for row in numbers for one in row):
        raise TableError("'embeddings' must be a list with a list of numbers for each row.")
    if len(set(map(len, numbers))) > 1:
        raise TableError("Every row needs as many numbers in 'embeddings' as the others.")
    try:
        return np.array(numbers, dtype=np.float64).reshape(len(numbers), -1)
    except OverflowError:
        raise TableError("A number in 'embeddings' is too large for a double.") from None


def _kind_of(value: Any) -> str:
    return "an object" if isinstance(value, dict) else type_name(value)


def _plain(column: Any) -> list[Any]:
    """Return the cells of an array as JSON takes them: null where there is no number."""
    return [None if cell != cell else cell for cell in column.tolist()]
