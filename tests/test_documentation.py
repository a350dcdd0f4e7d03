"""What the documents claim is run, found, or compared."""

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main

import disambig
from disambig.bench import Study, run_study
from disambig.cli.main import app
from disambig.methods import all_methods

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [name for name in disambig.__all__ if inspect.ismodule(getattr(disambig, name))]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ALL_PAGES = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "results").rglob("*.md"))]


def code_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.usefixtures("quick_workers")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in code_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)


def test_the_study_file_on_its_page_is_one():
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    settings = tomllib.loads(block)
    # One method there is the reader's own.
    settings["methods"] = [entry for entry in settings["methods"] if ":" not in entry["name"]]
    assert len(Study(**settings).methods) == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_a_page_and_their_options_are_those_of_the_program(page):
    commands = typer.main.get_command(app).commands
    blocks = re.findall(
        r"^```(?:bash|\{command\})\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    )
    for line in "".join(blocks).replace("\\\n", " ").splitlines():
        if line.startswith("disambig ") and not line.startswith("disambig --"):
            _, name, *words = shlex.split(line, comments=True)
            options = {name for option in commands[name].params for name in option.opts}
            assert {word for word in words if word.startswith("--")} <= options, line


def test_the_page_of_methods_names_each_also_where_its_table_is_not_made():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    introduction = page[: page.index("{method-table}")]
    for name in all_methods():
        assert f"`{name}`" in introduction


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_a_page_shows_what_its_first_example_prints(page, capsys):
    block = code_blocks(ROOT / page)[0]
    exec(compile(block, page, "exec"), {})
    promised = re.search(r"print\(.*\)\s+# (.*)", block).group(1)
    assert capsys.readouterr().out.strip() == promised


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_rows_of_a_table_have_as_many_cells_as_its_header(page):
    width = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            width = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        width = width or cells
        assert cells == width, line


def test_the_map_of_the_architecture_is_that_of_the_source():
    command = [sys.executable, ROOT / "tools" / "source_map.py", "--check"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


@pytest.fixture
def check_claims(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    claims = importlib.import_module("paper_claims")

    def check(page):
        monkeypatch.setattr(sys, "argv", ["paper_claims.py", "--check", "--page", str(page)])
        return claims.main()

    return check


def test_the_claims_of_the_paper_are_judged_by_the_committed_records(
    tmp_path, check_claims, capsys
):
    page = ROOT / "docs" / "paper.md"
    assert check_claims(page) == 0, capsys.readouterr().out
    changed = tmp_path / "paper.md"
    changed.write_text(
        page.read_text("utf-8").replace("not reproduced** |", "held** |", 1), "utf-8"
    )
    assert check_claims(changed) == 1
    assert "are old. Run: python benchmarks/paper_claims.py" in capsys.readouterr().out


def test_pages_of_results_say_what_their_tables_say_and_the_index_quotes_them():
    command = [sys.executable, ROOT / "benchmarks" / "results_index.py", "--check"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_index_of_results_has_every_page():
    index = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    folder = ROOT / "docs" / "results"
    pages = [*folder.glob("*.md"), *folder.glob("*/report.md")]
    assert len(pages) > 20
    for page in pages:
        assert f"](results/{page.relative_to(folder).as_posix()})" in index, page.name


def test_examples_in_docstrings_are_true():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    # Those of reports go on from that of run_study: a study is run once.
    (study,) = finder.find(run_study, "run_study", globs={})
    runner.run(study, clear_globs=False)
    assert runner.failures == 0
    with study.globs["folder"]:
        for module in pkgutil.walk_packages(disambig.__path__, "disambig."):
            if module.name != "disambig.__main__":
                found = importlib.import_module(module.name)
                for example in finder.find(found, extraglobs=study.globs):
                    if example.docstring != study.docstring:
                        runner.run(example)
                assert runner.failures == 0, module.name
    assert runner.tries > 300


PUBLIC = {
    f"{package}.{name}": getattr(importlib.import_module(package), name)
    for package in ("disambig", *(f"disambig.{name}" for name in PACKAGES))
    for name in importlib.import_module(package).__all__
}


def test_every_public_class_and_function_has_an_example():
    described = {name: value for name, value in PUBLIC.items() if callable(value)}
    assert len(described) > 100
    assert [name for name, value in described.items() if ">>> " not in value.__doc__] == []


def test_lines_of_examples_fit_the_page():
    for name, value in PUBLIC.items():
        lines = (value.__doc__ or "").splitlines()
        code = [line.strip() for line in lines if line.strip().startswith((">>> ", "... "))]
        assert [line for line in code if len(line) > 84] == [], name


def test_the_citation_names_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {disambig.__version__}\n" in text


def test_constraints_pin_every_dependency_to_one_version():
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split("\n")
        if line and not line.startswith("#")
    )
    assert pins["torch"] == "2.13.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (ours,) = (text for text in extras["dev"] if text.startswith("disambig["))
    installed = ["docs", *ours.removeprefix("disambig[").removesuffix("]").split(",")]
    # Nothing here installs ray, the 190 MB that describe texts, or torchvision, of which every
    # version needs one version of torch.
    assert set(extras) == {"dev", "image-models", "ray", "text", *installed}
    wanted = {*project["dependencies"], *extras["dev"]} - {ours}
    wanted |= {requirement for extra in installed for requirement in extras[extra]}
    names = {re.split(r"[<>=]", requirement)[0].lower() for requirement in wanted}
    assert names <= {name.lower() for name in pins}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_table_of_results_is_the_measured_one(page):
    measured = (ROOT / "docs" / "results" / "headline.md").read_text(encoding="utf-8")
    shown = (ROOT / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \|(.*)\|$", measured, re.M)
    assert len(rows) == 4  # a header and three sets
    for name, cells in rows[1:]:
        ours, ncpd, rival, _, on_truth = (cell.strip() for cell in cells.split("|"))
        expected = " | ".join((ours, ncpd, rival, on_truth))
        assert re.search(rf"(?i)^\| {name}\b.* \| {re.escape(expected)} \|$", shown, re.M), name
