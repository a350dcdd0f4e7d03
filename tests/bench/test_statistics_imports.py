import subprocess
import sys

BARE_MACHINE = """
import sys, types

class Absent:
    names = {"joblib", "matplotlib", "pandas", "pydantic", "rarfile", "rich",
             "safetensors", "sklearn", "statsmodels", "scikit_posthocs",
             "threadpoolctl", "torch", "typer"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import disambig

# The package around it may need more; what is asked here is what the statistics need themselves.
bench = types.ModuleType("disambig.bench")
bench.__path__ = [f"{folder}/bench" for folder in disambig.__path__]
sys.modules["disambig.bench"] = bench
import disambig.bench.statistics as statistics

print(statistics.paired_t_test([1, 2], [1, 2]).verdict())
"""


def test_statistics_need_numpy_and_scipy_only():
    process = subprocess.run(
        [sys.executable, "-c", BARE_MACHINE], capture_output=True, text=True, check=False
    )
    assert process.stdout.strip() == "tie", process.stderr
