"""Try to break disambig: kills, hostile files, requests, downloads and arrays, all by a seed.

    python tools/faults [--seed 0] [--share 1.0] [--only NAME ...] [--folder docs/results]
    python tools/faults --only NAME --case N [--seed 0]

Needs Linux: cases run in forked children with limits. Prints a table and writes faults.md. Ends
with 1 if any case failed; each failed case is named, and comes again by its number and the seed.

Where cases are, by the name of their campaign:

    files                  files.py; readers.py (who reads what), bases.py (good files),
                           mutations.py, and *_attacks.py by kind of file
    requests               hostile_client.py; review_owner.py
    downloads              hostile_server.py; answers.py
    kills, power-cuts      kills.py, power_cuts.py; scenes.py (commands), steps.py, disk_model.py,
                           remains.py (what may be left)
    worker-kills           worker_kills.py
    fits                   fits.py; nasty_arrays.py
"""

import argparse
import os
import platform
import random
import signal
import sys
from pathlib import Path

# Before anything numerical is imported: children are forked, and threads do not survive a fork.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from campaign import Campaign, Tally  # noqa: E402
from files import CAMPAIGN as FILES  # noqa: E402
from fits import CAMPAIGN as FITS  # noqa: E402
from hostile_client import CAMPAIGN as REQUESTS  # noqa: E402
from hostile_server import CAMPAIGN as DOWNLOADS  # noqa: E402
from kills import CAMPAIGN as KILLS  # noqa: E402
from power_cuts import CAMPAIGN as POWER_CUTS  # noqa: E402
from running import Halves, run_here, run_in_two  # noqa: E402
from worker_kills import CAMPAIGN as WORKER_KILLS  # noqa: E402

from results_page import FOLDER, markdown_table, write_page  # noqa: E402

CAMPAIGNS: tuple[Campaign, ...] = (
    FILES,
    REQUESTS,
    DOWNLOADS,
    KILLS,
    POWER_CUTS,
    WORKER_KILLS,
    FITS,
)
HEADER = ("campaign", "tried", "survived", "failed", "minutes", "how cases ended")
MOST_LISTED = 40


def choose_numbers(campaign: Campaign, seed: int, share: float) -> list[int]:
    """Return the numbers of the cases to try, from anywhere in the campaign."""
    count = max(1, round(campaign.count * share))
    if count >= campaign.count:
        return list(range(campaign.count))
    return sorted(random.Random(f"{seed} {campaign.name}").sample(range(campaign.count), count))


def row(tally: Tally) -> tuple[str, ...]:
    """Return a campaign as a row of the table."""
    failed = len(tally.failures)
    # Ties by name: which process ends first is chance.
    by_count = sorted(tally.ended.items(), key=lambda item: (-item[1], item[0]))
    ended = ", ".join(f"{count:,} {what}" for what, count in by_count)
    counts = (f"{tally.tried:,}", f"{tally.tried - failed:,}", f"{failed:,}")
    return (tally.name, *counts, f"{tally.seconds / 60:.1f}", ended)


def list_failures(tallies: list[Tally], seed: int) -> str:
    """Return the failed cases, each with the command that tries it again."""
    lines = [
        f"- `python tools/faults --only {tally.name} --case {failed.number} --seed {seed}`: "
        f"{failed.case}: {failed.failure.strip().splitlines()[-1]}"
        for tally in tallies
        for failed in tally.failures
    ]
    if len(lines) > MOST_LISTED:
        lines[MOST_LISTED:] = [f"- and {len(lines) - MOST_LISTED:,} more"]
    return "\n".join(lines)


def write_results(tallies: list[Tally], seed: int, share: float, folder: Path) -> None:
    """Write the page of a run."""
    failures = list_failures(tallies, seed)
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    write_page(
        "faults",
        "tools/faults",
        f"Seed {seed}, {share:.0%} of the cases of a full run. {machine}, Python "
        f"{platform.python_version()}. What a failure is, and what is promised: "
        "[promises](../promises.md).",
        markdown_table(HEADER, map(row, tallies)),
        *(["What failed:", failures] if failures else ["Nothing failed."]),
        folder=folder,
        real_data=False,
    )


def main() -> int:
    """Run the campaigns that were asked for."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [campaign.name for campaign in CAMPAIGNS]
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of a full run")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--case", type=int, help="try this case again, and say all about it")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    # Ended in any way, this process ends those that it has started, which are not in its group.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [campaign for campaign in CAMPAIGNS if campaign.name in options.only]
    if options.case is not None:
        if len(chosen) != 1:
            parser.error("--case goes with --only and one campaign")
        return run_here(chosen[0], options.seed, options.case)
    tallies: list[Tally] = []
    interrupted = False
    try:
        for campaign in chosen:
            halves = Halves(campaign, choose_numbers(campaign, options.seed, options.share))
            tallies.append(halves.tally)
            run_in_two(halves, options.seed)
    except KeyboardInterrupt:
        interrupted = True
    print(markdown_table(HEADER, map(row, tallies)))
    print(list_failures(tallies, options.seed))
    if interrupted:
        print("Interrupted: no page is written.")
        return 130
    write_results(tallies, options.seed, options.share, options.folder)
    return 1 if any(tally.failures for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
