"""``write_queue``: the doubtful rows of a cleaned table, as tasks that an annotation tool loads."""

import json
import os
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError, TableError
from disambig._core.files import write_atomically
from disambig._core.messages import join_names, percent
from disambig.tabular.clean_details import doubtful_first
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.exchange.registry import TOOLS, Tool, find_tool
from disambig.tabular.exchange.tasks import HINT, LABEL, QUEUED_ID, QUEUED_ROW
from disambig.tabular.files.formats import unwritable
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.questions import Question
from disambig.tabular.table_cells import check_columns, find_column, is_blank, json_value

_TEXT = "text"
_DECIMALS = 4
_BYTES_OF_BEGINNING = 1 << 12
# Fields by whose names one knows what people should look at.
_SHOWN = ("text", "image", "html", "audio", "video", "image_url", "url", "sentence", "document")
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svg")


@dataclass(frozen=True)
class QueuedRow:
    """A row for people to look at: its fields, and what is believed of its label."""

    name: str  # in a file of decisions
    data: Mapping[str, Any]  # fields by name, without those that are empty
    candidates: Mapping[str, float]  # confidences, the chosen label first
    question: str | None = None  # what people are asked, where it is more than the label

    @property
    def label(self) -> str:
        """The label that was chosen."""
        return next(iter(self.candidates))

    @property
    def confidence(self) -> float:
        """How sure that label is."""
        return next(iter(self.candidates.values()))

    def hint(self) -> str:
        """Return the question, if there is one, and the candidates in words, for people."""
        shares = ", ".join(f"{name} {percent(share)}" for name, share in self.candidates.items())
        return shares if self.question is None else f"{self.question} ({shares})"


@dataclass(frozen=True)
class Queue:
    """Rows for people, the most doubtful first."""

    rows: Sequence[QueuedRow]
    classes: Sequence[str]  # labels to choose from
    shown: str  # the field that people look at
    is_picture: bool  # whether that field holds addresses of pictures

    def ranked(self, row: QueuedRow) -> list[str]:
        """Return all labels: the candidates of a row first, falling."""
        return [*row.candidates, *(name for name in self.classes if name not in row.candidates)]


def write_queue(
    cleaned: CleanedTable,
    target: str | os.PathLike[str],
    *,
    tool: str,
    most: int | None = None,
    all_rows: bool = False,
    show: str | None = None,
    ignore: Iterable[str] = (),
    questions: Sequence[Question] | None = None,
) -> list[Path]:
    """Write the doubtful rows of a cleaned table as tasks for an annotation tool.

    The most doubtful row comes first. Tools that show suggestions get the chosen label as one. The
    name of every row is among its fields, so that answers find their way back (``read_export``,
    ``decisions_of``).

    Parameters
    ----------
    cleaned : CleanedTable
        What ``read_cleaned`` returned.
    target : str or path
        The file to write.
    tool : str
        The tool: "label-studio", "doccano", "prodigy", "argilla", "toloka", "mturk" or
        "sagemaker".
    most : int, optional
        Most rows to write.
    all_rows : bool, default=False
        Whether to write all rows, not only those marked for a second look.
    show : str, optional
        The column that people are to look at: texts, or addresses of pictures. By default one that
        is called "text", "image" or the like; without any, all columns as a text.
    ignore : iterable of str, optional
        Columns that people are not to see.
    questions : sequence of Question, optional
        What to ask, and about which rows, in place of the most doubtful ones. Tools that show the
        candidates show the question before them.

    Returns
    -------
    list of Path
        What was written: the tasks and, for Label Studio, the labelling interface.

    See Also
    --------
    questions_of : Chooses questions.
    read_export : Reads the answers.
    decisions_of : Makes decisions of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import clean_table, read_cleaned, write_queue
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(frame, method="plknn", ignore=["checked"], n_folds=2)
    >>> rows = read_cleaned(cleaned, id="vehicle")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "queue.jsonl")
    ...     _ = write_queue(rows, path, tool="prodigy", most=5)
    ...     len(path.read_text(encoding="utf-8").splitlines())
    5
    """
    chosen = find_tool(tool)
    if most is not None and most < 1:
        raise ParameterError(f"'most' must be at least 1. Got {most}.")
    queue = make_queue(
        cleaned, most=most, all_rows=all_rows, show=show, ignore=ignore, questions=questions
    )
    return save_queue(queue, target, chosen)


def save_queue(queue: Queue, target: str | os.PathLike[str], tool: Tool) -> list[Path]:
    """Write tasks for a tool and, where it needs that, how it is to show them; return the files."""
    if tool.writer is None:
        known = join_names(each.name for each in TOOLS if each.writer)
        raise ParameterError(f"Tasks are written for {known}. Got {tool.name!r}.")
    path = Path(target)
    written: dict[Path, bytes] = {path: pkgutil.resolve_name(tool.writer)(queue)}
    if tool.interface is not None:
        interface = pkgutil.resolve_name(tool.interface)
        beside = path.with_name(f"{path.name}.config.xml")
        _check_is_ours(beside)
        written[beside] = interface(queue)
    for each, content in written.items():
        try:
            with write_atomically(each) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise unwritable(each, error) from error
    return list(written)


def _check_is_ours(interface: Path) -> None:
    """Refuse to replace a file of somebody's own where a labelling interface would go."""
    if not os.path.lexists(interface):
        return
    beginning = b""
    if interface.is_file():
        with suppress(OSError), interface.open("rb") as file:
            beginning = file.read(_BYTES_OF_BEGINNING)
    if HINT.encode() not in beginning:
        raise TableError(
            f"The labelling interface is written to {interface}, but something else is there. It "
            "was left unchanged: move it away, or choose another name for the tasks."
        )


def json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a JSON object a line, in UTF-8."""
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode()


def make_queue(
    cleaned: CleanedTable,
    *,
    most: int | None = None,
    all_rows: bool = False,
    show: str | None = None,
    ignore: Iterable[str] = (),
    questions: Sequence[Question] | None = None,
) -> Queue:
    """Return the rows of a cleaned table that people should look at; with questions, theirs."""
    if questions is None:
        marked = np.ones_like(cleaned.second_look) if all_rows else cleaned.second_look
        rows = doubtful_first(cleaned.confidence, marked)[:most]
        if not len(rows):
            raise TableError("No row is marked for a second look. To write all rows, use --all.")
    else:
        rows = np.array([question.row for question in questions], dtype=np.int64)
        if not len(rows):
            raise TableError("There is no question to write: no row is in doubt.")
    asked = {question.row: question.text for question in questions or ()}
    hidden = list(ignore)
    check_columns(cleaned.values, hidden, "one that people are not to see")
    values = cleaned.values.drop(columns=[*hidden, LABEL], errors="ignore")
    if show is None:
        show = next((name for name in _SHOWN if name in values.columns), None)
    else:
        find_column(values, show, what="what people look at")
    names = DecidedRows(cleaned.values, cleaned.id).names()
    name_field = QUEUED_ROW if cleaned.id is None else QUEUED_ID
    classes = cleaned.candidates.classes.tolist()
    starts = list(pairwise([*cleaned.candidates.starts.tolist(), len(cleaned.confidences)]))
    _, columns = cleaned.candidates.pairs()
    cells = {str(name): column.tolist() for name, column in values.items()}
    queued = []
    for row in rows.tolist():
        start, end = starts[row]
        shares = zip(columns[start:end].tolist(), cleaned.confidences[start:end], strict=True)
        # Of equal ones, the label that was chosen.
        falling = sorted(
            ((classes[c], round(float(share), _DECIMALS), c == cleaned.chosen[row])
             for c, share in shares),
            key=lambda each: (each[1], each[2]),
            reverse=True,
        )  # fmt: skip
        data = {name: json_value(column[row]) for name, column in cells.items()}
        data = {name: cell for name, cell in data.items() if not is_blank(cell)}
        if show is None:
            lines = (f"{name}: {cell}" for name, cell in data.items())
            data = {_TEXT: "\n".join(lines), **data}
        candidates = {label: share for label, share, _ in falling}
        fields = {**data, name_field: names[row]}
        queued.append(QueuedRow(names[row], fields, candidates, asked.get(row)))
    shown = show or _TEXT
    first = str(queued[0].data.get(shown, ""))
    is_picture = first.lower().partition("?")[0].endswith(_PICTURES)
    return Queue(queued, classes, shown, is_picture)
