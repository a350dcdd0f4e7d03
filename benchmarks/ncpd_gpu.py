"""How long ten-fold NCPD takes on a CUDA card: 10 folds x 2 networks x 200 epochs as one stack.

    DISAMBIG_DATA=folder python benchmarks/ncpd_gpu.py [--folder docs/results]

Needs a CUDA card. Soccer Player and Yahoo!News are made-up data of their shape. Everything is
timed from features in memory to fitted classifiers: scaling, training, graph capture, and the
confidences of the training rows. Writes ncpd_gpu.md.
"""

import argparse
from pathlib import Path

import torch

from card_seconds import card_seconds
from disambig import NCPDClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.datasets import PartialLabelDataset, make_partial_label_dataset
from results_page import FOLDER, markdown_table, write_page

LIMIT = 45
HIDDEN = 512


def datasets() -> dict[str, PartialLabelDataset]:
    """Return the five datasets of the paper, two of them by shape only."""
    return {
        "lost": load_dataset("lost"),
        "msrcv2": load_dataset("msrcv2"),
        "birdsong": load_dataset("birdsong"),
        "soccer_player (shape)": make_partial_label_dataset(
            17472, 279, 171, average_candidates=2.09, random_state=0
        ),
        "yahoo_news (shape)": make_partial_label_dataset(
            22991, 163, 219, average_candidates=1.91, random_state=0
        ),
    }


def seconds(data: PartialLabelDataset) -> float:
    """Return how long it takes to train all ten folds."""
    method = NCPDClassifier(hidden=HIDDEN, device="cuda")
    folds = shuffled_folds(len(data.X), 10, 0)
    tasks = ((data.X[train], data.candidates[train], fold) for fold, (train, _) in enumerate(folds))
    return card_seconds(method, tasks)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    # The first use of a card sets it up, which does not count as training.
    torch.ones(1, device="cuda").sum().item()
    rows, total = [], 0.0
    for name, data in datasets().items():
        time_taken = seconds(data)
        total += time_taken
        shape = f"{data.X.shape[0]} x {data.X.shape[1]}, {len(data.candidates.classes)} classes"
        rows.append([name, shape, f"{time_taken:.1f}"])
        print(rows[-1], flush=True)
    write_page(
        "ncpd_gpu",
        "NCPD on a CUDA card",
        "benchmarks/ncpd_gpu.py",
        f"10 folds x 2 networks x 200 epochs of {HIDDEN} units, trained as one stack by "
        f"`fit_many`, on one {torch.cuda.get_device_name()} with torch {torch.__version__}.",
        markdown_table(["data", "size", "seconds"], [*rows, ["all", "", f"{total:.1f}"]]),
        folder=folder,
    )
    if total > LIMIT:
        raise SystemExit(f"All together took {total:.1f} s, the limit is {LIMIT} s.")


if __name__ == "__main__":
    main()
