"""Records on disk: claimed by one runner, written once, read back."""

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from disambig._core.errors import RecordError, StudyError
from disambig._core.files import make_folder, write_atomically
from disambig._core.fingerprint import sha256_hex
from disambig._core.messages import quote_value
from disambig._core.parsing import read_small_file
from disambig._core.temporaries import sweep
from disambig.bench.evaluate import Predictions
from disambig.bench.record import Job, Record, recipe_of

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows: runners may do a job twice, nothing worse


_LARGEST_RECORD = 100_000_000
_LARGEST_PREDICTIONS = 2_000_000_000
_FILE = re.compile(r"[0-9a-f]{24,64}(-[0-9a-f]{12})?\.(json|npz)")


class Claims:
    """Claims of one process on the jobs of a store.

    One byte of one file stands for a job, and a claim is a lock on that byte. The system lets go of
    the locks of a process that dies, however it dies, so no claim outlives its owner.

    Parameters
    ----------
    folder : path
        Folder of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "claims.lock"

    def __enter__(self) -> Self:
        try:
            make_folder(self._path.parent)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StudyError(
                f"Records need a folder that can be written to. Got {self._path.parent}: "
                f"{error.strerror}. Choose another folder."
            ) from error
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)

    def take(self, key: str) -> bool:
        """Claim a job; return whether it is ours."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_of(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks: a job may be done twice there
            pass
        return True

    def release(self, key: str) -> None:
        """Give up the claim on a job."""
        if fcntl is not None:
            with suppress(OSError):  # without locks there is none to give up
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte_of(key))


def _byte_of(key: str) -> int:
    # Beyond 2**62 the offsets of some systems end.
    return int(sha256_hex(key.encode())[:15], 16)


class RecordStore:
    """A folder with ``KEY.json`` and ``KEY.npz`` for every job that was done.

    Files appear under their names only when they are whole and on the disk, the record after its
    predictions: a job is done when its record is there. Several processes may write to one folder.

    Parameters
    ----------
    folder : path
        Made when the first record is written.

    See Also
    --------
    run_study : Fills it.
    read_results : Reads what it has of a study.

    Examples
    --------
    >>> import tempfile
    >>> from disambig.bench import RecordStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(RecordStore(folder).read("a-job-that-was-not-run"))
    None
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def sweep(self) -> None:
        """Remove what killed runners have left; once a run, because a store may be large."""
        sweep(self.folder, lambda name: _FILE.fullmatch(name) is not None)

    def write(self, record: Record, predictions: Predictions | None = None) -> Record:
        """Keep a record and its predictions; return it with their hash."""
        if predictions is not None:
            content = predictions.to_bytes()
            record = replace(record, predictions=sha256_hex(content))
            path = self._predictions_path(record.key)
            with write_atomically(path, sweep_first=False) as temporary:
                temporary.write_bytes(content)
        with write_atomically(self.path(record.key), sweep_first=False) as temporary:
            temporary.write_text(record.to_json(), encoding="utf-8")
        return record

    def read(self, key: str) -> Record | None:
        """Return the record of a job, or None; raise ``RecordError`` if it is damaged."""
        path = self.path(key)
        try:
            text = read_small_file(path, _refuse(path), largest=_LARGEST_RECORD)
        except FileNotFoundError:
            return None
        try:
            record = Record.from_json(text)
        except RecordError as error:
            raise RecordError(f"{path} is damaged. {error}") from None
        recipe, _, code = key.partition("-")
        if record.key != key or (code and recipe_of(record.job) != recipe):
            raise RecordError(
                f"{path} is damaged. It is the record of another job, {quote_value(record.key)}."
            )
        if record.predictions is not None:
            self._read_predictions(record)
        return record

    def read_predictions(self, record: Record) -> Predictions:
        """Return the predictions of a job that is done."""
        if record.predictions is None:
            raise RecordError(f"{self.path(record.key)} has no predictions: the job failed.")
        return _checked_predictions(
            self._read_predictions(record), self._predictions_path(record.key)
        )

    def of_other_code(self, jobs: Iterable[Job]) -> dict[str, Record]:
        """Return the latest result of these jobs by other code, where there is one, by their keys.

        Records of version 0.1.0 and before are among them: these do not say which code made them.
        """
        wanted = {job.recipe: job.key for job in jobs}
        found: dict[str, Record] = {}
        for path in self.folder.glob("[!.]*.json") if wanted else ():
            recipe, _, code = path.stem.partition("-")
            if code and (recipe not in wanted or path.stem == wanted[recipe]):
                continue
            try:
                record = self.read(path.stem)
            except RecordError:  # of no job that is asked for, or of no use to it
                continue
            key = wanted.get(recipe_of(record.job)) if record and record.is_done else None
            if record and key and (key not in found or found[key].finished < record.finished):
                found[key] = record
        return found

    def path(self, key: str) -> Path:
        """Return where the record of a job is."""
        return self.folder / f"{key}.json"

    def _predictions_path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"

    def _read_predictions(self, record: Record) -> bytes:
        path = self._predictions_path(record.key)
        try:
            content = read_small_file(path, _refuse(path), largest=_LARGEST_PREDICTIONS)
        except FileNotFoundError:
            raise RecordError(f"{path} is missing, the predictions of a record.") from None
        if sha256_hex(content) != record.predictions:
            raise RecordError(f"{path} is damaged. It is not what its record says.")
        return content


def _refuse(path: Path) -> Callable[[str], RecordError]:
    return lambda reason: RecordError(f"{path} is damaged: {reason}.")


def _checked_predictions(content: bytes, path: Path) -> Predictions:
    """Return predictions whose arrays fit together; what is expanded is limited."""
    refuse = _refuse(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > _LARGEST_PREDICTIONS:
            raise refuse(f"it expands to {size:,} bytes, and the limit is {_LARGEST_PREDICTIONS:,}")
        found = Predictions.from_bytes(content)
    except RecordError:
        raise
    # Whatever NumPy and zipfile make of bytes that anybody may have written.
    except Exception as error:
        raise refuse(f"it does not hold arrays ({error})") from error
    # NumPy returns a member that does not begin like an array as bytes.
    if not all(isinstance(array, np.ndarray) for array in vars(found).values()):
        raise refuse("it holds something that is not an array")
    n_rows, n_classes = found.rows.size, found.classes.size
    shapes = {
        "rows": (n_rows,),
        "probabilities": (n_rows, n_classes),
        "predicted": (n_rows,),
        "disambiguated": (found.disambiguated.size,),
        "classes": (n_classes,),
    }
    kinds = {"probabilities": "f", "classes": "U"}
    for name, shape in shapes.items():
        array = getattr(found, name)
        if array.shape != shape or array.dtype.kind not in kinds.get(name, "iu"):
            raise refuse(f"its {name} are of the shape {array.shape} and the type {array.dtype}")
    for name in ("predicted", "disambiguated"):
        columns = getattr(found, name)
        if columns.size and not 0 <= columns.min() <= columns.max() < n_classes:
            raise refuse(f"its {name} are not among {n_classes:,} classes")
    probabilities = found.probabilities
    if not ((probabilities >= 0).all() and np.allclose(probabilities.sum(axis=1), 1, atol=1e-4)):
        raise refuse("its probabilities do not sum to one")
    return found
