"""``disambig new-method``: what it writes trains, passes its test, and runs in a study."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_runs import accepted, run_command_here

QUICK_STUDY = {
    "folds = 5": "folds = 2",
    '  { name = "ecoli", corruption = { p = 0.7, r = 2 } },\n': "",
    '[[methods]]\nname = "proden"\n\n': "",
    'title = "My method"\n\n': 'title = "My method"\nparameters = { hidden = 16, epochs = 3 }\n\n',
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("methods") / "new"
    accepted("new-method", "my_method", "--folder", folder)
    return folder


def refused(*words: object) -> str:
    """Return what a command says that must be refused."""
    run = run_command_here(*words)
    assert run.code == 2, run.out
    return run.err


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_files_are_short_and_say_what_to_do_next(tmp_path: Path) -> None:
    run = accepted("new-method", "soft_sets", "--folder", tmp_path)
    method = (tmp_path / "soft_sets.py").read_text(encoding="utf-8")
    assert "class SoftSets(NetworkClassifier)" in method
    assert method.count("\n") <= 60
    assert "$" not in method
    for name in ("soft_sets.py", "test_soft_sets.py", "soft_sets-study.toml"):
        assert name in run.err
    assert "disambig study" in run.err


def test_the_linters_of_this_project_find_nothing(written: Path) -> None:
    rules = ("--isolated", "--line-length", "100", "--select", "E,F,I,B,UP", ".")
    for words in (("check", *rules), ("format", *rules[:3], "--check", ".")):
        run = run_in(written, "ruff", *words)
        assert run.returncode == 0, run.stdout


def test_its_test_passes_and_fails_on_another_rule(written: Path) -> None:
    # Both in one process, which takes most of its time to start.
    accepted("new-method", "changed", "--folder", written)
    changed = written / "changed.py"
    code = changed.read_text(encoding="utf-8")
    assert "self.pace * q" in code
    changed.write_text(code.replace("self.pace * q", "q", 1), encoding="utf-8")
    wanted = "share_of_the_way or probabilities"
    run = run_in(written, "pytest", "-q", "-p", "no:cacheprovider", "-k", wanted)
    assert run.returncode == 1, run.stdout
    failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1, run.stdout
    assert "test_changed.py::test_confidences_move_a_share_of_the_way" in failed[0]
    assert re.search(r"\b1 failed, 3 passed", run.stdout)


def test_a_study_beside_it_finds_it(written: Path, tmp_path: Path) -> None:
    study = written / "my_method-study.toml"
    text = study.read_text(encoding="utf-8")
    for old, new in QUICK_STUDY.items():
        assert old in text
        text = text.replace(old, new)
    quick = written / "quick.toml"
    quick.write_text(text, encoding="utf-8")
    out = ("--store", str(tmp_path / "records"), "--out", str(tmp_path / "out"))
    run = run_in(tmp_path, "disambig", "study", str(quick), *out)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "My method" in run.stdout


@pytest.mark.parametrize("name", ["MyMethod", "my method", "1st", "_my", "my__method", "class", ""])
def test_a_name_that_python_cannot_import_is_refused(name: str, tmp_path: Path) -> None:
    message = refused("new-method", name, "--folder", tmp_path)
    assert "called like a module of Python, such as my_method" in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["proden", "numpy"])
def test_a_name_that_is_taken_is_refused(name: str, tmp_path: Path) -> None:
    message = refused("new-method", name, "--folder", tmp_path)
    assert f"called '{name}' already" in message


def test_files_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("mine", encoding="utf-8")
    message = refused("new-method", "mine", "--folder", tmp_path)
    assert "test_mine.py already exists and was left unchanged" in message
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]
