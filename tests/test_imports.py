"""What must work where little is installed, and what must not be loaded before it is needed."""

import subprocess
import sys
from pathlib import Path

BARE_MACHINE = """
import sys

class WithoutSome:
    missing = {
        "matplotlib", "pandas", "pooch", "rarfile", "requests", "rich", "safetensors", "typer",
    }

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.missing:
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = [WithoutSome(finder) for finder in sys.meta_path]

from disambig import CandidateLabels, load_dataset
from disambig.study import ControlledCorruption, cross_validate
from disambig.testing import check_partial_label_estimator
from methods.instances import INSTANCES  # every method that there is, quick

data = load_dataset("glass")
for method in INSTANCES.values():
    scores = cross_validate(method, data, n_folds=2, corruption=ControlledCorruption(0.5, 1))
    assert min(score.accuracy for score in scores) > 0.2
    check_partial_label_estimator(method)
"""


def test_data_methods_and_evaluation_need_numpy_scipy_scikit_learn_and_torch_only():
    # Started in this folder, it finds the table of methods under test.
    folder = Path(__file__).parent
    subprocess.run([sys.executable, "-c", BARE_MACHINE], check=True, cwd=folder)
