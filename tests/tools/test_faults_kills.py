"""A share of the kills, and that they notice a writer that does harm."""

import json

import pytest

from tools.faults import run_script, run_share

BROKEN = """
import json, sys
from contextlib import contextmanager
from pathlib import Path
import disambig.cli.main, disambig.cli.table_files, disambig.tabular.cleaning  # for all children
import kills, remains, scenes
import disambig._core.temporaries as temporaries
import disambig.tabular.files.formats as formats

@contextmanager
def write_in_place(path):
    yield path

good = formats.write_atomically, temporaries.sweep
folder = Path(sys.argv[1])
prepared = remains.prepare(next(s for s in scenes.SCENES if s.name == "predict"), folder)
found = {}
for harm in ("nothing", "in place", "never swept"):
    formats.write_atomically, temporaries.sweep = good
    if harm == "in place":
        formats.write_atomically = write_in_place
    if harm == "never swept":
        temporaries.sweep = lambda *_, **__: None
    steps = {1} if harm == "in place" else {2, len(prepared.events) // 2}
    deaths = [[kills.Kill(step, halved=True)] for step in steps]
    outcomes = [kills.try_kills(prepared, death, folder) for death in deaths]
    found[harm] = sorted({failure for _, failure in outcomes if failure})
print(json.dumps(found))
"""


def test_no_kill_of_a_share_does_harm(tmp_path):
    _, tried = run_share("kills", 0.002, tmp_path)
    assert tried > 1


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    ended = run_script(BROKEN, tmp_path_factory.mktemp("kills"))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_good_writer_survives(failures):
    assert failures["nothing"] == []


def test_a_writer_in_place_is_noticed_by_the_half_that_it_leaves(failures):
    assert failures["in place"] == ["p.csv is neither as it was nor as it will be"]


def test_a_writer_that_never_sweeps_is_noticed_by_what_is_left_over(failures):
    assert failures["never swept"]
    assert all("left behind: .p-" in failure for failure in failures["never swept"])
