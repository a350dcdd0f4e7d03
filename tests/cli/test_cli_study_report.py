"""disambig report: the page of a study, made from its records without running anything."""

import re
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from bench.in_process import InThisProcess
from cli.command_runs import accepted, run_command_here
from disambig.bench.backends import BACKENDS

STUDY = """
name = "tiny"
methods = ["plknn", "sure"]
datasets = [{ name = "glass", corruption = { p = 0.3, r = 1 } }]
protocol = { folds = 2 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study, its records and its results."""
    folder = tmp_path_factory.mktemp("study")
    file = folder / "tiny.toml"
    file.write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:  # worker processes take long to start
        patched.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(InThisProcess()))
        accepted("study", file, "--store", folder / "records", "--out", folder / "out")
    return folder


def content_of(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.iterdir()}


@pytest.mark.parametrize("source", ["tiny.toml", "out/tiny"])
def test_the_page_is_that_of_the_run_and_nothing_is_run(folder, tmp_path, source):
    before = content_of(folder / "records")
    page = tmp_path / "page.html"
    accepted("report", folder / source, "--store", folder / "records", "--out", page)
    assert page.read_text("utf-8") == (folder / "out" / "tiny" / "report.html").read_text("utf-8")
    assert content_of(folder / "records") == before


def test_jobs_without_a_record_are_told_on_the_page_and_beside_it(folder, tmp_path):
    store, page = shutil.copytree(folder / "records", tmp_path / "records"), tmp_path / "page.html"
    for record in sorted(store.glob("*.json"))[:2]:
        record.unlink()
    run = accepted("report", folder / "tiny.toml", "--store", store, "--out", page)
    notice = re.search(r"2 of 8 jobs have no record yet", run.err)
    assert notice
    assert notice[0] in page.read_text("utf-8")


def test_what_has_no_records_or_is_no_study_has_no_page(folder, tmp_path):
    words = ("--store", tmp_path / "nowhere", "--out", tmp_path / "page.html")
    for source, message in (
        (folder / "tiny.toml", "There is no record of 'tiny'"),
        (tmp_path, "Name a folder that 'disambig study' or 'disambig reproduce' wrote"),
    ):
        run = run_command_here("report", source, *words)
        assert (run.code, run.out) == (2, "")
        assert message in run.err
    assert not (tmp_path / "page.html").exists()


def test_without_matplotlib_a_study_says_in_one_line_that_figures_are_left_out(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ("--store", folder / "records", "--out", tmp_path)
    run = accepted("study", folder / "tiny.toml", *words)  # all records are there: nothing is run
    (line,) = (line for line in run.out.splitlines() if line.startswith("Figures for print"))
    assert "pip install 'disambig[figures]'" in line
    assert (tmp_path / "tiny" / "report.html").is_file()
    assert not list(tmp_path.rglob("*.png"))
