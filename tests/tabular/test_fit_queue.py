"""Models that are trained side by side are those that are trained one by one."""

import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from disambig import clean_table, fit_table
from disambig._core.errors import ParameterError, TrainingError
from disambig.tabular import fit_queue
from disambig.tabular.fit_queue import FitQueue, FitWorkers
from disambig.tabular.listener import FitListener
from processes import start_worker
from tabular.small_tables import neighbours, quick_network, three_clouds

FRAME = three_clouds()


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two of them, on which processes start at once."""
    monkeypatch.setattr(fit_queue, "available_cores", lambda: 2)
    monkeypatch.setattr(fit_queue, "start_processes", start_worker)


class Diary(FitListener):
    """Writes down who reported what."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, ...]] = []

    def on_fit_start(self, title: str) -> None:
        self.entries.append((title, "start"))

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        self.entries.append((title, f"epoch {epoch} of {n_epochs}"))

    def on_fit_end(self, title: str) -> None:
        self.entries.append((title, "end"))

    def of(self, title: str) -> list[str]:
        return [entry for about, entry in self.entries if about == title]


@dataclass(frozen=True, eq=False)
class Work:
    """Stands for a fit: says in which process it was done, if it does not do what it is told."""

    title: str
    does: str = ""
    file: Path = Path()
    parent: int = field(default_factory=os.getpid)

    def __call__(self, listener: FitListener) -> int:
        if self.does == "warn":
            warnings.warn("a word of warning", RuntimeWarning, stacklevel=2)
            warnings.warn("for developers", DeprecationWarning, stacklevel=2)
        if self.does == "fail":
            raise TrainingError("it diverged")
        if self.does == "make a file":
            self.file.touch()
        while self.does == "wait for a file" and not self.file.exists():
            time.sleep(0.01)
        if self.does == "die" and os.getpid() != self.parent:
            os._exit(3)
        listener.on_epoch_end(self.title, 1, 1)
        return os.getpid()


def done(fits: list[Work], listener: FitListener | None = None, n_jobs: int = 2) -> dict[str, int]:
    """Let workers and this process do them, this one when the workers are done with their first."""
    with FitWorkers(n_jobs) as workers:
        queue = FitQueue(listener or FitListener(), workers.start(len(fits)))
        results: dict[str, int] = {}
        queue.start(fits, results.__setitem__)
        for future in list(queue._under_way):
            future.exception()
        queue.finish()
    return results


def test_a_table_gives_the_same_model_however_many_processes_train(tmp_path: Path) -> None:
    def fit(n_jobs: int, listener: FitListener) -> bytes:
        folder = tmp_path / str(n_jobs)
        method = quick_network(random_state=None)
        fit_table(
            FRAME, truth="truth", method=method, n_folds=3, n_jobs=n_jobs, out=folder,
            listener=listener,
        )  # fmt: skip
        return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))

    diary = Diary()
    assert fit(2, diary) == fit(1, FitListener())
    assert not (tmp_path / "2.partial").exists()
    expected = ["start", *(f"epoch {epoch} of 6" for epoch in range(1, 7)), "end"]
    for title in ("all rows", "fold 1 of 3", "fold 2 of 3", "fold 3 of 3"):
        assert diary.of(title) == expected
    begun = [title for title, entry in diary.entries if entry == "start"]
    assert begun[0] == "fold 1 of 3"  # by the worker, beside the model of all rows


def test_a_table_is_cleaned_in_the_same_way_by_two_processes() -> None:
    one, two = (
        clean_table(FRAME, ignore=["truth"], method=neighbours(), n_folds=3, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert one.equals(two)


def test_workers_can_serve_several_calls() -> None:
    with FitWorkers(2) as workers:
        for _ in range(2):
            fit_table(FRAME, ignore=["truth"], method=neighbours(), n_folds=2, n_jobs=workers)
        assert workers.count == 1


def test_this_process_and_the_worker_share_the_work(tmp_path: Path) -> None:
    fits = [
        Work("one", "wait for a file", tmp_path / "f"),
        Work("two", "make a file", tmp_path / "f"),
    ]
    results: dict[str, int] = {}
    with FitWorkers(2) as workers:
        queue = FitQueue(FitListener(), workers.start(2))
        queue.start(fits, results.__setitem__)
        queue.finish()
    assert results["two"] == os.getpid()
    assert results["one"] != os.getpid()


def test_what_a_worker_has_done_is_known_while_this_process_still_fits() -> None:
    results: dict[str, int] = {}
    diary = Diary()
    with FitWorkers(2) as workers:
        queue = FitQueue(diary, workers.start(2))
        queue.start([Work("one")], results.__setitem__)
        for future in list(queue._under_way):
            future.result()
        queue.on_epoch_end("another", 1, 2)  # as a fit in this process reports
    assert list(results) == ["one"]
    assert diary.of("one") == ["start", "epoch 1 of 1", "end"]


def test_what_a_worker_warned_of_is_a_warning_here() -> None:
    with pytest.warns(RuntimeWarning, match="a word of warning") as caught:
        done([Work("one", "warn"), Work("two")])
    assert [warning.category for warning in caught] == [RuntimeWarning]


def test_what_a_worker_raised_is_raised_here() -> None:
    with pytest.raises(TrainingError, match="it diverged"):
        done([Work("one", "fail"), Work("two")])


def test_what_a_process_died_of_is_done_here() -> None:
    with pytest.warns(UserWarning, match="one by one"):
        found = done([Work("one", "die"), Work("two"), Work("three")])
    assert set(found.values()) == {os.getpid()}
    assert set(found) == {"one", "two", "three"}


def test_what_several_workers_were_doing_when_one_died_is_done_here_and_said_once() -> None:
    diary = Diary()
    fits = [Work("one", "die"), Work("two", "die"), Work("three"), Work("four")]
    with pytest.warns(UserWarning, match="one by one") as caught:
        results = done(fits, diary, n_jobs=3)
    assert len(caught) == 1
    assert set(results) == {"one", "two", "three", "four"}
    assert all(diary.of(title).count("end") == 1 for title in results)


def test_a_fit_that_no_worker_can_take_any_more_is_done_here() -> None:
    results: dict[str, int] = {}
    with FitWorkers(2) as workers:
        queue = FitQueue(FitListener(), workers.start(3))
        queue.start([], results.__setitem__)
        queue._waiting.append(Work("one"))
        workers.close()
        queue._hand_over()  # as when a worker becomes free just now
        queue.finish()
    assert results == {"one": os.getpid()}


def test_an_epoch_is_reported_when_its_fit_was_announced() -> None:
    class News:
        """Brings an epoch of a fit that was handed over while others looked."""

        messages = 1

        def empty(self) -> bool:
            return not self.messages

        def get(self) -> tuple[str, int, int]:
            self.messages -= 1
            queue._to_announce.append(Work("one"))
            return "one", 1, 2

    diary = Diary()
    workers = FitWorkers(1)
    queue = FitQueue(diary, workers)
    workers.news = News()
    queue.finish()
    assert diary.of("one") == ["start", "epoch 1 of 2"]


def test_workers_that_serve_several_calls_leave_off_where_one_failed() -> None:
    def fail(workers: FitWorkers) -> None:
        with fit_queue.fit_queue(neighbours(), 2, workers, FitListener()) as queue:
            queue.start([Work("one", "fail"), Work("two")], lambda *_: None)
            queue.finish()

    with FitWorkers(2) as workers:
        with pytest.raises(TrainingError):
            fail(workers)
        assert workers.count == 0
        fit_table(FRAME, ignore=["truth"], method=neighbours(), n_folds=2, n_jobs=workers)
        assert workers.count == 1


def test_what_cannot_be_sent_to_another_process_is_done_here() -> None:
    class Local(Work):
        def __reduce__(self) -> str:
            raise TypeError("not to be pickled")

    with pytest.warns(UserWarning, match="one by one"):
        found = done([Local("one"), Local("two")])
    assert set(found.values()) == {os.getpid()}


def test_a_method_that_somebody_follows_stays_in_this_process() -> None:
    class Follower:
        n_epochs = 0

        def on_epoch_end(self, training: object) -> None:
            self.n_epochs += 1

    follower = Follower()
    method = quick_network(callbacks=[follower], epochs=2, ramp_epochs=1)
    fit_table(FRAME, ignore=["truth"], method=method, n_folds=2, n_jobs=2)
    assert follower.n_epochs == 3 * 2


@pytest.mark.parametrize(
    ("n_jobs", "n_fits", "expected"), [(1, 6, 0), (-1, 6, 1), (9, 3, 2), (2, 1, 0)]
)
def test_no_more_processes_are_started_than_can_be_used(
    n_jobs: int, n_fits: int, expected: int
) -> None:
    with FitWorkers(n_jobs) as workers:
        assert workers.start(n_fits).count == expected
    assert workers.count == 0


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "two"])
def test_a_number_of_jobs_is_checked(n_jobs: object) -> None:
    with pytest.raises(ParameterError, match="'n_jobs' must be an integer >= 1"):
        fit_table(FRAME, ignore=["truth"], method=neighbours(), n_jobs=n_jobs)


def test_an_interrupt_ends_the_workers_and_the_rest_goes_on_later(tmp_path: Path) -> None:
    class Impatient(Diary):
        def on_fit_end(self, title: str) -> None:
            super().on_fit_end(title)
            raise KeyboardInterrupt

    def clean(listener: FitListener | None) -> np.ndarray:
        method = quick_network(random_state=None)
        cleaned = clean_table(
            FRAME, ignore=["truth"], method=method, n_folds=3, n_jobs=2, out=tmp_path / "c.csv",
            listener=listener,
        )  # fmt: skip
        return cleaned["confidence"].to_numpy()

    whole = clean(None)
    with pytest.raises(KeyboardInterrupt):
        clean(Impatient())
    assert (tmp_path / "c.csv.partial").exists()
    np.testing.assert_array_equal(clean(None), whole)
    assert not (tmp_path / "c.csv.partial").exists()
