"""The rows of requests for predictions: parsed, read together or alone, and answered."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import DisambigError, ParameterError
from disambig._core.messages import join_names, plural, quote_value
from disambig._core.parsing import parse_json
from disambig._core.typing import FloatArray
from disambig.tabular.columns.cells import UnusableColumnError
from disambig.tabular.files.content import FileContent, half_character
from disambig.tabular.files.json_lines import frame_of_records, type_name
from disambig.tabular.files.text import read_delimited, write_delimited
from disambig.tabular.model_folder import ModelParts
from disambig.tabular.new_rows import NewRows, read_new_rows, read_tables_together
from disambig.tabular.ranked_labels import POSSIBLE, RankedLabels
from disambig.web.serve_requests import Asked, RequestError

_TABLE = "the table"
_ROWS, _EMBEDDINGS = "rows", "embeddings"
_A_ROW = 'It needs to look like {"rows": [{"column": value}]}, or be the list alone.'
Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class SentRows:
    """The rows that came in a request, and numbers beside them; the model has not read them yet."""

    frame: pd.DataFrame | None
    # Where the columns of the model are all that there is; then there is no frame.
    records: list[Record] | None = None
    embeddings: FloatArray | None = None
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame if self.records is None else self.records)  # type: ignore[arg-type]


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


def parse_body(columns: Sequence[str], asked: Asked, body: bytes, *, most_rows: int) -> SentRows:
    """Return the rows of a request; refuse what is none, and too many of them.

    ``columns`` are those of the model.
    """
    text = _decoded(body)
    if asked.sent == "application/json":
        return _parse_json(text, columns, most_rows, only_columns=asked.what.labels is None)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            source = FileContent(_TABLE, content=text.encode())
            frame = read_delimited(source, delimiter=",", encoding=None)
    except DisambigError as error:
        raise RequestError(str(error), 422) from None
    _check_count(len(frame), most_rows)
    return SentRows(frame, notices=tuple(str(one.message) for one in caught))


def read_requests(
    model: ModelParts, requests: Sequence[tuple[Asked, SentRows]]
) -> list[NewRows | RequestError]:
    """Return what the model reads in the rows of each request, or why it cannot.

    To read a table takes about as long for one row as for a hundred, so rows are read together
    where that makes no difference.
    """
    together = [n for n, (_, sent) in enumerate(requests) if sent.records is not None]
    found = _read_together(model, [requests[n] for n in together]) if len(together) > 1 else []
    read = dict(zip(together, found, strict=False))
    return [read[n] if n in read else _read_alone(model, *one) for n, one in enumerate(requests)]


def _read_together(
    model: ModelParts, requests: Sequence[tuple[Asked, SentRows]]
) -> list[NewRows | RequestError]:
    """Return the rows of all requests, or nothing if they have to be read one by one."""
    frame = _frame(list(chain.from_iterable(sent.records or () for _, sent in requests)))
    # A column of several types would be read as strings, where one request alone has numbers.
    if any(pd.api.types.is_object_dtype(kind) for kind in frame.dtypes):
        return []
    lengths, tops = [len(sent) for _, sent in requests], [asked.what.top for asked, _ in requests]
    try:
        return list(read_tables_together(model, frame, lengths, tops))
    except DisambigError:  # which of them is at fault?
        return []


def _read_alone(model: ModelParts, asked: Asked, sent: SentRows) -> NewRows | RequestError:
    frame = sent.frame if sent.records is None else _frame(sent.records)
    assert frame is not None
    try:
        rows = read_new_rows(model, frame, asked.what, embeddings=sent.embeddings)
    except UnusableColumnError as error:  # whose advice is for training
        what = f"{error.what}{error.rows}: {error.advice}"
        return RequestError(f"Column {error.name!r} cannot hold {what}.", 422)
    except DisambigError as error:
        return RequestError(str(error), 422)
    return replace(rows, notices=(*sent.notices, *rows.notices))


def _frame(records: list[Record]) -> pd.DataFrame:
    if not any(records):  # a model of embeddings alone
        return pd.DataFrame(index=pd.RangeIndex(len(records)))
    try:
        frame: pd.DataFrame = frame_of_records(records, FileContent(_TABLE))
    except DisambigError as error:
        raise RequestError(str(error), 422) from None
    return frame


def write_answer(asked: Asked, rows: NewRows, ranked: RankedLabels) -> bytes:
    """Return the body of an answer."""
    columns = ranked.to_columns()
    if asked.wanted == "text/csv":
        cells = ranked.possible_cells()
        stream = BytesIO()
        table = pd.DataFrame(columns if cells is None else columns | {POSSIBLE: cells})
        write_delimited([table], stream, delimiter=",")
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


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(
            f"The body must be text in UTF-8. Byte {error.start + 1:,} "
            f"(0x{body[error.start]:02x}) is not: write it in this encoding."
        ) from None


def _parse_json(
    text: str, columns: Sequence[str], most_rows: int, *, only_columns: bool
) -> SentRows:
    rows, numbers = _parts_of(text, has_columns=bool(columns))
    if not isinstance(rows, list):
        raise RequestError(f"Rows come as a list of objects. Got {_kind_of(rows)}. {_A_ROW}")
    if not rows:
        raise RequestError(f"At least one row is needed. The list is empty. {_A_ROW}")
    _check_count(len(rows), most_rows)
    _check_rows(rows, columns)
    if only_columns:  # keys that nobody knows would be columns of gaps
        rows = [{name: row[name] for name in columns} for row in rows]
    if numbers is None and only_columns and columns:
        return SentRows(None, rows)
    return SentRows(_frame(rows), embeddings=None if numbers is None else _matrix(numbers))


def _parts_of(text: str, *, has_columns: bool) -> tuple[Any, Any]:
    """Return the rows and the embeddings that a body holds, as JSON has them."""

    def refuse(reason: str) -> RequestError:
        return RequestError(f"The body cannot be read: {reason}.")

    value = parse_json(text, refuse, constants=False)
    half = half_character(json.dumps(value, ensure_ascii=False)) if "\\u" in text else None
    if half is not None:
        raise RequestError(f"Text needs whole characters. The body has half of one, {half}.")
    if not isinstance(value, dict):
        return value, None
    numbers = value.get(_EMBEDDINGS)
    if not has_columns and value.keys() == {_EMBEDDINGS} and isinstance(numbers, list):
        return [{} for _ in numbers], numbers
    if _ROWS not in value or value.keys() - {_ROWS, _EMBEDDINGS}:
        got = join_names(sorted(map(repr, value))) if value else "nothing"
        raise RequestError(
            f"The body holds 'rows', perhaps 'embeddings', and nothing else. Got {got}. {_A_ROW}"
        )
    return value[_ROWS], numbers


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
        raise RequestError("'embeddings' must be a list with a list of numbers for each row.", 422)
    if len(set(map(len, numbers))) > 1:
        raise RequestError("Every row needs as many numbers in 'embeddings' as the others.", 422)
    try:
        return np.array(numbers, dtype=np.float64).reshape(len(numbers), -1)
    except OverflowError:
        raise RequestError("A number in 'embeddings' is too large for a double.", 422) from None


def _kind_of(value: Any) -> str:
    return "an object" if isinstance(value, dict) else type_name(value)


def _plain(column: Any) -> list[Any]:
    """Return the cells of an array as JSON takes them: null where there is no number."""
    return [None if cell != cell else cell for cell in column.tolist()]
