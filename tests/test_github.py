"""What GitHub, Read the Docs and pre-commit are told agrees with the rest of the repository."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(
    path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")

every_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def jobs(path: Path) -> dict[str, Any]:
    return dict(read(path)["jobs"])


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job.get("steps", [])]


def test_there_are_workflows_and_forms() -> None:
    assert {path.stem for path in WORKFLOWS} == {"tests", "release"}
    assert {path.stem for path in FORMS} == {"bug", "feature", "method"}


@every_workflow
def test_a_workflow_calls_targets_and_variables_that_the_makefile_has(path: Path) -> None:
    for step in steps(path):
        for target, options in re.findall(r"^make (\S+)(.*)$", step.get("run", ""), re.M):
            assert re.search(rf"^{target}:", MAKEFILE, re.M), target
            for variable in re.findall(r"([A-Z]+)=", options):
                assert re.search(rf"^{variable} \?=", MAKEFILE, re.M), variable


@every_workflow
def test_a_workflow_may_only_read_and_names_the_version_of_every_action(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}
    allowed = [job["permissions"] for job in jobs(path).values() if "permissions" in job]
    assert allowed == ([{"id-token": "write"}] if path.stem == "release" else [])
    for step in steps(path):
        assert re.search(r"@(v\d+|release/v\d+)$", step.get("uses", "@v0")), step["uses"]


@every_workflow
def test_jobs_wait_for_jobs_and_workflows_that_are_there(path: Path) -> None:
    for job in jobs(path).values():
        assert set(job.get("needs", [])) <= set(jobs(path))
        assert (ROOT / job.get("uses", "Makefile")).is_file()


def test_what_is_published_is_what_the_tests_have_built() -> None:
    tests, release = (
        ROOT / ".github" / "workflows" / f"{name}.yml" for name in ("tests", "release")
    )
    built = {
        step["with"]["name"] for step in steps(tests) if "upload-artifact" in step.get("uses", "")
    }
    (taken,) = (step for step in steps(release) if "download-artifact" in step.get("uses", ""))
    assert taken["with"]["name"] in built
    assert "tests" in jobs(release)["publish"]["needs"]


def test_a_tag_is_compared_with_the_line_that_holds_the_version() -> None:
    (step,) = jobs(ROOT / ".github" / "workflows" / "release.yml")["version"]["steps"][1:]
    line = re.search(r'"(__version__ = .*)" (\S+)$', step["run"])
    assert line, step["run"]
    expected = line[1].replace('\\"', '"').replace("${GITHUB_REF_NAME#v}", r"(\S+)")
    assert re.search(f"^{expected}$", (ROOT / line[2]).read_text("utf-8"), re.M)


def test_every_python_that_is_promised_is_tested_and_named_in_the_readme() -> None:
    matrix = jobs(ROOT / ".github" / "workflows" / "tests.yml")["tests"]["strategy"]["matrix"]
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    badge = " to ".join((promised[0], promised[-1]))
    assert f"![Python {badge}]" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_github_asks_of_it(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(names) == len(set(names))
    for part in form["body"]:
        assert part["type"] in ("checkboxes", "dropdown", "input", "textarea")
        assert part["attributes"]["label"]


def test_the_repository_has_one_address() -> None:
    home = PROJECT["urls"]["Homepage"]
    pages = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    addresses = re.findall(r"https://github\.com/[\w-]*disambig[\w-]*/[\w-]+", text)
    assert len(addresses) > 3
    assert {*addresses, *(url[: len(home)] for url in PROJECT["urls"].values())} == {home}


def test_pre_commit_runs_the_programs_of_make_lint() -> None:
    lint = re.search(r"^lint: .*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    assert lint
    programs = {
        command.replace("$(BIN)", ".venv/bin").split(" --")[0]
        for command in lint[1].replace("\t", "").splitlines()
    }
    config = read(ROOT / ".pre-commit-config.yaml")
    local = next(repo["hooks"] for repo in config["repos"] if repo["repo"] == "local")
    for hook in local:
        program = hook["entry"].split(" --")[0]
        assert any(known in (program, f"{program} .") for known in programs), program


def test_the_site_is_built_from_files_that_are_there() -> None:
    config = read(ROOT / ".readthedocs.yaml")
    assert (ROOT / config["sphinx"]["configuration"]).is_file()
    (install,) = config["build"]["jobs"]["install"]
    extras = re.search(r"\.\[(.*)\]", install)
    assert extras
    assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])
