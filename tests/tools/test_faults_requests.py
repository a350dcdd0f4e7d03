"""A share of the requests of a hostile client, and a fault that they notice."""

import os
import subprocess
import sys
from pathlib import Path

FAULTS = Path(__file__).resolve().parents[2] / "tools" / "faults"


def test_no_request_of_a_share_gets_in_or_keeps_the_owner_waiting(tmp_path):
    words = ("--only", "requests", "--share", "0.004", "--folder", tmp_path)
    run = subprocess.run([sys.executable, FAULTS, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| requests | 40 | 40 | 0 |" in run.stdout


# Read by every Python process that starts, the review among them.
BROKEN_REVIEW = """
import sys

if "review" in sys.argv:
    from disambig.web.review import TokenGuard

    TokenGuard._is_allowed = lambda self, scope: scope["path"].count("/") > 1
"""
TRY = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from hostile_client import try_requests

outcomes = list(try_requests(0, range(20), Path(sys.argv[2])))
print(*(f"{one.case}: {one.failure}" for one in outcomes if one.failure), sep="\\n")
"""


def test_a_review_that_lets_strangers_in_is_noticed(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BROKEN_REVIEW)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", TRY, FAULTS, tmp_path]
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "come from elsewhere: answered with [" in run.stdout
