"""The campaign of hostile files: a share of it, and that it notices readers that do harm."""

import json

import pytest

from tools.faults import run_script, run_share

BROKEN = """
import json, os, shutil, sys
from pathlib import Path
import files, readers
from bases import make_table, make_tables
import disambig.cli.main, disambig.tabular.cleaning  # for all children
import disambig.cli.table_files as table_files

bases = Path(sys.argv[1])
make_tables(bases, make_table())
reader = readers.READERS[0]
good = table_files.read_table

def broken(harm):
    def read(*words, **options):
        found = harm(good(*words, **options))
        return found if hasattr(found, "columns") else good(*words, **options)
    return read

def fail(table):
    raise RuntimeError("not foreseen")

def loop(table):
    while True:
        pass

harms = {
    "nothing": lambda table: table,
    "crash": lambda table: os.kill(os.getpid(), 11),
    "error": fail,
    "hang": loop,
    "memory": lambda table: bytearray(3 << 30),
    "escape": lambda table: print("\\x1b[2J"),
    "file": lambda table: Path("marker").touch(),
    "above": lambda table: Path("../marker").touch(),
    "input": lambda table: Path("table.csv").write_text("mine"),
    "cell": lambda table: table.replace("red", "reed"),
    "silence": lambda table: sys.exit(2),
}
outcomes = {}
for name, harm in harms.items():
    table_files.read_table = broken(harm)
    place = Path(sys.argv[2]) / name / "work"
    shutil.copytree(bases / reader.base, place)
    seconds = 1 if name == "hang" else 30
    outcome = files.try_command(reader, reader.commands[0], place, 1, name, seconds)
    outcomes[name] = [outcome.ended, outcome.failure]
print(json.dumps(outcomes))
"""


def test_a_share_of_the_campaign_survives(tmp_path):
    page, tried = run_share("files", 0.0008, tmp_path)
    assert tried == 8
    assert "exit 2" in page


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("bases") / "made", tmp_path_factory.mktemp("cases")]
    ended = run_script(BROKEN, *folders)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_good_reader_survives(outcomes):
    assert outcomes["nothing"] == ["exit 0", ""]


@pytest.mark.parametrize(
    ("harm", "failure"),
    [
        ("crash", "signal 11"),
        ("error", "This should not happen"),
        ("hang", "too long"),
        ("memory", "There is not enough memory"),
        ("escape", "a control character is printed"),
        ("file", "made or left behind: work/marker"),
        ("above", "made or left behind: marker"),
        ("input", "made or left behind: work/table.csv"),
        ("cell", "a cell of the table is another in the result"),
        ("silence", "exit 2 without a message"),
    ],
)
def test_a_reader_that_does_harm_is_counted_as_failed(outcomes, harm, failure):
    assert failure in outcomes[harm][1]
