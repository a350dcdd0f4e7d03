"""Run the cases of a campaign: in two processes with progress, or one case here."""

import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from campaign import Campaign, Outcome, Tally

from disambig._core.temporaries import temporary_beside

# Each loads libraries and makes good files first, which takes longer than a few cases.
PROCESSES, FEW_CASES = 2, 40
# The folder of a run that was killed is removed by the next one.
FOLDERS = Path(tempfile.gettempdir()) / "disambig-faults"


@dataclass
class Halves:
    """The cases of a campaign that are to be tried, and what has come of them so far."""

    campaign: Campaign
    numbers: Sequence[int]
    tally: Tally = field(init=False)
    _said: int = 0

    def __post_init__(self) -> None:
        self.tally = Tally(self.campaign.name)

    def add(self, outcome: Outcome) -> None:
        """Count a case; show a failure at once, and how far the campaign is."""
        tally, count = self.tally, len(self.numbers)
        tally.add(outcome)
        if outcome.failure:
            print(f"\r{tally.name}, case {outcome.number}: {outcome.case}\n{outcome.failure}\n")
            sys.stdout.flush()
        tenth = tally.tried * 10 // count
        if sys.stderr.isatty() or tenth > self._said:
            self._said = tenth
            line = f"{tally.name}: {tally.tried:,} of {count:,}, {len(tally.failures):,} failed"
            end = "\r" if sys.stderr.isatty() and tally.tried < count else "\n"
            print(line, end=end, file=sys.stderr, flush=True)


def run_in_two(halves: Halves, seed: int) -> None:
    """Try the cases, many of them in two processes side by side, and count what comes of them."""
    context = multiprocessing.get_context("fork")
    begin = time.monotonic()
    readers: dict[Connection, multiprocessing.process.BaseProcess] = {}
    try:
        processes = PROCESSES if len(halves.numbers) >= FEW_CASES else 1
        for part in range(processes):
            reader, writer = context.Pipe(duplex=False)
            numbers = halves.numbers[part::processes]
            worker = context.Process(
                target=_send_outcomes, args=(halves.campaign, seed, numbers, writer)
            )
            worker.start()
            writer.close()
            readers[reader] = worker
        while readers:
            for reader in wait(list(readers)):
                try:
                    halves.add(reader.recv())
                except EOFError:
                    worker = readers.pop(reader)
                    worker.join()
                    if worker.exitcode:
                        halves.add(_stopped(f"its process ended with {worker.exitcode}"))
    finally:
        for worker in readers.values():  # where this process is interrupted
            if worker.pid is not None:
                os.kill(worker.pid, signal.SIGINT)
            worker.join()
        halves.tally.seconds = time.monotonic() - begin


def _send_outcomes(
    campaign: Campaign, seed: int, numbers: Sequence[int], writer: Connection
) -> None:
    os.setpgid(0, 0)  # Ctrl-C reaches the first process, which passes it on once
    signal.signal(signal.SIGINT, signal.default_int_handler)
    first = os.getppid()
    done = 0

    def send(outcome: Outcome) -> None:
        if os.getppid() != first:  # it was killed, and nobody reads what is sent
            raise KeyboardInterrupt
        # Pages and terminals of other machines have other folders.
        writer.send(replace(outcome, failure=outcome.failure.replace(str(folder), "FOLDER")))

    with suppress(KeyboardInterrupt), temporary_beside(FOLDERS, is_folder=True) as folder:
        try:
            for outcome in campaign.cases(seed, numbers, folder):
                send(outcome)
                done += 1
        except Exception:  # noqa: BLE001 - a campaign that stops has not shown what it should
            send(_stopped(traceback.format_exc(), numbers[min(done, len(numbers) - 1)]))


def _stopped(failure: str, number: int = 0) -> Outcome:
    return Outcome("the campaign itself stopped", "stopped", failure, number)


def run_here(campaign: Campaign, seed: int, number: int) -> int:
    """Try one case again; return 1 if it fails."""
    with temporary_beside(FOLDERS, is_folder=True) as folder:
        outcomes = list(campaign.cases(seed, [number], folder))
    for outcome in outcomes:
        print(f"{outcome.case}: {outcome.ended}")
        if outcome.failure:
            print(outcome.failure)
    return 1 if any(outcome.failure for outcome in outcomes) else 0
