"""Processes that end with the one that started them, and limits of threads."""

import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from disambig._core import processes
from disambig._core.processes import (
    at_most_threads,
    available_cores,
    children_ignore_interrupts,
    interrupts_later,
    start_processes,
)


@pytest.fixture
def several_threads():
    """Let every library have three threads, and afterwards what it had."""
    before = torch.get_num_threads()
    with threadpool_limits(3):
        torch.set_num_threads(3)
        yield
    torch.set_num_threads(before)


def threads():
    return [pool["num_threads"] for pool in threadpool_info()]


def test_numerical_libraries_have_one_thread_and_then_what_they_had(several_threads):
    before = threads()
    assert set(before) == {3}
    with at_most_threads(1):
        assert set(threads()) == {1}
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3
    assert threads() == before


def test_threads_come_back_after_an_error(several_threads):
    with pytest.raises(ZeroDivisionError), at_most_threads(1):
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 3


def test_a_limit_above_what_there_is_changes_nothing(several_threads):
    with at_most_threads(9):
        assert set(threads()) == {3}
        assert torch.get_num_threads() == 3


def test_cores_can_be_said_to_be_fewer(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert available_cores() == 1


def test_a_process_is_set_up_and_has_the_threads_that_it_should():
    pool = start_processes(1, threads=3, set_up=os.chdir, arguments=("/",))
    try:
        assert pool.submit(os.getcwd).result() == "/"
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "3"
    finally:
        pool.shutdown(kill_workers=True)


def test_a_process_ends_when_the_one_that_started_it_is_gone(monkeypatch):
    parents = [7, 7, 1]
    ended = []
    monkeypatch.setattr(os, "getppid", lambda: parents.pop(0))
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    processes._end_with(7)
    assert (ended, parents) == ([1], [])


def does_not_hear_interrupts() -> bool:
    """Start a process, and let it say."""
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


def test_processes_that_start_do_not_hear_interrupts():
    with children_ignore_interrupts():
        assert does_not_hear_interrupts()
    assert not does_not_hear_interrupts()


def test_on_windows_processes_hear_interrupts(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with children_ignore_interrupts():
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.fixture
def usual_collections():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_process_looks_for_garbage_less_often(usual_collections, monkeypatch):
    monkeypatch.setattr(processes, "_end_with", lambda _: None)
    gc.set_threshold(700)
    processes._begin(1, None, ())
    assert gc.get_threshold()[0] > 100_000


def test_setting_up_may_be_left_out(usual_collections, monkeypatch):
    monkeypatch.setattr(processes, "_end_with", lambda _: None)
    done = []
    processes._begin(1, None, ())
    processes._begin(1, done.append, (3,))
    assert done == [3]


def test_torch_is_left_alone_where_it_is_not_loaded(several_threads, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    with at_most_threads(1):
        assert "torch" not in sys.modules
    assert set(threads()) == {3}


def warn_of(text):
    warnings.warn(text, stacklevel=1)


def test_a_process_warns_without_orders_to_the_terminal(capfd):
    with start_processes(1) as pool:
        pool.submit(warn_of, "the label \x1b]0;title\x07 is rare").result()
    shown = capfd.readouterr().err
    assert "UserWarning: the label \\x1b]0;title\\x07 is rare" in shown
    assert "\x1b" not in shown


def test_an_interrupt_is_heard_at_the_end_of_a_block_that_may_not_be_cut():
    before = signal.getsignal(signal.SIGINT)
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts_later():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        reached.append("the end")
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_block_that_is_not_interrupted_changes_nothing():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_later():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_may_use_such_a_block_too():
    with ThreadPoolExecutor() as pool:
        assert pool.submit(_in_block).result() == 3


def _in_block():
    with interrupts_later():
        return 3


def test_a_warning_in_a_worker_sends_no_escape_to_the_terminal():
    text = processes._plain_warning("a\x1b[2Jb", UserWarning, "file.py", 3)
    assert text == "file.py:3: UserWarning: a\\x1b[2Jb\n"
