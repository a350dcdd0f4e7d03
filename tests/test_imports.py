"""What must work where little is installed, and what must not be loaded before it is needed."""

import subprocess
import sys

BARE_MACHINE = """
import sys

class NotInstalled:
    names = {"pandas", "pooch", "rarfile", "requests", "rich", "torch", "typer"}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())

from disambig import CandidateLabels, load_dataset
from disambig.methods import all_methods
from disambig.study import ControlledCorruption, cross_validate
from disambig.testing import check_partial_label_estimator

data = load_dataset("glass")
for method in all_methods().values():
    scores = cross_validate(method(), data, n_folds=2, corruption=ControlledCorruption(0.5, 1))
    assert min(score.accuracy for score in scores) > 0.2
    check_partial_label_estimator(method())
"""


def test_data_methods_and_evaluation_need_numpy_scipy_and_scikit_learn_only():
    subprocess.run([sys.executable, "-c", BARE_MACHINE], check=True)
