"""Questions to people about rows of a cleaned table, and the file that they are kept in."""

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from disambig._core.errors import ParameterError, TableError
from disambig._core.files import write_atomically
from disambig._core.messages import did_you_mean, join_names, printable, quote_value, row_name
from disambig._core.parsing import parse_json, read_small_file
from disambig.tabular.files.formats import one_of, unwritable
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.table_cells import number_text, text_of

if TYPE_CHECKING:  # it needs pandas
    from disambig.tabular.cleaned_table import CleanedTable

_ROW, _QUESTION, _LABELS, _REMOVES = "row", "question", "labels", "removes"
_LARGEST = 200_000_000  # bytes, a million questions
_LONGEST = 60  # characters of a label in a question
_SIGNIFICANT = 4
_ADVICE = "Write the file again: disambig ask CLEAN --out FILE."


@dataclass(frozen=True)
class Question:
    """What to ask a person about a row.

    Attributes
    ----------
    row : int
        Position of the row, counted from 0.
    labels : tuple of str
        One label: "is it a cat?". Several: "cat or dog?". Other answers are always possible.
    removes : float
        How many errors the answer is expected to remove, over all rows of the table.

    Examples
    --------
    >>> from disambig.tabular.questions import Question
    >>> Question(11, ("opel", "saab"), 0.47).text
    'opel or saab?'
    >>> Question(11, ("opel",), 0.47).text
    'is it opel?'
    """

    row: int
    labels: tuple[str, ...]
    removes: float

    @property
    def text(self) -> str:
        """The question in words; the beginning of long labels."""
        names = [printable(label, _LONGEST) for label in self.labels]
        return f"{one_of(names)}?" if len(names) > 1 else f"is it {names[0]}?"


def write_questions(
    questions: Iterable[Question], path: str | os.PathLike[str], rows: "CleanedTable"
) -> None:
    """Write questions about the rows of a cleaned table as JSON lines, in their order.

    Parameters
    ----------
    questions : iterable of Question
        What to ask.
    path : str or path
        The file to write.
    rows : CleanedTable
        The table that the questions are about; its ``id`` names the rows, beside their numbers.

    See Also
    --------
    read_questions : Reads them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import (
    ...     clean_table, questions_of, read_cleaned, read_questions, write_questions
    ... )
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> rows = read_cleaned(cleaned, id="vehicle")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "questions.jsonl")
    ...     write_questions(questions_of(rows, budget=3).questions, path, rows)
    ...     len(path.read_text(encoding="utf-8").splitlines())
    3
    """
    names = _names_of(rows)
    lines = []
    for question in questions:
        entry: dict[str, Any] = {_ROW: question.row + 1}
        if rows.id is not None:
            entry[rows.id] = names[question.row]  # may be called "row"
        entry[_QUESTION] = question.text
        entry[_LABELS] = list(question.labels)
        entry[_REMOVES] = float(f"{question.removes:.{_SIGNIFICANT}g}")
        lines.append(f"{json.dumps(entry, ensure_ascii=False)}\n")
    try:
        with write_atomically(path) as temporary:
            # Lone surrogates are written as JSON has them.
            temporary.write_bytes("".join(lines).encode(errors="backslashreplace"))
    except OSError as error:
        raise unwritable(path, error) from error


def read_questions(path: str | os.PathLike[str], rows: "CleanedTable") -> list[Question]:
    """Return the questions in a file that ``write_questions`` wrote, in their order.

    Parameters
    ----------
    path : str or path
        The file.
    rows : CleanedTable
        The table that the questions are about. If its rows have names, these say which row is
        meant; else the numbers of the rows do.

    Raises
    ------
    TableError
        If a line is not such a question, is about a row or label that the table does not have, or
        about a row that was asked about before.

    See Also
    --------
    write_questions : Writes them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import (
    ...     clean_table, questions_of, read_cleaned, read_questions, write_questions
    ... )
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> rows = read_cleaned(cleaned, id="vehicle")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "questions.jsonl")
    ...     write_questions(questions_of(rows, budget=3).questions, path, rows)
    ...     len(read_questions(path, rows))
    3
    """
    content = read_small_file(
        path, lambda reason: TableError(f"{path} should hold questions: {reason}."),
        largest=_LARGEST,
    )  # fmt: skip
    reader = _Reader(os.fspath(path), rows)
    lines = enumerate(content.split(b"\n"), start=1)
    questions = [reader.question(line, number) for number, line in lines if line.strip()]
    if not questions:
        raise TableError(f"{path} should hold questions, one a line. It is empty. {_ADVICE}")
    return questions


class _Reader:
    """Reads lines of one file about one table, and remembers the rows that were asked about."""

    def __init__(self, path: str, rows: "CleanedTable") -> None:
        self._path = path
        self._id = rows.id
        self._names = _names_of(rows)
        self._positions = {name: position for position, name in enumerate(self._names)}
        self._classes = rows.candidates.classes.tolist()
        self._labels = set(self._classes)
        self._line_of_row: dict[int, int] = {}

    def question(self, line: bytes, number: int) -> Question:
        place = f"Line {number:,} of {self._path}"
        entry = parse_json(line, lambda reason: self._wrong(place, line, reason))
        if not isinstance(entry, dict):
            raise self._wrong(place, line, "it is not a JSON object")
        row = self._row(entry, line, place)
        before = self._line_of_row.setdefault(row, number)
        if before != number:
            raise TableError(
                f"A row is asked about once. {place} is about {row_name(row)}, as is line "
                f"{before:,}. Delete one of them."
            )
        return Question(row, self._asked(entry, line, place), self._removed(entry, line, place))

    def _row(self, entry: dict[str, Any], line: bytes, place: str) -> int:
        by_id = self._id if self._id in entry else None
        given = entry.get(by_id or _ROW)
        name = text_of(given) if isinstance(given, str | int | float) else None
        if name is None:
            field = _ROW if self._id is None else f"{self._id}' or '{_ROW}"
            raise self._wrong(place, line, f"'{field}' must say which row it is about")
        if by_id is None:
            name = number_text(name)
            if not (name.isascii() and name.isdigit() and 1 <= int(name[:15]) <= len(self._names)):
                raise TableError(
                    f"Questions are about rows 1 to {len(self._names):,} of the table. {place} is "
                    f"about row {quote_value(name)}. Check that they belong to this table."
                )
            return int(name) - 1
        if name not in self._positions:
            raise TableError(
                f"{place} is about {quote_value(name)}, which column {by_id!r} of the table does "
                f"not hold.{did_you_mean(name, self._names)} Check that the questions belong to "
                "this table."
            )
        return self._positions[name]

    def _asked(self, entry: dict[str, Any], line: bytes, place: str) -> tuple[str, ...]:
        labels = entry.get(_LABELS)
        if (
            not isinstance(labels, list)
            or not labels
            or not all(isinstance(label, str) for label in labels)
            or len(set(labels)) < len(labels)
        ):
            raise self._wrong(place, line, f"{_LABELS!r} must list different labels")
        unknown = [label for label in labels if label not in self._labels]
        if unknown:
            raise TableError(
                f"{place} asks about {quote_value(unknown[0])}, which is not a label of the table."
                f"{did_you_mean(unknown[0], self._classes)} Its labels are "
                f"{join_names(self._classes)}."
            )
        return tuple(labels)

    def _removed(self, entry: dict[str, Any], line: bytes, place: str) -> float:
        removes = entry.get(_REMOVES, 0)
        is_number = isinstance(removes, int | float) and not isinstance(removes, bool)
        if not (is_number and abs(removes) < math.inf and removes >= 0):
            raise self._wrong(place, line, f"{_REMOVES!r} must be a number, 0 or more")
        return float(removes)

    def _wrong(self, place: str, line: bytes, reason: str) -> TableError:
        example: dict[str, Any] = {_ROW: 1}
        if self._id is not None:
            example[self._id] = self._names[0]
        example |= {_LABELS: self._classes[:2], _REMOVES: 0.5}
        return TableError(
            f"{place} should be a question such as {json.dumps(example, ensure_ascii=False)}, but "
            f"{reason}. Got {quote_value(line.decode('utf-8', 'replace').strip())}. {_ADVICE}"
        )


def _names_of(rows: "CleanedTable") -> Sequence[str]:
    if rows.id in (_QUESTION, _LABELS, _REMOVES):
        raise ParameterError(
            f"A file of questions has a field {rows.id!r} of its own, and the column that names "
            "the rows has the same name. Rename the column, or name another one (--id)."
        )
    return DecidedRows(rows.values, rows.id).names()
