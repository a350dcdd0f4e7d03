"""A share of the requests of a hostile client, and a fault that they notice."""

import os

from tools.faults import run_script, run_share


def test_no_request_of_a_share_gets_in_or_keeps_the_owner_waiting(tmp_path):
    page, tried = run_share("requests", 0.0035, tmp_path)
    assert tried == 35
    assert "status 403" in page


# Read by every Python process that starts, the review among them.
BROKEN_REVIEW = """
import sys

if "review" in sys.argv:
    from disambig.web.token_guard import TokenGuard

    TokenGuard._is_allowed = lambda self, scope: scope["path"].count("/") > 1
"""
TRY = """
import sys
from pathlib import Path

from hostile_client import try_requests

outcomes = list(try_requests(0, range(20), Path(sys.argv[1])))
print(*(f"{one.case}: {one.failure}" for one in outcomes if one.failure), sep="\\n")
"""


def test_a_review_that_lets_strangers_in_is_noticed(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BROKEN_REVIEW)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    ended = run_script(TRY, tmp_path, PYTHONPATH=path)
    assert "come from elsewhere: answered with [" in ended.stdout, ended.stderr
