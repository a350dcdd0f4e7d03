"""A share of the power cuts, that they notice what is not synced, and the model of the disk."""

import json

import pytest

from tools.faults import run_script, run_share

BROKEN = """
import json, sys
from pathlib import Path
import command_runs, power_cuts, remains, scenes
import disambig._core.files as files

command_runs.load_libraries()
found, sync = {}, files.sync
for harm in ("nothing", "files", "folders"):
    unsynced = {"nothing": lambda path: False, "files": Path.is_file, "folders": Path.is_dir}[harm]
    files.sync = lambda path: None if unsynced(path) else sync(path)
    folder = Path(sys.argv[1]) / harm
    ready = remains.prepare(next(s for s in scenes.SCENES if s.name == "predict"), folder)
    failures = set()
    for step, event in list(enumerate(ready.events))[-3:]:
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
disk = Disk(folder)
told = []
for words, synced in json.loads(sys.argv[2]):
    disk.apply(Step(*words), None if synced is None else synced.encode())
for names in (False, True):
    left = disk.after_power_cut(names_reach_disk=names)
    texts = [None if content is None else content.decode() for content in left.values()]
    told.append(dict(zip(left, texts)))
print(json.dumps(told))
"""


def test_no_power_cut_of_a_share_does_harm(tmp_path):
    _, tried = run_share("power-cuts", 0.003, tmp_path)
    assert tried >= 5


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


@pytest.mark.parametrize(
    ("steps", "synced", "all_names"),
    [
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
    ],
)
def test_the_model_keeps_what_was_synced(tmp_path, steps, synced, all_names):
    ended = run_script(MODEL, tmp_path, json.dumps(steps))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [synced, all_names]
