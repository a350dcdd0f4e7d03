"""A report over ten thousand doubtful rows: how large, and how long a browser takes to open it.

    python benchmarks/report_at_scale.py [--rows 10000]

Needs Chromium, on the path or named by DISAMBIG_CHROMIUM. Writes docs/results/report_at_scale.md;
fails where the page is too large or takes too long.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from disambig.candidates import CandidateLabels
from disambig.datasets import make_partial_label_dataset
from disambig.tabular.cleaned_table import read_cleaned
from disambig.tabular.labels.label_cells import write_weighted_cells
from disambig.tabular.table_cells import CLEAN_COLUMNS
from disambig.web.table_report import table_page
from results_page import markdown_table, write_page

FEATURE_COUNTS = (20, 200)
N_LABELS, N_VISITS = 20, 5
MOST_MEGABYTES, MOST_SECONDS = 10, 3
FIRST_ROW = "#list tbody tr"


def cleaned_table(n_rows: int, n_features: int) -> pd.DataFrame:
    """Return made-up data as if it had been cleaned, every row of it doubtful."""
    data = make_partial_label_dataset(
        n_rows, n_features, N_LABELS, average_candidates=3, random_state=0
    )
    names = [f"label number {number}" for number in range(N_LABELS)]
    candidates = CandidateLabels.from_mask(data.candidates.to_sparse(), names)
    generator = np.random.default_rng(0)
    powers = generator.exponential(size=int(candidates.sizes.sum()))
    shares = powers / np.repeat(np.add.reduceat(powers, candidates.starts), candidates.sizes)
    confidences = candidates.to_sparse().astype(float)
    confidences.data = shares
    largest = np.maximum.reduceat(shares, candidates.starts)
    columns = (
        candidates.choose(confidences),
        largest,
        largest,  # the margin is not on the page
        np.full(n_rows, True),
        write_weighted_cells(candidates, shares),
    )
    frame = pd.DataFrame(data.X.round(4), columns=data.feature_names)
    return frame.assign(**dict(zip(CLEAN_COLUMNS, columns, strict=True)))


def seconds_to_open(page: Path) -> list[float]:
    """Return how long each visit took, from the address to the first rows of the list."""
    chromium = os.environ.get("DISAMBIG_CHROMIUM") or shutil.which("chromium")
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for _ in range(N_VISITS):
            visit = browser.new_page()
            begin = time.perf_counter()
            visit.goto(page.as_uri())
            visit.wait_for_selector(FIRST_ROW)
            taken.append(time.perf_counter() - begin)
            visit.close()
        browser.close()
    return taken


def main() -> None:
    """Write reports, open them, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    n_rows = parser.parse_args().rows
    lines, too_much = [], []
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        for n_features in FEATURE_COUNTS:
            rows = read_cleaned(cleaned_table(n_rows, n_features))
            page.write_text(table_page(rows, title="at scale"), encoding="utf-8")
            megabytes, taken = page.stat().st_size / 1e6, seconds_to_open(page)
            lines.append(
                [
                    str(n_features),
                    f"{megabytes:.1f}",
                    f"{np.median(taken):.1f}",
                    f"{max(taken):.1f}",
                ]
            )
            print(*lines[-1], flush=True)
            if megabytes > MOST_MEGABYTES or max(taken) > MOST_SECONDS:
                too_much.append(f"{n_features} columns")
    write_page(
        "report_at_scale",
        "benchmarks/report_at_scale.py",
        f"{n_rows:,} doubtful rows, {N_LABELS} labels, three candidates a row on average; headless "
        f"Chromium, {N_VISITS} visits, from the address to the first rows of the list. Two shared "
        "cores: the seconds are no more than an order of magnitude. Columns that would make the "
        "page too large are left out, and the page says how many.",
        markdown_table(["columns", "megabytes", "seconds, median", "seconds, longest"], lines),
        real_data=False,
    )
    if too_much:
        raise SystemExit(f"Too slow or too large: {', '.join(too_much)}.")


if __name__ == "__main__":
    main()
