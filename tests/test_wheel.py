"""The built wheel works where its runtime dependencies are, and nothing else is."""

import email
import importlib.util
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
# Small trainings: what is learned is the business of other tests.
QUICK = ("--method", "ncpd_plus", "--folds", "2", "--set", "epochs=3", "--set", "hidden=16")

pytestmark = pytest.mark.slow


def run(*words: object, cwd: Path = ROOT) -> str:
    """Run a program that must succeed, and return what it prints."""
    # Nothing of ours may come in by the environment.
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environment | {"COLUMNS": "200", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment; return the folder of its programs.

    Its dependencies are links to what the tests themselves run with: nothing is downloaded.
    """
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for path in runtime_files(wheel):
        (packages / path.name).symlink_to(path)
    python = folder / "bin" / "python"
    options = ("--quiet", "--no-index", "--no-deps")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    return python.parent


def runtime_files(wheel: Path) -> Iterator[Path]:
    """Yield files and folders that belong to what a wheel needs, directly or not."""
    needed = closure(requirements_of(wheel))
    inside, outside = set[Path](), set[Path]()
    for found in distributions():
        name = canonicalize_name(found.metadata["Name"])
        (inside if name in needed else outside).update(top_level(found))
    shared = inside & outside
    assert not shared, f"cannot be told apart from what only developers need: {shared}"
    yield from inside


def requirements_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])


def closure(requirements: Iterable[str]) -> set[str]:
    """Return the names of all distributions that these requirements lead to."""
    seen, waiting = set[tuple[str, str]](), [(text, "") for text in requirements]
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        new = {(name, wanted) for wanted in ["", *requirement.extras]} - seen
        waiting += [(text, extra) for _, extra in new for text in distribution(name).requires or []]
        seen |= new
    return {name for name, _ in seen}


def top_level(found: Distribution) -> set[Path]:
    """Return what a distribution has in site-packages: not its programs, nor shared caches."""
    parts = {file.parts[0] for file in found.files or []}
    return {Path(str(found.locate_file(part))) for part in parts - {"..", "__pycache__"}}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("environment"))


def test_commands_on_a_table_run_with_runtime_dependencies_only(
    programs: Path, tmp_path: Path
) -> None:
    def disambig(*words: object) -> str:
        return run(programs / "disambig", *words, cwd=tmp_path)

    disambig("example")
    assert "746 rows" in disambig("audit", "vehicles.csv", "--labels", "label")
    disambig("fit", "vehicles.csv", "--labels", "label", "--out", "model", *QUICK)
    disambig("predict", "model", "new-vehicles.csv", "--out", "predicted.csv")
    new, predicted = (
        pd.read_csv(tmp_path / name) for name in ("new-vehicles.csv", "predicted.csv")
    )
    assert len(predicted) == len(new)
    assert set(predicted["predicted_label"]) <= {"bus", "opel", "saab", "van"}


def test_what_only_developers_and_extras_need_is_not_there(programs: Path) -> None:
    names = ["pytest", "matplotlib", "openpyxl", "pyarrow", "starlette", "distributed"]
    assert all(importlib.util.find_spec(name) for name in names)
    code = f"import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    assert run(programs / "python", "-c", code) == "[]\n"


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"disambig"}
