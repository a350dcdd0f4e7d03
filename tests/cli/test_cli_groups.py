"""Rows that come together, on the command line: --group, --promise, --promise-strength."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.command_runs import accepted, check_manners, run_command_here, written
from disambig import clean_table, fit_table, load_model
from tabular.small_tables import photos

FRAME = photos()
NEW = photos(6, seed=1)
QUICK = ("--method", "plknn", "--folds", "3", "--jobs", "1")
GROUPED = ("--group", "photo", "--promise", "cover", "--promise-strength", "0.8")
IN_PYTHON = {"method": "plknn", "n_folds": 3, "group": "photo", "promise": "cover"} | {
    "promise_strength": 0.8
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "faces.csv", FRAME)
    written(tmp_path / "new.csv", NEW)
    return "faces.csv"


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(name, dtype=str, keep_default_na=False)


def test_fit_and_predict_do_what_the_functions_do(table):
    words = ("fit", table, "--truth", "truth", "--out", "model", *QUICK, *GROUPED)
    ended = accepted(*words)
    assert f"({len(FRAME)} rows, 3 folds by groups of 'photo': 30 groups)" in ended.err
    expected = fit_table(FRAME, truth="truth", **IN_PYTHON)
    assert load_model("model").estimate == expected.estimate
    accepted("predict", "model", "new.csv", "--labels", "label", *GROUPED, "--out", "out.csv")
    found = read("out.csv")
    told = {"group": "photo", "promise": "cover", "promise_strength": 0.8}
    predicted = expected.predict(NEW, labels="label", **told)
    assert found["predicted_label"].tolist() == predicted["predicted_label"].tolist()
    np.testing.assert_allclose(found["probability"].astype(float), predicted["probability"])
    pd.testing.assert_frame_equal(found[list(NEW)], NEW)
    result = json.loads(accepted(*words, "--json").out)
    assert (result["estimate"]["group"], result["estimate"]["n_groups"]) == ("photo", 30)


def test_empty_cells_are_written_where_a_set_has_fewer_labels(table):
    accepted("fit", table, "--ignore", "truth", "--ignore", "photo", "--out", "model", *QUICK)
    words = ("--labels", "label", "--top", "4", "--out", "out.csv", "--json")
    counts = json.loads(accepted("predict", "model", "new.csv", *words).out)["labels"]
    found = read("out.csv")
    two = NEW["label"].str.count("[|]") == 1
    assert (found.loc[two, ["label_3", "probability_3", "label_4", "probability_4"]] == "").all(
        axis=None
    )
    assert (found.loc[two, "label_2"] != "").all()
    assert sum(counts.values()) == len(NEW)


def test_clean_does_what_the_function_does(table):
    accepted("clean", table, "--ignore", "truth", "--out", "clean.csv", *QUICK, *GROUPED)
    expected = clean_table(FRAME, ignore=["truth"], **IN_PYTHON)
    assert read("clean.csv")["chosen_label"].tolist() == expected["chosen_label"].tolist()
    details = json.loads(Path("clean.csv.details.json").read_text())
    assert details["group"] == "photo"
    runs = ("--group", "runs", "--ignore", "photo", "--ignore", "truth")
    accepted("clean", table, "--out", "runs.csv", *QUICK, *runs)
    assert json.loads(Path("runs.csv.details.json").read_text())["group"] == "runs"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--promise", "cover"], "name the column of their groups by --group"),
        (["--group", "foto"], "no column 'foto', which should be the groups of rows. Did you mean"),
        (["--group", "label"], "it already holds the candidate labels"),
        (["--group", "photo", "--folds", "31"], "31 folds of whole groups need as many groups"),
        (["--group", "photo", "--promise-strength", "0.5"], "needs a promise: --promise cover"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "clean"])
def test_what_cannot_be_is_refused_with_what_to_type(table, command, words, message):
    out = {"fit": "model", "clean": "clean.csv"}[command]
    run = run_command_here(command, table, "--ignore", "truth", "--out", out, *QUICK, *words)
    check_manners(run, codes=(2,))
    assert message in run.err
    assert not Path(out).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "photo"], "Name their column by --labels"),
        (["--empty", "all"], "--empty is about candidate labels of the new rows (--labels)"),
        (["--labels", "x"], "Labels cannot be read"),
    ],
)
def test_predictions_that_mean_nothing_are_refused(table, words, message):
    accepted("fit", table, "--ignore", "truth", "--ignore", "photo", "--out", "model", *QUICK)
    run = run_command_here("predict", "model", "new.csv", "--out", "out.csv", *words)
    check_manners(run, codes=(2,))
    assert message in run.err


def long_table() -> pd.DataFrame:
    """Return a row for every annotation, with the features and the photo of its face."""
    faces = FRAME.drop(columns="truth").assign(face=[f"f{row}" for row in range(len(FRAME))])
    faces["label"] = faces["label"].str.split("|")
    return faces.explode("label", ignore_index=True)


def test_the_groups_of_a_long_table_are_those_of_its_items(table):
    long = long_table()
    long.loc[1, "photo"] = ""  # as good as the cell of the item above
    written(Path("long.csv"), long)
    words = ("--item", "face", "--label", "label", "--group", "photo")
    ended = accepted("fit", "long.csv", *words, "--out", "model", *QUICK)
    assert "by groups of 'photo': 30 groups" in ended.err
    long.loc[len(long) - 1, "photo"] = "another"
    written(Path("long.csv"), long)
    run = run_command_here("fit", "long.csv", *words, "--out", "other", *QUICK)
    check_manners(run, codes=(2,))
    face, photo = f"f{len(FRAME) - 1}", "photo 29"
    assert f"Item '{face}' has '{photo}' in row" in run.err
    assert f"and 'another' in row {len(long):,}" in run.err
    run = run_command_here("fit", "long.csv", *words[:-1], "face", "--out", "other", *QUICK)
    check_manners(run, codes=(2,))
    assert "neither --item, --annotator nor --label. Got 'face'" in run.err


def test_an_array_of_groups_is_noticed_and_used_where_it_is_asked_for(table):
    names = np.array(sorted(set(FRAME["truth"])))
    mask = np.array([[name in cell.split("|") for name in names] for cell in FRAME["label"]])
    X = FRAME[["x", "y"]].to_numpy(float)
    np.savez("faces.npz", X=X, candidates=mask, classes=names, groups=FRAME["photo"].to_numpy(str))
    words = ("faces.npz", "--out", "model", *QUICK)
    audit = accepted("audit", "faces.npz")
    assert "disambig fit faces.npz --group groups --out model" in audit.out + audit.err
    unaware = accepted("fit", *words).err
    assert "3 folds):" in unaware
    assert "Hold out whole groups: --group groups" in unaware
    assert load_model("model").plan.names == ["x0", "x1"]
    assert "by groups of 'groups': 30 groups" in accepted("fit", *words, "--group", "groups").err
    assert load_model("model").plan.names == ["x0", "x1"]
    accepted("clean", "faces.npz", "--out", "clean.csv", *QUICK)
    assert "groups" not in read("clean.csv")
    told = ("--labels", "label", "--group", "groups", "--promise", "exclusive")
    accepted("predict", "model", "faces.npz", *told, "--out", "out.csv")
    assert "groups" in read("out.csv")


@pytest.mark.usefixtures("table")
def test_a_feature_called_groups_is_learned_from():
    names = np.array(sorted(set(FRAME["truth"])))
    mask = np.array([[name in cell.split("|") for name in names] for cell in FRAME["label"]])
    X, features = FRAME[["x", "y"]].to_numpy(float), np.array(["x", "groups"])
    np.savez("faces.npz", X=X, candidates=mask, classes=names, feature_names=features)
    accepted("fit", "faces.npz", "--out", "model", *QUICK)
    assert load_model("model").plan.names == ["x", "groups"]
