"""What training NCPD+ costs, as a multiple of NCPD.

    DISAMBIG_DATA=folder python benchmarks/ncpd_plus_cost.py [--folder docs/results]

One fold of ten, one CPU thread, the two methods one after the other, by processor time; sets side
by side in as many processes as DISAMBIG_JOBS says. On a machine with a CUDA card also the seconds
of ten folds. Writes ncpd_plus_cost.md.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from card_seconds import card_seconds
from disambig import NCPDClassifier, NCPDPlusClassifier
from disambig.bench.trial import Trial
from disambig.methods import PartialLabelClassifier
from fold_trials import REAL, fold_trials
from results_page import FOLDER, markdown_table, write_page

DATA = (*REAL, "ecoli", "vehicle")
MOST = 6
MOST_SECONDS = 30
REPEATS = 2


def processor_seconds(method: PartialLabelClassifier, trial: Trial) -> float:
    """Return the processor time of one fit."""
    begin = time.process_time()
    method.fit(trial.train.X, trial.train.candidates)
    return time.process_time() - begin


def multiple(name: str) -> float:
    """Return the cost of NCPD+ as a multiple of that of NCPD; both at their quickest."""
    torch.set_num_threads(1)
    trial = fold_trials(name, 1)[0]
    methods = [m(random_state=0, device="cpu") for m in (NCPDClassifier, NCPDPlusClassifier)]
    times = [[processor_seconds(method, trial) for method in methods] for _ in range(REPEATS)]
    ncpd, ours = (min(own) for own in zip(*times, strict=True))
    return ours / ncpd


def seconds_on_card(name: str) -> float:
    """Return how long ten folds take on a CUDA card, from features in memory to fitted models."""
    torch.ones(1, device="cuda").sum().item()
    method, trials = NCPDPlusClassifier(device="cuda"), fold_trials(name)
    return card_seconds(method, [trial.task(method) for trial in trials])


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    jobs = int(os.environ.get("DISAMBIG_JOBS", "1"))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        multiples = dict(zip(DATA, pool.map(multiple, DATA), strict=True))
    print(multiples, flush=True)
    parts = [
        "Processor time of one fit on nine tenths of the rows, one thread, 200 epochs of 1024 "
        "units, as a multiple of NCPD's: scouts, members and all.",
        markdown_table(["data", "times NCPD"], [[n, f"{m:.1f}"] for n, m in multiples.items()]),
    ]
    if torch.cuda.is_available():
        seconds = seconds_on_card("msrcv2")
        print(seconds, flush=True)
        parts.append(
            f"Ten folds of MSRCv2, selection and all, on one {torch.cuda.get_device_name()} with "
            f"torch {torch.__version__}: {seconds:.1f} s."
        )
        if seconds > MOST_SECONDS:
            raise SystemExit(f"{seconds:.1f} s on the card, the limit is {MOST_SECONDS} s.")
    write_page(
        "ncpd_plus_cost",
        "NCPD+: what it costs",
        "benchmarks/ncpd_plus_cost.py",
        *parts,
        folder=folder,
    )
    if max(multiples.values()) > MOST:
        raise SystemExit(f"NCPD+ costs more than {MOST} times NCPD.")


if __name__ == "__main__":
    main()
