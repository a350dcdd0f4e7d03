"""Say whether confidences mean what they say, before and after calibration by candidate sets.

    DISAMBIG_DATA=folder python benchmarks/calibration.py [--draws 10 11] [--folder FOLDER]
    python benchmarks/calibration.py --from-json calibration.json [MORE.json ...]

Every method, five folds, on sets with random false labels and on three real sets; then some
methods on sets whose false label is a likely mistake of another classifier; and synthetic
probabilities that need no calibration. As many processes as DISAMBIG_JOBS says; on a CUDA card,
networks share it in a third of them. Writes calibration.json as results come. When all is there,
and matplotlib, calibration.md and calibration.svg are written.
"""

import argparse
import importlib.util
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

import torch

from calibration_trials import HONEST, SETS, Task, measure
from disambig import all_methods
from disambig._core.files import write_atomically
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.registry import get_method
from results_page import FOLDER

CONFUSED_SETS = ("ecoli", "vehicle", "abalone")
CONFUSED_METHODS = ("plknn", "sure", "ncpd_plus")
# Draws 0 and 1 were looked at while the calibration was made, 10 to 14 with an earlier version.
DRAWS = (15, 16, 17, 18, 19)


def is_network(task: Task) -> bool:
    """Tell whether a task trains networks."""
    kind, method, _, _ = task
    return kind != "honest" and issubclass(get_method(method), NetworkClassifier)


def measure_all(tasks: Sequence[Task], file: Path) -> dict[str, object]:
    """Return what all tasks found; write it to a file as it comes."""
    jobs = int(os.environ.get("DISAMBIG_JOBS", "1"))
    on_card = max(1, jobs // 3) if torch.cuda.is_available() else 0
    found: dict[str, object] = {}
    failed = []
    with ExitStack() as stack:
        pools = [
            stack.enter_context(ProcessPoolExecutor(size, mp_context=get_context("spawn")))
            for size in (max(1, jobs - on_card), max(1, on_card))
        ]
        running = {
            pools[bool(on_card) and is_network(task)].submit(measure, task): task for task in tasks
        }
        for number, done in enumerate(as_completed(running), start=1):
            key = " ".join(map(str, running[done]))
            if (error := done.exception()) is not None:
                failed.append(f"{key}: {error!r}")
                print("FAILED", failed[-1], flush=True)
                continue
            found[key] = done.result()
            print(number, "of", len(running), key, flush=True)
            with write_atomically(file) as temporary:
                temporary.write_text(json.dumps(found), encoding="utf-8")
    if failed:
        raise SystemExit(f"{len(failed)} of {len(tasks)} failed; the others are in {file}.")
    return found


def make_tasks(methods: Sequence[str], names: Sequence[str], draws: Sequence[int]) -> list[Task]:
    """Return what is to be measured."""
    tasks: list[Task] = [("honest", "-", setting, draw) for setting in HONEST for draw in draws]
    for name in names:
        for draw in draws:
            tasks += [("random", method, name, draw) for method in methods]
            if name in CONFUSED_SETS:
                chosen = [method for method in methods if method in CONFUSED_METHODS]
                tasks += [("confused", method, name, draw) for method in chosen]
    return tasks


def main() -> None:
    """Measure, or read what was measured, and write the page."""
    methods = [name for name, method in all_methods().items() if method.card.role == "method"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--draws", type=int, nargs="+", default=DRAWS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods)
    parser.add_argument("--from-json", type=Path, nargs="+", help="files of earlier runs")
    arguments = parser.parse_args()
    n_all = len(methods) * len(SETS)
    file = arguments.folder / "calibration.json"
    found: dict[str, object] = {}
    if arguments.from_json:
        for part in arguments.from_json:
            found |= json.loads(part.read_text(encoding="utf-8"))
        with write_atomically(file) as temporary:
            temporary.write_text(json.dumps(found), encoding="utf-8")
    else:
        tasks = make_tasks(arguments.methods, arguments.sets, arguments.draws)
        found = measure_all(tasks, file)
    is_part = not arguments.from_json and len(arguments.methods) * len(arguments.sets) < n_all
    if is_part or importlib.util.find_spec("matplotlib") is None:
        print(f"Written: {file}. The page needs all methods and sets, and matplotlib: --from-json")
        return
    # Imported here because it needs matplotlib.
    from calibration_page import write_calibration_page

    write_calibration_page(found, arguments.folder)


if __name__ == "__main__":
    main()
