"""A share of the downloads from a hostile server, and a fault that they notice."""

import subprocess
import sys
from pathlib import Path

FAULTS = Path(__file__).resolve().parents[2] / "tools" / "faults"


def test_no_download_of_a_share_fails(tmp_path):
    words = ("--only", "downloads", "--share", "0.02", "--folder", tmp_path)
    run = subprocess.run([sys.executable, FAULTS, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| downloads | 20 | 20 | 0 |" in run.stdout
    assert "Nothing failed." in (tmp_path / "faults.md").read_text()


BROKEN = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from hostile_server import try_downloads

from disambig.datasets import download

download.check_file_digest = lambda *_: None
outcomes = list(try_downloads(0, range(12), Path(sys.argv[2])))
print(*(outcome.failure for outcome in outcomes if outcome.failure), sep="\\n")
"""


def test_a_file_that_is_not_checked_is_noticed(tmp_path):
    command = [sys.executable, "-c", BROKEN, FAULTS, tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "not the right file alone" in run.stdout
