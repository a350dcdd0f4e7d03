import errno
import fcntl
import os
import signal

import pytest

from disambig._core.errors import StudyError
from disambig.bench.store import Claims
from processes import PROCESSES
from waiting import PATIENCE, wait_until

FIRST, SECOND = "0" * 31 + "1", "f" * 32


def take(folder, key, answer, seconds):
    """Claim a job, say how that went, and keep the claim for a while."""
    import time

    with Claims(folder) as claims:
        taken = claims.take(key)
        (folder / answer).write_text(str(taken))
        time.sleep(seconds)


@pytest.fixture
def other(tmp_path):
    """Return a function that lets another process claim a job and says whether it could."""
    processes = []

    def ask(key, seconds=0.0):
        answer = f"answer{len(processes)}"
        process = PROCESSES.Process(target=take, args=(tmp_path, key, answer, seconds))
        process.start()
        processes.append(process)
        wait_until(lambda: (tmp_path / answer).exists() and (tmp_path / answer).read_text())
        return (tmp_path / answer).read_text() == "True", process

    yield ask
    for process in processes:
        process.kill()
        process.join()


def test_a_claimed_job_is_not_given_to_another_process(tmp_path, other):
    with Claims(tmp_path) as claims:
        assert claims.take(FIRST)
        assert not other(FIRST)[0]
        assert other(SECOND)[0]


def test_a_job_that_was_given_up_can_be_had(tmp_path, other):
    with Claims(tmp_path) as claims:
        claims.take(FIRST)
        claims.take(SECOND)
        claims.release(FIRST)
        assert other(FIRST)[0]
        assert not other(SECOND)[0]


def test_a_process_that_leaves_gives_up_its_claims(tmp_path, other):
    with Claims(tmp_path) as claims:
        claims.take(FIRST)
    assert other(FIRST)[0]


def test_a_process_that_is_killed_gives_up_its_claims(tmp_path, other):
    taken, process = other(FIRST, seconds=PATIENCE)
    assert taken
    with Claims(tmp_path) as claims:
        assert not claims.take(FIRST)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert claims.take(FIRST)


def test_a_claim_writes_nothing(tmp_path):
    with Claims(tmp_path / "new") as claims:
        claims.take(SECOND)
        claims.release(SECOND)
    assert [path.stat().st_size for path in (tmp_path / "new").iterdir()] == [0]


def test_a_store_that_is_no_folder_is_refused(tmp_path):
    path = tmp_path / "a file"
    path.write_text("taken")
    with pytest.raises(StudyError, match="can be written to. Got .*a file: .*another folder"):
        Claims(path).__enter__()


def test_a_file_system_without_locks_lets_everybody_have_every_job(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with Claims(tmp_path) as claims:
        assert claims.take(FIRST)
        claims.release(FIRST)
