"""What is kept of a job: one JSON file, sealed by a hash of its content."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

from disambig._core.errors import RecordError

__all__ = ["Record"]


@dataclass(frozen=True)
class Record:
    """What is kept of a job.

    Attributes
    ----------
    key : str
        Name of the job.
    job : dict
        Identity of the job: all that the result depends on.
    dataset : str
        Name of the dataset, for people.
    status : {"done", "failed"}
        Whether there is a result.
    metrics : dict
        Every metric by its name; empty if it failed.
    by_epoch : list of float or None
        Held-out accuracy after every epoch, where that was asked for.
    chosen : dict or None
        Parameters that were chosen from the grid.
    choices : list
        Every combination of the grid with its score.
    seconds : dict
        Time of ``choose``, ``fit`` and ``predict``. Of folds trained side by side each has its
        share of the time; ``side_by_side`` of them.
    peak_memory_mb : float
        Most memory the process held while it worked on the job.
    environment : dict
        Versions and machine.
    finished : str
        When, in UTC.
    predictions : str or None
        Hash of the file with the predictions.
    error : dict or None
        Type, message and traceback of what went wrong.
    """

    key: str
    job: dict[str, Any]
    dataset: str
    status: Literal["done", "failed"]
    environment: dict[str, Any]
    finished: str
    metrics: dict[str, float] = field(default_factory=dict)
    by_epoch: list[float] | None = None
    chosen: dict[str, Any] | None = None
    choices: list[Any] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    side_by_side: int = 1
    peak_memory_mb: float | None = None
    predictions: str | None = None
    error: dict[str, str] | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return self.status == "done"

    def to_json(self) -> str:
        """Return the record as text, with a seal over its content."""
        content = asdict(self)
        return json.dumps(content | {"seal": _seal(content)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a record; refuse one that is cut, changed or something else."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise RecordError(f"It is not JSON: {error}.") from None
        if not isinstance(content, dict) or content.pop("seal", None) != _seal(content):
            raise RecordError("Its content does not fit its seal.")
        if set(content) != {field.name for field in fields(cls)}:
            raise RecordError("It has other fields than a record of this version.")
        return cls(**content)


def _seal(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
