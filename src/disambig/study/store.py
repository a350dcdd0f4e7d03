"""A folder of records: what has been done is known by what lies there."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from disambig._core.errors import RecordError
from disambig._core.files import written_atomically
from disambig.study.predictions import Predictions
from disambig.study.record import Record

__all__ = ["RecordStore"]


class RecordStore:
    """A folder with ``KEY.json`` and ``KEY.npz`` for every job that was done.

    Files appear under their names only when they are whole, the record after its predictions: a
    job is done when its record is there. Several processes may write to one folder.

    Parameters
    ----------
    folder : path
        Made when the first record is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def write(self, record: Record, predictions: Predictions | None = None) -> Record:
        """Keep a record and its predictions; return it with their hash."""
        if predictions is not None:
            content = predictions.to_bytes()
            record = replace(record, predictions=_hash(content))
            with written_atomically(self._predictions_path(record.key)) as temporary:
                temporary.write_bytes(content)
        with written_atomically(self.path(record.key)) as temporary:
            temporary.write_text(record.to_json(), encoding="utf-8")
        return record

    def read(self, key: str) -> Record | None:
        """Return the record of a job, or None; raise ``RecordError`` if it is damaged."""
        path = self.path(key)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise RecordError(f"{path} is damaged. It is not text.") from None
        try:
            record = Record.from_json(text)
        except RecordError as error:
            raise RecordError(f"{path} is damaged. {error}") from None
        if record.key != key:
            raise RecordError(f"{path} is damaged. It is the record of another job, {record.key}.")
        if record.predictions is not None:
            self._read_predictions(record)
        return record

    def read_predictions(self, record: Record) -> Predictions:
        """Return the predictions of a job that is done."""
        if record.predictions is None:
            raise RecordError(f"{self.path(record.key)} has no predictions: the job failed.")
        return Predictions.from_bytes(self._read_predictions(record))

    def path(self, key: str) -> Path:
        """Return where the record of a job is."""
        return self.folder / f"{key}.json"

    def _predictions_path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"

    def _read_predictions(self, record: Record) -> bytes:
        path = self._predictions_path(record.key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise RecordError(f"{path} is missing, the predictions of a record.") from None
        if _hash(content) != record.predictions:
            raise RecordError(f"{path} is damaged. It is not what its record says.")
        return content


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
