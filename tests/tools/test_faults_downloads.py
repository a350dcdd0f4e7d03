"""A share of the downloads from a hostile server, and a fault that they notice."""

from tools.faults import run_script, run_share

BROKEN = """
import sys
from pathlib import Path

from hostile_server import try_downloads

from disambig.datasets import download

download.check_file_digest = lambda *_: None
outcomes = list(try_downloads(0, range(12), Path(sys.argv[1])))
print(*(outcome.failure for outcome in outcomes if outcome.failure), sep="\\n")
"""


def test_no_download_of_a_share_fails(tmp_path):
    page, tried = run_share("downloads", 0.02, tmp_path)
    assert tried == 20
    assert "right file" in page


def test_a_file_that_is_not_checked_is_noticed(tmp_path):
    ended = run_script(BROKEN, tmp_path)
    assert "not the right file alone" in ended.stdout, ended.stderr
