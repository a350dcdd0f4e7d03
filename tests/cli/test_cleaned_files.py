"""What clean leaves beside its table, and what it reads of decisions."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from cli.command_runs import accepted, run_command_here, written
from disambig.tabular.clean_again import command_again
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import DecisionLog
from tabular.small_tables import three_clouds

QUICK = ("--method=plknn", "--folds=2", "--ignore=truth")
NETWORK = (
    "--method=ncpd",
    "--set=epochs=4",
    "--set=ramp_epochs=2",
    "--set=hidden=8",
    "--folds=2",
    "--ignore=truth",
)


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path / "animals.csv", three_clouds())


def details(path: str = "clean.csv") -> dict:
    return json.loads(Path(f"{path}.details.json").read_text())


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_details_are_beside_the_table(table):
    accepted("clean", table, "--out=clean.csv", *NETWORK, "--seed=3", "--errors-to-find=0.5")
    said = details()
    assert (said["method"], said["folds"], said["seed"]) == ("ncpd", 2, 3)
    assert (said["errors_to_find"], said["prefix"], said["id"]) == (0.5, "", None)
    assert said["parameters"]["epochs"] == "4"
    assert said["labels"] == ["label"]
    assert said["features"] == {"number": ["length", "width"], "category": ["colour"]}
    assert said["accuracy"] is None
    assert [len(history["T"]) for history in said["histories"]] == [4, 4]
    looked_at = {
        str(number)
        for number, row in enumerate(rows_of("clean.csv"), start=1)
        if row["second_look"] == "True"
    }
    assert set(said["opinions"]) == looked_at != set()
    assert all(len(own) == 2 for own in said["opinions"].values())


def test_the_truth_is_chosen_and_judges_choices_made_without_it(table):
    words = ("clean", table, "--method=plknn", "--folds=2")
    accepted(*words, "--out=blind.csv", "--ignore=truth")
    accepted(*words, "--out=clean.csv", "--truth=truth")
    assert all(row["chosen_label"] == row["truth"] for row in rows_of("clean.csv"))
    right = sum(row["chosen_label"] == row["truth"] for row in rows_of("blind.csv"))
    assert details()["accuracy"]["share"] == pytest.approx(right / 60)
    assert details()["accuracy"]["n_rows"] == 60
    assert (details()["true_labels"], details()["use_truth"]) == (60, False)
    assert details()["features"] == {"number": ["length", "width"], "category": ["colour"]}


def test_nothing_is_left_beside_standard_output(table, tmp_path):
    accepted("clean", table, "--out=-", *QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["animals.csv"]


def test_a_prefix_is_kept_with_the_table(table):
    accepted("clean", table, "--out=clean.csv", "--prefix=my ", *QUICK)
    assert details()["prefix"] == "my "
    assert "my chosen_label" in rows_of("clean.csv")[0]
    accepted("report", "clean.csv", "--out=page.html")


def test_one_model_of_all_rows_has_no_folds(table):
    accepted("clean", table, "--out=clean.csv", "--in-sample", *NETWORK)
    assert details()["folds"] is None
    assert len(details()["histories"]) == 1


def test_details_of_an_older_cleaning_are_replaced(table):
    accepted("clean", table, "--out=clean.csv", *NETWORK)
    assert details()["opinions"]
    accepted("clean", table, "--out=clean.csv", *QUICK)
    assert (details()["method"], details()["opinions"]) == ("plknn", {})


def test_a_clean_that_fails_leaves_older_details_alone(table):
    accepted("clean", table, "--out=clean.csv", *QUICK)
    before = Path("clean.csv.details.json").read_bytes()
    assert run_command_here("clean", table, "--out=clean.csv", *QUICK, "--id=nothing").code == 2
    assert Path("clean.csv.details.json").read_bytes() == before


@pytest.mark.parametrize("label", ["a|b", "<script>alert(1)</script>", "!x", "c:1"])
def test_labels_with_signs_of_their_own_go_all_the_way(table, label):
    frame = three_clouds()
    frame["label"] = frame["label"].str.replace("cat", label, regex=False)
    if label == "a|b":
        frame["label"] = [json.dumps(cell.replace("a|b", "a/b").split("|")).replace("a/b", "a|b")
                          for cell in frame["label"]]  # fmt: skip
    own = ["--literal-labels"] if label[0] == "!" or ":" in label else []
    written(table, frame)
    accepted("clean", table, "--out=clean.csv", *QUICK, *own)
    assert label in {row["chosen_label"] for row in rows_of("clean.csv")}
    run = accepted("report", "clean.csv", "--out=page.html")
    assert "another cleaning" not in run.err
    assert "<script>alert" not in Path("page.html").read_text()


# Decisions ----------------------------------------------------------------------------------------


def reviewed(path: Path, made: dict[int, str], column: str | None = None) -> Path:
    """Write decisions as a review does."""
    frame = pd.DataFrame(
        {"x": range(60)} | ({column: [f"r{n}" for n in range(60)]} if column else {})
    )
    log = DecisionLog(path, DecidedRows(frame, column))
    for row, label in made.items():
        log.settle(row, label, before=None)
    return path


def test_settled_rows_are_counted(table, tmp_path):
    decisions = reviewed(tmp_path / "d.jsonl", {1: "fox", 7: "cat"})
    accepted("clean", table, "--out=clean.csv", *QUICK, "--decisions", decisions)
    assert details()["decisions"] == 2
    rows = rows_of("clean.csv")
    assert [rows[row]["chosen_label"] for row in (1, 7)] == ["fox", "cat"]
    assert rows[1]["candidate_confidences"] == "fox:1"


def test_a_later_file_of_decisions_adds_to_an_earlier_one_and_replaces_what_it_says(
    table, tmp_path
):
    (tmp_path / "old.csv").write_text("row,label\n2,fox\n8,fox\n")
    new = reviewed(tmp_path / "new.jsonl", {7: "cat", 9: "cat"})
    files = ("--decisions", tmp_path / "old.csv", "--decisions", new)
    accepted("clean", table, "--out=clean.csv", *QUICK, *files)
    rows = rows_of("clean.csv")
    assert [rows[row]["chosen_label"] for row in (1, 7, 9)] == ["fox", "cat", "cat"]
    assert details()["decisions"] == 3
    # What a review of this table says to do next.
    command = command_again(details()["command"], "third.jsonl")
    assert command.count("--decisions") == 3


def test_rows_settled_by_their_names_are_found(table, tmp_path):
    written(table, three_clouds().assign(key=[f"r{number}" for number in range(60)]))
    decisions = reviewed(tmp_path / "d.jsonl", {4: "fox"}, "key")
    accepted("clean", table, "--out=clean.csv", *QUICK, "--id=key", "--decisions", decisions)
    assert details()["id"] == "key"
    assert rows_of("clean.csv")[4]["candidate_confidences"] == "fox:1"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_decisions_with_commas_go_with_a_table_of_another_kind(table, tmp_path, encoding):
    three_clouds().to_csv(table, sep=";", index=False, encoding=encoding)
    (tmp_path / "d.csv").write_text("row,label\n2,fox\n")
    words = ("--delimiter=;", f"--encoding={encoding}", "--decisions", tmp_path / "d.csv")
    accepted("clean", table, "--out=clean.csv", *QUICK, *words)
    rows = list(csv.DictReader(Path("clean.csv").read_text().splitlines(), delimiter=";"))
    assert rows[1]["candidate_confidences"] == "fox:1"


@pytest.mark.parametrize("text", ["row;label\n2;fox\n", "row;label;note\n2;fox;so\n"])
def test_decisions_may_be_written_as_the_table_is(table, tmp_path, text):
    three_clouds().to_csv(table, sep=";", index=False)
    (tmp_path / "d.csv").write_text(text)
    accepted("clean", table, "--out=clean.csv", *QUICK, "--delimiter=;", "--decisions=d.csv")
    rows = list(csv.DictReader(Path("clean.csv").read_text().splitlines(), delimiter=";"))
    assert rows[1]["candidate_confidences"] == "fox:1"


def test_decisions_in_the_encoding_of_the_table_are_read(table, tmp_path):
    frame = three_clouds()
    frame["label"] = frame["label"].str.replace("fox", "füchsin")
    frame.to_csv(table, index=False, encoding="latin-1")
    (tmp_path / "d.csv").write_text("row,label\n2,füchsin\n", encoding="latin-1")
    accepted("clean", table, "--out=clean.csv", *QUICK, "--encoding=latin-1", "--decisions=d.csv")
    assert rows_of("clean.csv")[1]["candidate_confidences"] == "füchsin:1"


def test_decisions_that_are_not_there_are_refused(table):
    run = run_command_here("clean", table, "--out=clean.csv", *QUICK, "--decisions=nowhere.csv")
    assert run.code == 2
    assert "nowhere.csv" in run.err
