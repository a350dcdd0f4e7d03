"""Children with limits, and campaigns that are counted, tried again and interrupted."""

import json
import re
import signal

import pytest

from tools.faults import run_script, start_script

CHILDREN = """
import json, os, sys, time
from campaign import in_child

def loop():
    while True:
        pass

ends = {
    "returned": lambda: [1, "a"],
    "raised": lambda: 1 / 0,
    "left": lambda: sys.exit(3),
    "killed": lambda: os.kill(os.getpid(), 11),
    "gone": lambda: os._exit(7),
    "asleep": lambda: time.sleep(600),
    "busy": loop,
    "greedy": lambda: len(bytearray(1 << 30)),
    "loud": lambda: print("loud", flush=True),
}
found = {name: in_child(end, seconds=0.5, memory=1 << 28) for name, end in ends.items()}
print(json.dumps({name: [child.ended, child.value] for name, child in found.items()}))
"""

# A campaign in which every third case fails, in the place of those of the tool.
CAMPAIGN = """
import importlib.util, os, sys, time
from pathlib import Path
from campaign import Campaign, Outcome

def cases(seed, numbers, folder):
    for number in numbers:
        if "slow" in os.environ:
            time.sleep(0.2)
        if number == 50:
            raise RuntimeError(f"in {folder}")
        if number == 51:
            os.kill(os.getpid(), 9)
        failure = f"seed {seed}\\nin {folder}" if number % 3 == 2 else ""
        yield Outcome(f"case {number}", "odd" if number % 2 else "even", failure, number)

path = Path(sys.modules["campaign"].__file__).with_name("__main__.py")
spec = importlib.util.spec_from_file_location("runner", path)
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
runner.CAMPAIGNS = (Campaign("toy", 40, cases), Campaign("breaks", 60, cases))
sys.exit(runner.main())
"""


@pytest.fixture(scope="module")
def children():
    ended = run_script(CHILDREN)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)  # nothing else is printed, whatever children print


def test_what_a_child_returns_or_raises_comes_back(children):
    assert children["returned"] == ["returned", [1, "a"]]
    assert children["loud"] == ["returned", None]
    assert children["raised"][0] == children["left"][0] == "raised"
    assert "ZeroDivisionError" in children["raised"][1]
    assert "SystemExit: 3" in children["left"][1]


def test_a_child_that_dies_hangs_or_wants_too_much_is_told_apart(children):
    assert children["killed"] == ["signal 11", None]
    assert children["gone"] == ["exit 7", None]
    assert children["asleep"] == children["busy"] == ["too long", None]
    assert "MemoryError" in children["greedy"][1]


def test_failed_cases_are_counted_and_named(tmp_path):
    ended = run_script(CAMPAIGN, "--only", "toy", "--folder", tmp_path, "--seed", 5)
    assert ended.returncode == 1, ended.stderr
    page = (tmp_path / "faults.md").read_text()
    assert re.search(r"\| toy \| 40 \| 27 \| 13 \| [\d.]+ \| 20 even, 20 odd \|", page)
    again = "python tools/faults --only toy --case 8 --seed 5"
    assert f"- `{again}`: case 8: in FOLDER" in page  # no path of this machine


def test_a_case_is_tried_again_by_its_number(tmp_path):
    ended = run_script(CAMPAIGN, "--only", "toy", "--case", 8, "--seed", 5)
    assert ended.returncode == 1
    assert "case 8: even\nseed 5\n" in ended.stdout
    assert run_script(CAMPAIGN, "--only", "toy", "--case", 9).stdout == "case 9: odd\n"


def test_a_share_is_drawn_by_the_seed(tmp_path):
    pages = []
    for seed in (0, 0, 1):
        run_script(CAMPAIGN, "--only", "toy", "--share", 0.5, "--folder", tmp_path, "--seed", seed)
        lines = (tmp_path / "faults.md").read_text().splitlines()
        pages.append(sorted(line for line in lines if line.startswith("- ")))
    assert pages[0] == pages[1] != pages[2]


def test_a_campaign_that_stops_has_failed(tmp_path):
    ended = run_script(CAMPAIGN, "--only", "breaks", "--folder", tmp_path)
    assert ended.returncode == 1
    page = (tmp_path / "faults.md").read_text()
    assert "the campaign itself stopped: RuntimeError: in FOLDER" in page
    assert "the campaign itself stopped: its process ended with -9" in page


def start_slow_run(folder):
    process = start_script(CAMPAIGN, "--only", "toy", "--folder", folder, slow=1, TMPDIR=folder)
    process.stderr.readline()  # a tenth is done
    return process


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_prints_what_it_has_found(tmp_path, how):
    process = start_slow_run(tmp_path)
    process.send_signal(how)
    out, _ = process.communicate()
    assert process.returncode == 130
    assert "| toy |" in out
    assert "Interrupted" in out
    assert list(tmp_path.iterdir()) == []  # no page, and no folder of a worker


def test_workers_of_a_run_that_is_killed_end_and_leave_nothing(tmp_path):
    process = start_slow_run(tmp_path)
    folders = list(tmp_path.iterdir())
    process.kill()
    process.communicate()  # until its workers, who write to the same pipes, are gone too
    assert len(folders) == 2
    assert list(tmp_path.iterdir()) == []


def test_folders_of_processes_that_were_killed_are_removed_by_the_next_run(tmp_path):
    # The other process of the same run removes the folder too, if it starts late enough.
    for _ in range(10):
        run_script(CAMPAIGN, "--only", "breaks", "--folder", tmp_path / "out", TMPDIR=tmp_path)
        left = [path.name for path in tmp_path.iterdir() if path.name != "out"]
        if left:
            break
    assert left
    run_script(CAMPAIGN, "--only", "toy", "--folder", tmp_path / "out", TMPDIR=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
