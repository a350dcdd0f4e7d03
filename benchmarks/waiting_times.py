"""How long people wait for the commands of the README, beside an earlier commit.

    python benchmarks/waiting_times.py --commit 2463555 [--repeats 3] [--only fit --only predict]

Every command runs in a process of its own, from start to end, by the code of the commit and by that
of this tree in turns, on the tables of ``disambig example``. The study is what ``make run`` does
after the installation. ``busy`` is ``fit`` beside four busy processes, as it is and on one thread
in one process. Meant for a machine with two cores and nothing else to do: the page says how busy
others were. Writes waiting_times.md.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from results_page import FOLDER, markdown_table, write_page

ROOT = Path(__file__).resolve().parent.parent
TABLE = ("vehicles.csv", "--labels", "label", "--truth", "checked")
# By name: the words, and the most seconds that they may take on two idle cores.
COMMANDS = {
    "audit": (("audit", *TABLE), 2.0),
    "fit": (("fit", *TABLE, "--out", "model"), 8.0),
    "clean": (("clean", *TABLE, "--out", "vehicles-clean.csv"), 8.0),
    "predict": (
        ("predict", "model", "new-vehicles.csv", "--out", "predictions.csv", "--top", "2"),
        2.0,
    ),
    "study": (("reproduce", "curves", "--quick", "--jobs", "2"), 75.0),
}
# Left behind by a command, and in the way of the next run of it.
RESULTS = {"fit": "model", "clean": "vehicles-clean.csv", "study": "out"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}
N_BUSY = 4
MOST_TIMES_ONE_THREAD = 1.3


@dataclass(frozen=True)
class Code:
    """A source tree, and a folder in which its commands run."""

    source: Path
    folder: Path

    def run(self, *words: str, **variables: str) -> float:
        """Run a command; return its seconds from start to end."""
        unset = {"OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"}
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        environment |= {"PYTHONPATH": str(self.source), **variables}
        command = [sys.executable, "-m", "disambig", *words]
        begin = time.perf_counter()
        subprocess.run(command, cwd=self.folder, env=environment, check=True, capture_output=True)
        return time.perf_counter() - begin

    def time(self, name: str, **variables: str) -> float:
        """Time a command that begins from nothing; a model stays for ``predict``."""
        left = self.folder / RESULTS.get(name, "nothing")
        if left.is_dir():
            shutil.rmtree(left)
        left.unlink(missing_ok=True)
        return self.run(*COMMANDS[name][0], **variables)


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """Give the sources of a commit, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        add = [*git, "add", "--quiet", "--detach", str(tree), commit]
        subprocess.run(add, check=True)
        try:
            yield tree / "src"
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep this many processes busy."""
    spinning = [sys.executable, "-c", "while True: pass"]
    with ExitStack() as ends:
        for _ in range(count):
            ends.callback(subprocess.Popen(spinning).kill)
        yield


def busy_seconds() -> float | None:
    """Return the seconds that all processors have worked so far, where the system tells."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return None
    user, nice, system, _, _, *interrupts = map(int, first.split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def others_share() -> float | None:
    """Return the share of the processors that others use, while this process sleeps."""
    before = busy_seconds()
    time.sleep(2)
    after = busy_seconds()
    if before is None or after is None:
        return None
    return (after - before) / 2 / (os.cpu_count() or 1)


def measure(old: Code, new: Code, names: list[str], repeats: int) -> dict[str, list[list[float]]]:
    """Return, by command, the seconds of the old and of the new code, run by run."""
    for code in (old, new):
        code.run("example")
        code.run(*COMMANDS["audit"][0])  # reads libraries from disk, and compiles modules
    seconds: dict[str, list[list[float]]] = {name: [[], []] for name in names}
    for repeat in range(repeats):
        for name in names:
            if name == "study" and repeat:
                continue  # long enough to be measured once
            for number, code in enumerate((old, new)):
                seconds[name][number].append(code.time(name))
            print(name, *(f"{times[-1]:.2f}" for times in seconds[name]), flush=True)
    return seconds


def measure_busy(code: Code) -> tuple[float, str]:
    """Return how many times longer ``fit`` takes than on one thread, and a sentence about it."""
    with busy_processes(N_BUSY):
        pairs = [(code.time("fit"), code.time("fit", **ONE_THREAD)) for _ in range(2)]
    print("busy", pairs, flush=True)
    by_default, one_thread = (min(times) for times in zip(*pairs, strict=True))
    ratio = by_default / one_thread
    return ratio, (
        f"Beside {N_BUSY} busy processes `fit` takes {by_default:.1f} s as it is, and "
        f"{one_thread:.1f} s on one thread in one process: {ratio:.2f} times as long. At most "
        f"{MOST_TIMES_ONE_THREAD} is aimed at."
    )


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", required=True, help="what to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", choices=[*COMMANDS, "busy"])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    arguments = parser.parse_args()
    wanted = set(arguments.only or [*COMMANDS, "busy"])
    if "predict" in wanted:
        wanted.add("fit")
    names = [name for name in COMMANDS if name in wanted]
    share = others_share()
    with tree_of(arguments.commit) as source, tempfile.TemporaryDirectory() as folder:
        old, new = Code(source, Path(folder) / "old"), Code(ROOT / "src", Path(folder) / "new")
        for code in (old, new):
            code.folder.mkdir()
        seconds = measure(old, new, names, arguments.repeats)
        slow = [name for name, (_, after) in seconds.items() if min(after) > COMMANDS[name][1]]
        about_busy = []
        if "busy" in wanted:
            ratio, sentence = measure_busy(new)
            about_busy.append(sentence)
            if ratio > MOST_TIMES_ONE_THREAD:
                slow.append("fit beside busy processes")
    rows = [
        [
            f"`disambig {' '.join(COMMANDS[name][0])}`",
            *(f"{min(times):.1f} s" for times in (before, after)),
            f"{min(before) / min(after):.1f}",
            f"{COMMANDS[name][1]:.0f} s",
        ]
        for name, (before, after) in seconds.items()
    ]
    idle = "" if share is None else f" Other processes used {share:.0%} of it before the first run."
    write_page(
        "waiting_times",
        f"benchmarks/waiting_times.py --commit {arguments.commit}",
        f"Seconds from start to end of a command, at their best of {arguments.repeats} (the study "
        f"once), on a machine with {os.cpu_count()} cores; the commit and this tree in turns."
        f"{idle} `reproduce` is what `make run` does after the installation.",
        markdown_table(["command", arguments.commit, "now", "times quicker", "aim"], rows),
        *about_busy,
        folder=arguments.folder,
        real_data=False,
    )
    if slow:
        raise SystemExit(f"Slower than the aim: {', '.join(slow)}.")


if __name__ == "__main__":
    main()
