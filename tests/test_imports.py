"""What must work where little is installed, and what must not be loaded before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

BARE_MACHINE = """
import sys

class WithoutSome:
    missing = {
        "lazy_loader", "matplotlib", "pandas", "platformdirs", "pydantic",
        "pydantic_core", "rarfile", "requests", "rich", "safetensors", "typer",
    }

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.missing:
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = [WithoutSome(finder) for finder in sys.meta_path]

from disambig import CandidateLabels, load_dataset
from disambig.bench import ControlledCorruption, cross_validate
from disambig.testing import check_partial_label_estimator
from methods.instances import INSTANCES  # every method that there is, quick

data = load_dataset("glass")
for method in INSTANCES.values():
    scores = cross_validate(method, data, n_folds=2, corruption=ControlledCorruption(0.5, 1))
    assert min(score.accuracy for score in scores) > 0.2
check_partial_label_estimator(INSTANCES["plknn"])  # it runs there; all methods meet it elsewhere
"""


# Words of the command line; None is a plain import.
QUICK = [None, "--help", "audit --help", "study --help", "reproduce --help", "--version"]
SLOW = {"torch", "pandas", "matplotlib", "pydantic", "sklearn", "scipy", "joblib"}


@pytest.mark.parametrize("words", QUICK)
def test_what_is_slow_to_import_waits_until_it_is_needed(words):
    code = "import disambig"
    if words is not None:
        code = (
            f"import runpy, sys; sys.argv = ['disambig', *{words.split()}]\n"
            "try: runpy.run_module('disambig', run_name='__main__')\n"
            "except SystemExit as end: assert end.code == 0"
        )
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        check=True,
        text=True,
    )
    modules = set(result.stderr.split())
    assert "disambig" in modules
    # typer reads the options of a command by pydantic, where that is installed.
    of_a_command = words is not None and " " in words
    assert modules & SLOW <= ({"pydantic"} if of_a_command else set())


def test_an_audit_loads_neither_torch_nor_scikit_learn_nor_scipy_stats(tmp_path):
    (tmp_path / "t.csv").write_text("size,label\n1,a|b\n2,a\n3,b\n")
    code = (
        "import sys; from disambig.cli.main import app\n"
        "app(['audit', sys.argv[1]], standalone_mode=False)\n"
        "assert not {'torch', 'sklearn', 'matplotlib', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "t.csv"], check=True)


@pytest.mark.parametrize("name", ["pydantic", "matplotlib"])
def test_a_library_that_the_bare_machine_lacks_cannot_be_imported_there(name):
    # Or the test below would show nothing.
    setting_up = BARE_MACHINE.partition("from disambig")[0]
    code = f"{setting_up}\nimport {name}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert f"No module named '{name}'" in result.stderr


def test_data_methods_and_evaluation_need_numpy_scipy_scikit_learn_and_torch_only():
    # Started in this folder, it finds the table of methods under test.
    folder = Path(__file__).parent
    subprocess.run([sys.executable, "-c", BARE_MACHINE], check=True, cwd=folder)
