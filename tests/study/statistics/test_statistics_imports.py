import subprocess
import sys

BARE_MACHINE = """
import sys, types

class Absent:
    names = {"joblib", "matplotlib", "pandas", "pooch", "pydantic", "rarfile", "rich",
             "safetensors", "sklearn", "statsmodels", "scikit_posthocs",
             "threadpoolctl", "torch", "typer"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import disambig

# The package around it may need more; what is asked here is what the statistics need themselves.
study = types.ModuleType("disambig.study")
study.__path__ = [f"{folder}/study" for folder in disambig.__path__]
sys.modules["disambig.study"] = study
import disambig.study.statistics as statistics

print(statistics.paired_t_test([1, 2], [1, 2]).verdict())
"""


def test_statistics_need_numpy_and_scipy_only():
    process = subprocess.run(
        [sys.executable, "-c", BARE_MACHINE], capture_output=True, text=True, check=False
    )
    assert process.stdout.strip() == "tie", process.stderr
