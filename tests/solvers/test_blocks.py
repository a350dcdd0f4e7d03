"""Blocks that threads share: order, errors, and the numbers of threads of libraries."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from disambig.solvers import blocks
from disambig.solvers.blocks import for_each, one_thread_each


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def _three_threads():
    with threadpool_limits(limits=3):
        yield


def test_libraries_use_one_thread_inside_and_as_many_as_before_outside():
    with one_thread_each():
        assert blas_threads() == {1}
        with one_thread_each():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {3}


def test_the_last_of_several_threads_puts_the_number_back():
    entered, leave = threading.Event(), threading.Event()

    def longer():
        with one_thread_each():
            entered.set()
            assert leave.wait(60)

    with one_thread_each():
        thread = threading.Thread(target=longer)
        thread.start()
        assert entered.wait(60)
    assert blas_threads() == {1}
    leave.set()
    thread.join()
    assert blas_threads() == {3}


def test_work_is_shared_and_comes_back_in_order():
    seen = set()
    together = threading.Barrier(3, timeout=60)

    def work(number):
        together.wait()  # three threads, or it breaks
        seen.add(threading.get_ident())
        return number

    with one_thread_each():
        assert for_each(work, range(30)) == list(range(30))
    assert len(seen) == 3


def test_elsewhere_it_is_a_loop():
    assert for_each(lambda _: threading.get_ident(), range(3)) == [threading.get_ident()] * 3


def test_errors_reach_the_caller_and_the_number_is_put_back():
    def fail(number):
        raise FloatingPointError(number)

    with pytest.raises(FloatingPointError, match="0"), one_thread_each():
        for_each(fail, range(5))
    assert blas_threads() == {3}


def test_workers_use_one_thread_of_openmp():
    def openmp_threads(_):
        found = (library for library in threadpool_info() if library["user_api"] == "openmp")
        return {library["num_threads"] for library in found}

    with one_thread_each():
        assert openmp_threads(0) == {1}
        assert for_each(openmp_threads, range(6)) == [{1}] * 6
    np.testing.assert_array_equal(sorted(openmp_threads(0)), [3])


def test_the_number_is_put_back_while_another_thread_holds_a_limit_of_its_own():
    held, leave = threading.Event(), threading.Event()

    def hold():
        with threadpool_limits(limits=3):
            held.set()
            assert leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    with one_thread_each():
        assert blas_threads() == {1}
    assert blas_threads() == {3}
    leave.set()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_forked_during_a_fit_has_threads_of_its_own():
    code = """
import os
from threadpoolctl import threadpool_limits
from disambig.solvers.blocks import for_each, one_thread_each

with threadpool_limits(limits=2):
    with one_thread_each():
        assert for_each(abs, [-1, -2]) == [1, 2]
        child = os.fork()
        if child == 0:
            assert for_each(abs, [-1, -2]) == [1, 2]
            with one_thread_each():
                assert for_each(abs, [-1, -2]) == [1, 2]
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_forked_process_begins_without_threads_and_without_a_lock_that_is_held(monkeypatch):
    held = blocks._Threads()
    held.users = 1
    held.lock.acquire()
    monkeypatch.setattr(blocks, "_threads", held)
    blocks._begin_anew()
    assert blocks._threads.users == 0
    assert for_each(str, [1, 2]) == ["1", "2"]


def test_old_versions_of_threadpoolctl_are_told_the_number_alone(monkeypatch):
    told = []
    library = SimpleNamespace(set_num_threads=told.append)
    monkeypatch.setattr(
        blocks, "_libraries", lambda kind: SimpleNamespace(lib_controllers=[library])
    )
    blocks._set_threads([2])
    assert told == [2]
