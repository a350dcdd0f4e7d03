"""``disambig reproduce``: what it does with data that is not at hand, and what it shows.

The studies of the paper take minutes to hours. Here, where a study has to run, its records are in
the store before, with made-up scores: nothing is fitted, and all that the command does with records
is done.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click import unstyle
from click.testing import Result

from disambig.bench import RecordStore, Study
from disambig.bench.evaluate import metric_code
from disambig.bench.execute import failure
from disambig.bench.paper import PAPER_STUDIES, paper_study, published_accuracies
from disambig.bench.plan import make_plan
from disambig.cli.main import main
from disambig.datasets.card import find_card
from disambig.metrics import METRICS

Invoke = Callable[..., Result]
REAL_WORLD = ["lost", "birdsong", "msrcv2", "soccer_player", "yahoo_news"]
COUNTS = {1: "once", 2: "twice", 3: "three", 4: "four", 5: "five", 7: "seven", 10: "ten"}
MAKEFILE = Path(__file__).parents[2] / "Makefile"


def plain(text: str) -> str:
    """Return a text without colours, frames and line breaks."""
    return " ".join(re.sub(r"[─-╿]", " ", unstyle(text)).split())


def fill(folder: Path, study: Study) -> int:
    """Write a record with made-up scores for every job of a study; return how many there are."""
    store, generator = RecordStore(folder), np.random.default_rng(0)
    jobs = make_plan(study).jobs
    template, _ = failure(jobs[0].dataset, jobs[0].job, RuntimeError())
    for planned in jobs:
        scores = dict(zip(METRICS, generator.uniform(0.4, 0.9, len(METRICS)), strict=True))
        record = replace(
            template,
            key=planned.job.key,
            job=planned.job.content,
            dataset=planned.dataset.name,
            status="done",
            error=None,
            metrics=scores,
            metric_code={name: metric_code(name) for name in METRICS},
            by_epoch=[0.3, 0.5, scores["accuracy"]] if planned.job.by_epoch else None,
            seconds={"fit": 1.0, "predict": 0.1},
        )
        store.write(record)
    return len({planned.job.key for planned in jobs})


def assert_whole(text: str) -> None:
    """Check that tables have room, which is theirs where no terminal is: nothing is cut."""
    assert "…" not in text
    # Mean and deviation stay together, or the deviation is left out.
    assert not re.search(r"±\s*$", text, flags=re.MULTILINE)


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a folder of real-world data with nothing in it."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("DISAMBIG_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


# Arguments ---------------------------------------------------------------------------------------


def test_the_help_says_what_each_of_the_studies_is(invoke: Invoke) -> None:
    result = invoke("reproduce", "--help")
    assert result.exit_code == 0
    text = plain(result.output)
    for words in (
        "table: Table 2, real-world sets.",
        "curves: Figures 2 to 4, UCI sets with false labels.",
        "ablation: Figure 5, NCPD with parts left out.",
        "groups: all methods with rows and with whole pictures, recordings and scenes held out.",
        "A smaller study: minutes instead of hours. It says what it cuts.",
        "Example: disambig reproduce curves --quick --jobs 2",
    ):
        assert words in text
    for study in PAPER_STUDIES:
        assert study in text


def test_an_unknown_study_is_bad_input(invoke: Invoke) -> None:
    result = invoke("reproduce", "figures")
    assert result.exit_code == 2
    assert re.search("'figures' is not one of 'table', 'curves', 'ablation'", plain(result.output))


# Data that is not at hand ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["table"], REAL_WORLD),
        (["table", "--quick"], ["lost", "birdsong", "msrcv2"]),
        (["ablation", "--quick"], ["msrcv2"]),
        (["groups", "--quick"], ["lost", "birdsong", "msrcv2"]),
    ],
)
def test_without_any_data_all_of_it_is_listed_with_how_to_get_it(
    words: list[str],
    names: list[str],
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["disambig", "reproduce", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    first, *lines = shown.err.splitlines()
    assert first == "disambig: None of the datasets is on this machine."
    cards = [find_card(name) for name in names]
    assert lines == [
        f"Missing: {card.title}. Get it with 'disambig fetch {card.name}', or from {card.source}, "
        "and set DISAMBIG_DATA to the folder that holds it."
        for card in cards
    ]
    assert all(card.source.startswith("http") for card in cards)
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["data"]


@pytest.mark.realdata
def test_with_some_of_the_data_the_rest_is_listed_and_what_is_there_is_shown_beside_the_paper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, invoke: Invoke
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(Path(os.environ["DISAMBIG_DATA"]) / "lost.mat", folder / "Lost.mat")
    monkeypatch.setenv("DISAMBIG_DATA", str(folder))
    study = paper_study("table", quick=True)
    at_hand = study.model_copy(update={"datasets": study.datasets[:1]})
    assert fill(tmp_path / "records", at_hand) == 9 * 3

    result = invoke(
        *("reproduce", "table", "--quick"),
        *("--store", str(tmp_path / "records"), "--out", str(tmp_path / "out")),
        COLUMNS="80",
    )
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("table-quick: A quick look at Table 2 of the paper. What is cut:")
    missing = [line for line in lines if line.startswith("Missing: ")]
    assert [line.partition("disambig fetch ")[2].partition("'")[0] for line in missing] == [
        "birdsong",
        "msrcv2",
    ]
    assert "27 of 27 jobs were done before." in lines
    assert "Accuracy beside the paper's" in result.stdout
    assert_whole(result.stdout)

    page = (tmp_path / "out" / "table-quick" / "report.md").read_text("utf-8")
    assert "Made by `disambig reproduce table --quick`" in page
    for line in missing:
        assert f"\n- {line}\n" in page
    rows = (tmp_path / "out" / "table-quick" / "published.csv").read_text("utf-8").splitlines()
    assert rows[0].startswith("data,,NCPD,PLKNN,M3PL,IPAL,SURE,AGGD,NCPD+,")
    assert re.match(r"lost,ours(,0\.\d{3} ± 0\.\d{3}){7}", rows[1])
    mean, std = published_accuracies()["lost"]["NCPD"]
    assert rows[2].startswith(f",paper,{mean:.3f} ± {std:.3f},")


@pytest.mark.realdata
def test_the_ablation_has_a_figure_of_epochs_and_no_figures_of_the_table(
    tmp_path: Path, invoke: Invoke
) -> None:
    fill(tmp_path / "records", paper_study("ablation", quick=True))
    result = invoke(
        *("reproduce", "ablation", "--quick"),
        *("--store", str(tmp_path / "records"), "--out", str(tmp_path / "out")),
    )
    assert result.exit_code == 0
    assert "Missing" not in result.stdout
    files = {path.name for path in (tmp_path / "out" / "ablation-quick").iterdir()}
    assert {"report.md", "epochs_msrcv2.png", "epochs_msrcv2.svg"} <= files
    assert "published.csv" not in files


@pytest.mark.realdata
def test_the_groups_are_reported_with_a_figure_of_both_protocols(
    tmp_path: Path, invoke: Invoke
) -> None:
    n_jobs = fill(tmp_path / "records", paper_study("groups", quick=True))
    assert n_jobs == 3 * 3 * 9 * 3
    result = invoke(
        *("reproduce", "groups", "--quick"),
        *("--store", str(tmp_path / "records"), "--out", str(tmp_path / "out")),
    )
    assert result.exit_code == 0
    assert_whole(result.stdout)
    folder = tmp_path / "out" / "groups-quick"
    files = {path.name for path in folder.iterdir()}
    assert {"accuracy_groups.svg", "transductive_accuracy_groups.svg"} <= files
    assert not {"accuracy_dots.svg", "published.csv"} & files
    page = (folder / "report.md").read_text("utf-8")
    assert "3 folds, held out as single rows and again as whole groups, seed 0" in page
    assert "With whole groups held out instead of rows, the mean accuracy" in page
    rows = (folder / "accuracy.csv").read_text("utf-8").splitlines()
    names = [row.split(",0.")[0] for row in rows[1:4]]
    assert names == ["lost", '"lost, new groups"', '"lost, new groups, cover"']


# What make run does ------------------------------------------------------------------------------


def test_make_run_runs_the_quick_curves() -> None:
    result = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "--file", str(MAKEFILE), "run"],
        cwd=MAKEFILE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines()[-1] == ".venv/bin/disambig reproduce curves --quick --jobs 2"


def test_the_quick_curves_report_without_data_from_elsewhere(
    empty: Path, tmp_path: Path, invoke: Invoke
) -> None:
    n_jobs = fill(tmp_path / "out" / "records", paper_study("curves", quick=True))
    assert n_jobs == 3 * 3 * 9 * 5
    result = invoke("reproduce", "curves", "--quick", "--jobs", "2", COLUMNS="80")
    assert result.exit_code == 0
    assert_whole(result.stdout)
    assert "Missing" not in result.stdout
    assert f"{n_jobs} of {n_jobs} jobs were done before." in result.stdout
    assert "Accuracy: mean over 5 runs, r=2\n" in result.stdout
    assert "Mean accuracy over 9 settings, the best first: " in result.stdout
    folder = tmp_path / "out" / "curves-quick"
    assert result.stdout.splitlines()[-1] == "out/curves-quick/report.html"
    assert {path.name for path in folder.glob("*.png")} == {"accuracy_curves.png"}
    assert not (folder / "published.csv").exists()
    rows = (folder / "accuracy_wins.csv").read_text("utf-8").splitlines()
    assert rows[0].startswith("data,NCPD+,PLKNN,M3PL,IPAL,SURE,AGGD,all")
    assert len(rows) == 1 + 3 + 1


# What quick studies cut --------------------------------------------------------------------------


def cut(quick: Study) -> str:
    """Return the sentence that says what is cut."""
    return quick.about.partition("What is cut: ")[2].partition(". ")[0]


@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_a_quick_study_says_how_many_folds_it_has_instead_of_how_many(name: str) -> None:
    quick, whole = paper_study(name, quick=True), paper_study(name)
    folds, all_folds = COUNTS[quick.protocol.folds], COUNTS[whole.protocol.folds]
    assert f"{folds} folds instead of {all_folds}" in cut(quick)
    again = quick.protocol.repeats != whole.protocol.repeats
    words = f"{COUNTS[quick.protocol.repeats]} instead of {COUNTS[whole.protocol.repeats]}"
    assert (words in cut(quick)) == again


@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_a_quick_study_says_that_nothing_is_chosen_where_the_whole_one_chooses(name: str) -> None:
    quick, whole = paper_study(name, quick=True), paper_study(name)
    chooses = any(method.grid for method in whole.methods)
    assert not any(method.grid for method in quick.methods)
    assert ("default parameters, nothing is chosen" in cut(quick)) == chooses


@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_a_quick_study_names_the_data_that_it_leaves_out(name: str) -> None:
    quick, whole = paper_study(name, quick=True), paper_study(name)
    kept = {entry.name for entry in quick.datasets}
    letters = re.sub("[^a-z]", "", cut(quick).casefold())
    for entry in whole.datasets:
        named = re.sub("[^a-z]", "", str(entry.name)) in letters
        assert named == (entry.name not in kept), entry.name


def test_the_quick_curves_are_what_their_text_says() -> None:
    quick, whole = paper_study("curves", quick=True), paper_study("curves")
    assert quick.protocol.folds == 5
    assert [m.name for m in quick.methods] == [m.name for m in whole.methods]
    # As fit and clean have them: none is cut down.
    assert not any(method.parameters or method.grid for method in quick.methods)
    assert [entry.name for entry in quick.datasets] == ["glass", "ecoli", "vehicle"]
    for entry, full in zip(quick.datasets, whole.datasets, strict=False):
        assert entry.corruption is not None
        assert full.corruption is not None
        assert (entry.corruption.p, entry.corruption.r) == ([0.1, 0.4, 0.7], [2])
        n_p, n_all_p = COUNTS[len(entry.corruption.p)], COUNTS[len(full.corruption.p)]
        assert f"{n_p} values of p instead of {n_all_p}" in cut(quick)
    assert "r = 2 only" in cut(quick)
    assert "four fifths of the rows instead of nine tenths" in cut(quick)
