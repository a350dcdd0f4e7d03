"""Shared set-up: real data where it is at hand, and hypothesis without deadlines."""

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Threads that share busy cores wait for each other, and networks of this size get ten times slower.
# Said before torch is imported, and to every process that a test starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Commands train one model after the other, unless a test wants several processes.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

# A shared machine stalls now and then; that is not a failure. The same examples every time, so that
# a red run can be repeated.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

# A suite that a shell has put into the background has been told to ignore Ctrl-C, and would tell
# the processes that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cache_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the places of new folders, one after the other.

    Pytest would number them by listing all the folders that it has made before, which takes
    half a minute in thousands of tests.
    """
    parent = tmp_path_factory.mktemp("caches")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, cache_folders: Iterator[Path]) -> Path:
    """Keep downloads out of the real cache: every test has one of its own."""
    folder = next(cache_folders)
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "disambig"


@pytest.fixture(scope="module")
def quick_workers() -> Iterator[None]:
    """Let the worker processes of studies start at once."""
    from disambig.bench import backends
    from processes import start_worker

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "start_processes", start_worker)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with slow files; skip tests on real data, visibly, where there is none."""
    slow = {item.path for item in items if "slow" in item.keywords}
    items.sort(key=lambda item: item.path not in slow)
    if os.environ.get("DISAMBIG_DATA"):
        return
    skip = pytest.mark.skip(reason="DISAMBIG_DATA names no folder with the real-world files")
    for item in items:
        if "realdata" in item.keywords:
            item.add_marker(skip)
