import json
import sys

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

import disambig
from disambig.bench.execute import (
    describe_environment,
    one_thread,
    peak_memory_mb,
    reset_peak_memory,
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
    with one_thread():
        assert set(threads()) == {1}
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3
    assert threads() == before


def test_threads_come_back_after_an_error(several_threads):
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 3


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not forget the peak")
def test_peak_memory_rises_and_can_be_reset():
    reset_peak_memory()
    before = peak_memory_mb()
    block = np.ones(200 * 2**17)  # 200 MB
    during = peak_memory_mb()
    assert during > before + 150
    del block
    assert peak_memory_mb() > during - 10  # the system counts in strides
    reset_peak_memory()
    assert peak_memory_mb() < during - 150


def test_the_environment_is_reported_in_plain_values():
    environment = describe_environment()
    assert json.loads(json.dumps(environment)) == environment
    assert environment["disambig"] == disambig.__version__
    assert environment["packages"]["numpy"] == np.__version__
    assert set(environment["packages"]) == {"numpy", "scipy", "scikit-learn", "torch"}
    assert environment["python"] == sys.version.partition(" ")[0]
    assert (environment["cuda"] is None) == (not torch.cuda.is_available())
