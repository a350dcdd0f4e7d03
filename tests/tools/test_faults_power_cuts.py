"""A share of the power cuts, that they notice what is not synced, and the model of the disk."""

import json

import pytest

from tools.faults import run_script, run_share

BROKEN = """
import json, sys
from pathlib import Path
import disambig.cli.main, disambig.cli.table_files, disambig.tabular.cleaning  # for all children
import power_cuts, remains, scenes
import disambig._core.files as files

found, sync = {}, files.sync
for harm in ("nothing", "files", "folders"):
    unsynced = {"nothing": lambda path: False, "files": Path.is_file, "folders": Path.is_dir}[harm]
    files.sync = lambda path: None if unsynced(path) else sync(path)
    folder = Path(sys.argv[1]) / harm
    ready = remains.prepare(next(s for s in scenes.SCENES if s.name == "predict"), folder)
    failures = set()
    for step, event in list(enumerate(ready.events))[-2:]:
        for names in (False, True):
            left = power_cuts.state_after(
                ready.template, ready.events, step, names_reach_disk=names
            )
            failures.add(power_cuts.try_state(ready, left, event.told, folder)[1])
    found[harm] = sorted(failures - {""})
print(json.dumps(found))
"""

MODEL = """
import json, sys
from pathlib import Path
from disk_model import Disk
from steps import Step

folder = Path(sys.argv[1])
(folder / "old").mkdir()
(folder / "old" / "a").write_bytes(b"1")

def cut(steps, names):
    disk = Disk(folder)
    for words, synced in steps:
        disk.apply(Step(*words), None if synced is None else synced.encode())
    left = disk.after_power_cut(names_reach_disk=names)
    return {name: None if content is None else content.decode() for name, content in left.items()}

print(json.dumps([[cut(steps, False), cut(steps, True)] for steps in json.loads(sys.argv[2])]))
"""


def test_no_power_cut_of_a_share_does_harm(tmp_path):
    _, tried = run_share("power-cuts", 0.001, tmp_path)
    assert tried > 1


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    ended = run_script(BROKEN, tmp_path_factory.mktemp("cuts"))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_writer_that_syncs_survives(failures):
    assert failures["nothing"] == []


def test_content_that_is_not_synced_is_noticed(failures):
    assert "p.csv is neither as it was nor as it will be" in failures["files"]


def test_a_name_that_is_not_synced_is_noticed(failures):
    assert failures["folders"] == ["people were told of ['p.csv'], and it is not there"]


OLD = {"old": None, "old/a": "1"}
# Steps, what is left of names that were synced, and of all names.
CUTS = [
    # A new file: nothing, its name, its name and content.
    ([(("open", "b"), None)], OLD, {**OLD, "b": ""}),
    ([(("open", "b"), None), (("sync", "b"), "2")], OLD, {**OLD, "b": "2"}),
    ([(("open", "b"), None), (("sync", "."), None)], {**OLD, "b": ""}, {**OLD, "b": ""}),
    # A rename lasts when its folder is synced, and takes the content along.
    ([(("rename", "old", "new"), None)], OLD, {"new": None, "new/a": "1"}),
    (
        [(("rename", "old", "new"), None), (("sync", "."), None)],
        {"new": None, "new/a": "1"},
        {"new": None, "new/a": "1"},
    ),
    # What systems refuse changes nothing.
    ([(("mkdir", "c/d"), None)], OLD, OLD),
    ([(("mkdir", "c"), None), (("rename", "c", "old"), None)], OLD, {**OLD, "c": None}),
    ([(("rmdir", "old"), None)], OLD, OLD),
    (
        [(("mkdir", "c"), None), (("exchange", "c", "old"), None)],
        OLD,
        {"c": None, "c/a": "1", "old": None},
    ),
    ([(("remove", "old/a"), None)], OLD, {"old": None}),
]


def test_the_model_keeps_what_was_synced(tmp_path):
    ended = run_script(MODEL, tmp_path, json.dumps([steps for steps, _, _ in CUTS]))
    assert ended.returncode == 0, ended.stderr
    for (steps, synced, all_names), left in zip(CUTS, json.loads(ended.stdout), strict=True):
        assert left == [synced, all_names], steps
