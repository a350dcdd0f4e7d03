import json
import sys

import numpy as np
import pytest
import torch

import disambig
from disambig.bench.execute import (
    describe_environment,
    peak_memory_mb,
    reset_peak_memory,
)


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
