"""MATLAB files: how long our reader takes, as a multiple of SciPy's.

    DISAMBIG_DATA=folder python benchmarks/mat_reading.py

Both read the same variables of the same files, in turns, in one process; the best of several is
compared. Writes docs/results/mat_reading.md; ends with 1 if a file takes over 1.3 times as long.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.files.arrays import as_features, read_mat
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.mat_format import find_variables
from results_page import markdown_table, write_page

N_ROWS, N_FEATURES, N_CLASSES = 60_000, 100, 50
LIMIT = 1.3
REPEATS = 15


def read_ours(path: Path) -> dict[str, Any]:
    """Read all variables by our reader."""
    with path.open("rb") as stream:
        found = list(find_variables(stream, path.stat().st_size))
        return {variable.name: variable.read(stream) for variable in found}


def read_by_scipy(path: Path) -> dict[str, Any]:
    """Read all variables by SciPy."""
    content: dict[str, Any] = io.loadmat(path)
    return content


def make_dataset(path: Path) -> Any:
    """Read a file into a dataset, as users do."""
    return read_mat(FileContent(str(path), path))


def make_dataset_by_scipy(path: Path) -> Any:
    """Do the same with SciPy's reader."""
    content = io.loadmat(path)
    X = as_features(content["data"], str(path))
    candidates = CandidateLabels.from_mask(content["partial_target"].T)
    truth = CandidateLabels.from_mask(content["target"].T, candidates.classes)
    names = [f"x{column}" for column in range(X.shape[1])]
    return PartialLabelDataset("", X, candidates, truth.pairs()[1], names)


def seconds(path: Path, *readers: Callable[[Path], Any]) -> list[float]:
    """Return the shortest processor time of each reader; they take turns."""
    best = [float("inf")] * len(readers)
    for _ in range(REPEATS):
        for number, reader in enumerate(readers):
            begin = time.process_time()
            reader(path)
            best[number] = min(best[number], time.process_time() - begin)
    return best


def make_files(folder: Path) -> dict[str, Path]:
    """Write files of about 50 MB, with all that a dataset has."""
    generator = np.random.default_rng(0)
    truth = np.eye(N_CLASSES, dtype=bool)[generator.integers(N_CLASSES, size=N_ROWS)]
    sets = truth | (generator.random(truth.shape) < 0.05)
    # As measured values are: of three decimal digits, so that compression has something to do.
    data = generator.standard_normal((N_ROWS, N_FEATURES)).round(3)
    variables = {
        "data": data,
        "partial_target": sparse.csc_array(sets.T.astype(float)),
        "target": sparse.csc_array(truth.T.astype(float)),
    }
    dense = variables | {"partial_target": sets.T, "target": truth.T}
    made = {}
    for name, content, compressed in (
        ("made, plain", variables, False),
        ("made, compressed", variables, True),
        ("made, dense sets, plain", dense, False),
        ("made, dense sets, compressed", dense, True),
    ):
        made[name] = folder / f"{len(made)}.mat"
        io.savemat(made[name], content, do_compression=compressed)
    return made


def main() -> int:
    """Measure and write the page."""
    files = {file.stem: file for file in sorted(Path(os.environ["DISAMBIG_DATA"]).glob("*.mat"))}
    rows, worst = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (files | make_files(Path(folder))).items():
            ours, scipy = seconds(path, read_ours, read_by_scipy)
            dataset, other = seconds(path, make_dataset, make_dataset_by_scipy)
            worst = max(worst, ours / scipy, dataset / other)
            size = f"{path.stat().st_size / 1e6:.1f}"
            rows.append([name, size, f"{ours / scipy:.2f}", f"{dataset / other:.2f}"])
    write_page(
        "mat_reading",
        "benchmarks/mat_reading.py",
        "Our reader checks every claim of a file before it believes it; one changed byte can make "
        "SciPy's end the process. The time that it takes, as a multiple of SciPy's for the same "
        f"file (best of {REPEATS}, in turns, processor time): for the variables alone, and until "
        "there are features, candidate sets and true labels. The made files have "
        f"{N_ROWS:,} rows, {N_FEATURES} features and {N_CLASSES} labels.",
        markdown_table(["file", "MB", "variables", "dataset"], rows),
    )
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
