"""Try to break disambig: kills, hostile files, requests, downloads and arrays, all by a seed.

    python tools/faults [--seed 0] [--share 1.0] [--only NAME ...] [--folder docs/results]

Needs Linux: cases run in forked children with limits. Prints a table and writes faults.md. Ends
with 1 if any case failed; each failed case is named, and comes again with the same seed and share.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

# Before anything numerical is imported: children are forked, and threads do not survive a fork.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from campaign import Campaign, Outcome, Tally  # noqa: E402

from results_page import FOLDER, markdown_table, write_page  # noqa: E402

CAMPAIGNS: tuple[Campaign, ...] = ()
HEADER = ("campaign", "tried", "survived", "failed", "seconds", "how cases ended")


def run(campaign: Campaign, seed: int, share: float) -> Tally:
    """Run a share of a campaign and count what comes of it."""
    tally = Tally(campaign.name)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="disambig-faults-") as folder:
        count = max(1, round(campaign.count * share))
        for outcome in campaign.cases(seed, count, Path(folder)):
            tally.add(outcome)
            show(tally, count, outcome)
    tally.seconds = time.monotonic() - begin
    return tally


def show(tally: Tally, count: int, outcome: Outcome) -> None:
    """Show how far a campaign is, and every failure at once."""
    if outcome.failure:
        print(f"\r{tally.name}: {outcome.case}\n{outcome.failure}\n", flush=True)
    if sys.stderr.isatty():
        line = f"\r{tally.name}: {tally.tried} of about {count}, {len(tally.failures)} failed "
        print(line, end="", file=sys.stderr, flush=True)


def row(tally: Tally) -> tuple[str, ...]:
    """Return a campaign as a row of the table."""
    failed = len(tally.failures)
    ended = ", ".join(f"{count:,} {what}" for what, count in tally.ended.most_common())
    counts = (f"{tally.tried:,}", f"{tally.tried - failed:,}", f"{failed:,}")
    return (tally.name, *counts, f"{tally.seconds:.0f}", ended)


def main() -> int:
    """Run the campaigns that were asked for."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [campaign.name for campaign in CAMPAIGNS]
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of a full run")
    parser.add_argument("--only", nargs="*", choices=names, default=names, metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    chosen = [campaign for campaign in CAMPAIGNS if campaign.name in options.only]
    tallies = [run(campaign, options.seed, options.share) for campaign in chosen]
    table = markdown_table(HEADER, map(row, tallies))
    failures = [
        f"- {tally.name}: `{failed.case}`: {failed.failure.strip().splitlines()[-1]}"
        for tally in tallies
        for failed in tally.failures
    ]
    settings = f"Seed {options.seed}, {options.share:.0%} of the cases of a full run."
    write_page(
        "faults",
        "Faults: what was tried to break it",
        "tools/faults",
        settings,
        table,
        *(["What failed:", "\n".join(failures)] if failures else ["Nothing failed."]),
        folder=options.folder,
        real_data=False,
    )
    print(table)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
