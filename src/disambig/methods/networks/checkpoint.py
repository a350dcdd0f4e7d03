"""Write a training down every few epochs, and go on from there after it was killed."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from disambig._core.array_file import plain, read_arrays, take_part, write_arrays
from disambig._core.errors import ModelFileError
from disambig._core.fingerprint import fingerprint_of
from disambig.engine.history import History
from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import TrainingData
from disambig.engine.training import Training
from disambig.methods.networks.validation import ValidationMonitor

_KIND = "training checkpoint"
_VERSION = 2
_ENTRIES = ("fingerprint", "networks", "seeds", "history", "stopped")


class Checkpoint:
    """A file that a training is written to, and taken up from.

    Where several processes train together, the first one writes, and all must be able to read.
    What is in the file does not depend on how many there are.

    Parameters
    ----------
    path : path
        Of the file. It stays when training is done: fitting again then only reads it.
    every : int
        Epochs between two writings.
    fingerprint : str
        From ``training_fingerprint``: a file of another training is refused.
    seeds : list of int
        Those of the training, for one that was started without a seed of its own.
    watchers : mapping of str to listener
        By name, those whose memory belongs to the training: ``state()`` is written, and
        ``resume`` called with it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        fingerprint: str,
        seeds: list[int],
        watchers: Mapping[str, Any],
    ) -> None:
        self._path = path
        self._every = every
        self._fingerprint = fingerprint
        self._seeds = seeds
        self._watchers = watchers
        self._stop_is_written = False

    def on_fit_start(self, training: Training) -> None:
        """Take up the training in the file, if there is one."""
        if not Path(self._path).exists():
            return
        # Modules of the user may hold numbers that are not finite, such as a mask.
        finite = not isinstance(training.networks, ModuleStack)
        tensors, description = _read(self._path, finite=finite)
        memories = {watcher: take_part(tensors, watcher) for watcher in self._watchers}
        shapes = {name: value.shape for name, value in training.state().items()}
        found = (description["fingerprint"], description["networks"])
        is_other = found != (self._fingerprint, repr(training.networks))
        if is_other or shapes != {name: value.shape for name, value in tensors.items()}:
            raise ModelFileError(
                f"The checkpoint {os.fspath(self._path)!r} belongs to a training on other data or "
                "with other parameters. Delete it to start again, or give another path."
            )
        try:
            training.resume(tensors, [History(description["history"])])
            for name, watcher in self._watchers.items():
                watcher.resume(memories[name])
        except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"The checkpoint {os.fspath(self._path)!r} is inconsistent ({error}). Delete it to "
                "start again."
            ) from error
        if description["stopped"]:
            self._stop_is_written = True
            training.stop()

    def on_epoch_end(self, training: Training) -> None:
        """Write, if it is time to."""
        is_last = training.stopped or training.epoch == training.settings.epochs
        if is_last or training.epoch % self._every == 0:
            self._write(training)

    def on_fit_end(self, training: Training) -> None:
        """Write once more if somebody who was called later has stopped the training."""
        if training.stopped and not self._stop_is_written:
            self._write(training)

    def _write(self, training: Training) -> None:
        self._stop_is_written = training.stopped
        if not training.ranks.is_first:
            return
        memories = {
            f"{watcher}.{name}": value
            for watcher, listener in self._watchers.items()
            for name, value in listener.state().items()
        }
        write_arrays(
            self._path,
            _KIND,
            _VERSION,
            {**training.state(), **memories},
            {
                "fingerprint": self._fingerprint,
                "networks": repr(training.networks),
                "seeds": self._seeds,
                "history": training.histories[0].to_dict(),
                "stopped": training.stopped,
            },
            framework="torch",
        )


def stored_seeds(path: str | os.PathLike[str]) -> list[int] | None:
    """Return the seeds of the training in a file, or None where there is no file."""
    if not Path(path).exists():
        return None
    seeds: list[int] = _read(path, finite=False)[1]["seeds"]
    return seeds


def _read(path: str | os.PathLike[str], *, finite: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    return read_arrays(path, _KIND, _VERSION, entries=_ENTRIES, framework="torch", finite=finite)


def training_fingerprint(
    data: TrainingData, monitor: ValidationMonitor | None, parameters: dict[str, Any]
) -> str:
    """Return a hash of everything that the course of a training depends on."""
    prior = data.prior
    parts = [plain(parameters), data.features, prior.indptr, prior.indices, prior.data]
    if data.promise is not None:
        parts += [data.groups, data.promise.kind, data.promise.strength]
    for name in ("row_weights", "class_weights"):
        if getattr(data, name) is not None:
            parts += [name, getattr(data, name)]
    if monitor is not None:
        names = [repr(name) for name in monitor.classes.tolist()]
        parts += [monitor.features, monitor.candidates, names]
    return fingerprint_of(*parts)
