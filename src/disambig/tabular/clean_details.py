"""How a cleaned table came about, in a file beside it: settings, epochs, what each network said."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from disambig._core.errors import TableError
from disambig._core.files import write_atomically
from disambig._core.parsing import read_small_file
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray, Sparse
from disambig._version import __version__
from disambig.candidates.groups import PromiseKind
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.accuracy import Accuracy
from disambig.tabular.estimate import MissRate
from disambig.tabular.evidence import Evidence
from disambig.tabular.labels.label_cells import read_weighted_cell, write_weighted_cells
from disambig.tabular.labels.row_groups import RUNS
from disambig.tabular.true_labels import is_known

if TYPE_CHECKING:  # whoever reads details does without all that cleaning needs
    import pandas as pd

    from disambig.methods.base import PartialLabelClassifier
    from disambig.tabular.clean_columns import CleanedColumns
    from disambig.tabular.task import TableTask

_KIND: Final = "disambig cleaning"
_VERSION: Final = 1
# Of every version, also after an editor has put spaces in.
_BEGINNING = re.compile(rb'\s*\{\s*"kind"\s*:\s*"disambig cleaning"')
_BYTES_OF_BEGINNING = 200
# Nobody looks at more rows than that, and the file stays small beside its table.
_MOST_ROWS_WITH_NETWORKS = 20_000
_MOST_ROWS_BY_THEMSELVES = 100_000
_DECIMALS = 4
_FREE_DECIMALS = 6
_LARGEST = 1_000_000_000  # bytes
# Parameters that say how a fit is watched, not what it gives.
_NOT_SETTINGS = ("callbacks", "checkpoint", "checkpoint_every", "verbose")

Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, eq=False)
class Cleaning:
    """What cleaning found out."""

    columns: "pd.DataFrame | CleanedColumns"  # what it adds to the table
    per_network: AnyArray  # confidences by each network, as in ``OutOfFoldPredictions``
    histories: tuple[Mapping[str, Sequence[float]], ...]  # measures by epoch of every training
    model_choice: AnyArray  # before true labels that are known were put in its place
    model_confidence: FloatArray  # of that choice
    misses: MissRate | None = None  # sets without the right label, as estimated
    relabelled: int = 0  # rows whose label is now one from outside the set
    # Where groups promise something: the sets that tell each other, and rows by themselves.
    free: tuple[CandidateLabels, Sparse] | None = None
    # By row, where the true label is known: what the model said of the candidates before that.
    unaided: Mapping[int, str] = field(default_factory=dict)


class CleanDetails(BaseModel):
    """What ``CLEAN.details.json`` says."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )

    kind: Literal["disambig cleaning"] = _KIND
    version: Literal[1] = _VERSION
    disambig: str = __version__
    # When the file was written, in UTC. Not in it: the same cleaning gives the same bytes.
    made_at: Annotated[str | None, Field(exclude=True)] = None
    # Of files before version 0.3 the next three are not known.
    command: list[str] = Field(default_factory=list)  # words after "disambig"; none from Python
    truth: str | None = None  # column of true labels
    # By row, counted from 1, where the true label is known: what the model said before that.
    unaided_confidences: dict[int, str] = Field(default_factory=dict)
    # Of the rows with several candidates; older files say nothing of it.
    evidence: Evidence | None = None
    true_labels: int = 0  # rows whose true label was known, and chosen
    use_truth: bool = False  # whether models learned from them
    # Of files before version 0.3 these are not known.
    misses: MissRate | None = None  # sets without the right label, as estimated
    miss_rate: Share | Literal["auto"] | None = None  # as asked for
    calibrate: str | None = None  # what confidences were calibrated on
    relabelled: int = 0  # rows with a label from outside their set
    method: str
    parameters: dict[str, str]  # those of the method that are not None
    folds: int | None  # models that judged rows they had not seen; None for one that had
    seed: int
    errors_to_find: Share
    prefix: str
    labels: list[str]  # columns with the candidate labels; none where these came from elsewhere
    id: str | None  # column that names the rows
    group: str | None = None  # column of the groups of rows, or "runs"
    promise: PromiseKind | None = None  # what is known of a group as a whole
    promise_strength: Share | None = None  # share of the groups for which that was believed
    # Rows of each group, where groups are runs: the sets of a cleaned table may differ.
    run_lengths: list[Annotated[int, Field(ge=1)]] | None = None
    # By row, counted from 1, for groups with a doubtful row: what was believed of the row by
    # itself, as in ``candidate_confidences``, before its group said anything.
    free_confidences: dict[int, str] = Field(default_factory=dict)
    features: dict[str, list[str]]  # columns that were learned from, by what they hold
    decisions: int  # rows whose label a person had decided on
    # All decisions of a person, by kind: "label", "not this", "none of these", and so on.
    answers: dict[str, int] = Field(default_factory=dict)
    fingerprint: str  # of the confidences: tells whether these details belong to a table
    accuracy: Accuracy | None  # of the model's choices, where true labels are known
    histories: list[dict[str, list[float | None]]]  # measures by epoch of every training
    # By row, counted from 1: confidences of the candidates by each network.
    per_network: Annotated[dict[int, list[list[Share]]], Field(alias="opinions")]

    @model_validator(mode="after")
    def _check_promise(self) -> Self:
        if (self.promise is None) != (self.promise_strength is None):
            raise ValueError("a promise has a strength, and nothing else has")
        if self.promise is not None and self.group is None:
            raise ValueError("a promise is about groups")
        return self


def details_path(table: str | os.PathLike[str]) -> Path:
    """Return where the details of a cleaned table are."""
    return Path(f"{os.fspath(table)}.details.json")


def check_details_are_ours(table: str | os.PathLike[str]) -> None:
    """Refuse a table beside which there is a file of somebody's own where its details would go."""
    path = details_path(table)
    if not os.path.lexists(path):
        return
    beginning = b""
    if path.is_file():
        with suppress(OSError), path.open("rb") as file:
            beginning = file.read(_BYTES_OF_BEGINNING)
    if not _BEGINNING.match(beginning):
        raise TableError(
            f"Details of the cleaning are written to {path}, but something else is there. It was "
            "left unchanged: move it away, or choose another name for the table."
        )


def describe_cleaning(
    task: "TableTask",
    method: "PartialLabelClassifier",
    cleaning: Cleaning,
    *,
    fingerprint: str | None = None,
    accuracy: Accuracy | None,
    evidence: Evidence | None,
    miss_rate: float | Literal["auto"] = 0,
    calibrate: str = "sets",
    folds: int | None,
    seed: int,
    errors_to_find: float,
    prefix: str,
    labels: list[str],
    id: str | None,
    truth: str | None = None,
    command: Sequence[str] = (),
) -> CleanDetails:
    """Return how a cleaned table came about."""
    parameters = method.get_params(deep=False).items()
    # Groups that came with sets from elsewhere are nowhere in the table.
    promise = None if task.group is None else task.candidates.promise
    return CleanDetails(
        # A path need not be text in UTF-8.
        command=[word.encode(errors="backslashreplace").decode() for word in command],
        truth=truth,
        unaided_confidences={row + 1: cell for row, cell in cleaning.unaided.items()},
        method=method.card.name,
        parameters={
            name: str(value)
            for name, value in parameters
            if value is not None and name not in _NOT_SETTINGS
        },
        features=task.plan.by_kind(),
        fingerprint=fingerprint or fingerprint_of_cells(cleaning.columns["candidate_confidences"]),
        accuracy=accuracy,
        evidence=evidence,
        misses=cleaning.misses,
        miss_rate=miss_rate,
        calibrate=None if folds is None else calibrate,
        relabelled=cleaning.relabelled,
        true_labels=0 if task.truth is None else int(is_known(task.truth).sum()),
        use_truth=task.uses_truth,
        histories=[_without_nan(history) for history in cleaning.histories],
        per_network=_rounded_per_network(task, cleaning),
        decisions=int(task.decided.sum()),
        answers=dict(Counter(task.answers.values())),
        folds=folds,
        seed=seed,
        errors_to_find=errors_to_find,
        prefix=prefix,
        labels=labels,
        id=id,
        group=task.group,
        promise=None if promise is None else promise.kind,
        promise_strength=None if promise is None else promise.strength,
        run_lengths=_run_lengths(task),
        free_confidences={} if promise is None else _free_confidences(cleaning),
    )


def write_details(details: CleanDetails, table: str | os.PathLike[str]) -> Path:
    """Write the details of a cleaned table beside it."""
    path = details_path(table)
    with write_atomically(path) as temporary:
        temporary.write_text(
            details.model_dump_json(by_alias=True), encoding="utf-8", errors="backslashreplace"
        )
    return path


def read_details(path: str | os.PathLike[str]) -> CleanDetails | None:
    """Return the details in a file, or None if there is no such file."""
    try:
        text = read_small_file(
            path,
            lambda reason: TableError(f"{path}: {reason}. Move it away, or clean again."),
            largest=_LARGEST,
        )
    except FileNotFoundError:
        return None
    try:
        details = CleanDetails.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "its beginning"
        raise TableError(
            f"{path} is not what disambig clean wrote: at {where}, {first['msg']}. Move it away, "
            "or clean again."
        ) from error
    written = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    return details.model_copy(update={"made_at": written.isoformat(timespec="seconds")})


def read_cells_of_rows(cells: Mapping[int, str]) -> dict[int, Mapping[str, float]]:
    """Return confidences by row counted from 0, from cells by row counted from 1.

    A cell that somebody has edited beyond recognition is left out.
    """
    found: dict[int, Mapping[str, float]] = {}
    for number, cell in cells.items():
        try:
            found[number - 1] = read_weighted_cell(cell)
        except ValueError:
            continue
    return found


class CellsFingerprint:
    """A hash of the cells of confidences, which come a few at a time."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def take(self, cells: Iterable[str]) -> None:
        """Add cells that follow those before."""
        for cell in cells:
            self._digest.update(cell.encode("utf-8", "backslashreplace") + b"\n")

    def hex(self) -> str:
        """Return the hash of all cells so far."""
        return self._digest.hexdigest()


def fingerprint_of_cells(cells: Iterable[str]) -> str:
    """Return the hash of all cells of confidences of a table."""
    found = CellsFingerprint()
    found.take(cells)
    return found.hex()


def _without_nan(history: Mapping[str, Any]) -> dict[str, list[float | None]]:
    return {
        name: [round(value, _DECIMALS) if np.isfinite(value) else None for value in values]
        for name, values in history.items()
    }


def _rounded_per_network(task: "TableTask", cleaning: Cleaning) -> dict[int, list[list[float]]]:
    per_network, columns = cleaning.per_network, cleaning.columns
    if not len(per_network):
        return {}
    doubtful = doubtful_first(columns["confidence"].to_numpy(), columns["second_look"].to_numpy())
    rows = np.concatenate([doubtful[:_MOST_ROWS_WITH_NETWORKS], _shown_as_unknown(task, cleaning)])
    starts, sizes = task.candidates.starts, task.candidates.sizes
    by_row = {}
    for row in rows.tolist():
        of_row = per_network[:, starts[row] : starts[row] + sizes[row]].astype(np.float64)
        rounded = of_row.clip(0, 1).round(_DECIMALS)
        by_row[row + 1] = [shares.tolist() for shares in rounded if not np.isnan(shares).any()]
    return by_row


def _shown_as_unknown(task: "TableTask", cleaning: Cleaning) -> IntArray:
    """Return the rows with a known label of which a review shows some like any other."""
    rows = np.array(list(cleaning.unaided), dtype=np.int64)
    if task.truth is None or not len(rows):
        return rows
    inside: IntArray = rows[task.candidates[rows].contains(task.truth[rows])]
    return inside


def _run_lengths(task: "TableTask") -> list[int] | None:
    groups = task.given.groups
    if task.group != RUNS or groups is None or (np.diff(groups) < 0).any():
        return None  # or a column has that name
    lengths: list[int] = np.bincount(groups).tolist()
    return lengths


def _free_confidences(cleaning: Cleaning) -> dict[int, str]:
    """Return what rows say by themselves, in whole groups, those of the most doubtful first."""
    if cleaning.free is None:
        return {}
    sets, confidences = cleaning.free
    groups = sets.groups
    assert groups is not None
    columns = cleaning.columns
    doubtful = doubtful_first(columns["confidence"].to_numpy(), columns["second_look"].to_numpy())
    sizes = np.bincount(groups)
    wanted = np.array(list(dict.fromkeys(groups[doubtful].tolist())), dtype=np.int64)
    # A group that is too large by itself leaves room for those after it.
    wanted = wanted[(sizes[wanted] > 1) & (sizes[wanted] <= _MOST_ROWS_BY_THEMSELVES)]
    wanted = wanted[np.cumsum(sizes[wanted]) <= _MOST_ROWS_BY_THEMSELVES]
    rows = np.flatnonzero(np.isin(groups, wanted))
    of_rows = sets[rows]
    # A label that is known is certain, whatever the model said.
    known = (of_rows.sizes == 1)[of_rows.pairs()[0]]
    values = np.where(known, 1.0, of_rows.values_of(confidences[rows]))
    cells = write_weighted_cells(of_rows, values.round(_FREE_DECIMALS).clip(0, 1))
    return dict(zip((rows + 1).tolist(), cells, strict=True))


def doubtful_first(confidence: FloatArray, second_look: BoolArray) -> IntArray:
    """Return the marked rows, the least sure first; equally sure ones in the order of the table."""
    rows = np.flatnonzero(second_look)
    ordered: IntArray = rows[np.argsort(confidence[rows], kind="stable")]
    return ordered
