"""A table of the user's own through audit, fit, clean and predict."""

import errno
import io
import itertools
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabular.small_tables import three_clouds

QUICK = ["--method", "plknn", "--folds", "3"]


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "animals.csv"
    three_clouds().to_csv(path, index=False)
    return path


def read(path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_from_a_table_to_a_model_clean_labels_and_predictions(table, run_main):
    audited = run_main("audit", table, "--ignore", "truth")
    assert audited.code == 0
    assert "60 rows" in audited.out
    fitted = run_main("fit", table, "--truth", "truth", "--out", "model", *QUICK)
    assert fitted.code == 0, fitted.err
    assert "covering rate" in fitted.err
    assert re.search(r"accuracy +0\.[89].* from 60 true labels", fitted.err)
    cleaned = run_main("clean", table, "--truth", "truth", "--out", "clean.csv", *QUICK)
    assert cleaned.code == 0
    assert "60 rows" in cleaned.err
    assert "deserve a second look" in cleaned.err
    pd.testing.assert_frame_equal(read("clean.csv")[list(three_clouds())], read(table))
    predicted = run_main("predict", "model", table, "--out", "predicted.csv", "--top", "2")
    assert predicted.code == 0
    assert {"predicted_label", "probability", "label_2"} <= set(read("predicted.csv").columns)
    assert sorted(path.name for path in Path().iterdir()) == [
        "animals.csv", "clean.csv", "clean.csv.details.json", "model", "predicted.csv"
    ]  # fmt: skip


def test_fit_says_which_labels_it_misses_and_which_it_never_predicts(table, run_main):
    frame = three_clouds()
    # Among cats, and called owls by nobody but the truth.
    frame.loc[[0, 1], "label"] = frame["label"][[0, 1]] + "|owl"
    frame.loc[0, "truth"] = "owl"
    frame.to_csv(table, index=False)
    fitted = run_main("fit", table, "--truth", "truth", "--out", "model", *QUICK)
    assert fitted.code == 0, fitted.err
    assert re.search(r"recall of each label +0\.000  owl, 1 true label\n", fitted.err)
    assert re.search(
        r"\nNever predicted: owl\. It makes up \d+ % of the candidate labels\.", fitted.err
    )
    assert "class_weight" not in fitted.err  # plknn has none
    unjudged = run_main("fit", table, "--ignore", "truth", "--out", "model", *QUICK)
    assert "recall" not in unjudged.err
    assert "Never predicted: owl." in unjudged.err
    described = run_main("fit", table, "--truth", "truth", "--out", "model", *QUICK, "--json")
    estimate = json.loads(described.out)["estimate"]
    assert estimate["never_predicted"]["labels"] == ["owl"]
    assert estimate["recalls"][0] == {"label": "owl", "recall": 0.0, "n_rows": 1}
    assert sum(each["n_rows"] for each in estimate["recalls"]) == len(frame)


def test_the_cells_of_a_text_file_come_back_as_they_were(table, run_main):
    frame = three_clouds().assign(code=["007"] * 30 + ["1.50"] * 30, note=["NA", ""] * 30)
    frame.to_csv(table, index=False)
    run_main("clean", table, "--ignore", "truth", "--out", "clean.csv", *QUICK)
    assert read("clean.csv")["code"].tolist() == frame["code"].tolist()
    assert read("clean.csv")["note"].tolist() == frame["note"].tolist()


@pytest.mark.parametrize("command", ["audit", "fit", "clean", "predict"])
def test_json_is_all_that_is_on_standard_output(table, run_main, command):
    run_main("fit", table, "--ignore", "truth", "--out", "model", *QUICK)
    words = {
        "audit": ["audit", table],
        "fit": ["fit", table, "--ignore", "truth", "--out", "model", *QUICK],
        "clean": ["clean", table, "--truth", "truth", "--out", "clean.csv", *QUICK],
        "predict": ["predict", "model", table, "--out", "predicted.csv"],
    }
    ended = run_main(*words[command], "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["rows"] == 60


# By the method that is the default.
MIX = ("--method", "ncpd_plus", "--set", "epochs=4", "--set", "hidden=8", "--folds", "0")


def test_what_a_method_chose_by_itself_is_printed_and_predicts(table, run_main):
    ended = run_main("fit", table, "--ignore", "truth", "--out", "model", *MIX)
    assert ended.code == 0
    assert all(name in ended.err for name in ("weight", "plain", "noisy", "noisy_views"))
    described = run_main("fit", table, "--ignore", "truth", "--out", "again", *MIX, "--json")
    weights = [score["weight"] for score in json.loads(described.out)["selection"].values()]
    assert len(weights) == 3
    assert sum(weights) == pytest.approx(1)
    run_main("predict", "model", table, "--out", "predicted.csv")
    assert len(read("predicted.csv")) == 60


def test_a_table_goes_from_standard_input_to_standard_output(table, run_main, monkeypatch):
    content = table.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    ended = run_main("clean", "-", "--ignore", "truth", "--out", "-", *QUICK)
    assert ended.code == 0
    result = pd.read_csv(io.StringIO(ended.out), dtype=str)
    assert len(result) == 60
    assert "chosen_label" in result.columns
    assert "deserve a second look" in ended.err


def test_a_table_and_json_do_not_share_standard_output(table, run_main):
    ended = run_main("clean", table, "--out", "-", "--json", *QUICK)
    assert ended.code == 2
    assert "not both" in ended.err


def test_settled_rows_count(table, run_main):
    Path("decisions.csv").write_text("row,label\n2,fox\n")
    words = ("clean", table, "--ignore", "truth", "--out", "clean.csv", *QUICK)
    run_main(*words, "--decisions", "decisions.csv")
    row = read("clean.csv").iloc[1]
    assert (row["chosen_label"], float(row["confidence"])) == ("fox", 1.0)


def test_parameters_of_the_method_are_set(table, run_main):
    words = ("fit", table, "--ignore", "truth", "--out", "model", "--folds", "0")
    parameters = (
        "--method",
        "ncpd",
        "--set",
        "epochs=2",
        "--set",
        "ramp_epochs=1",
        "--set",
        "hidden=[8, 8]",
    )
    assert run_main(*words, *parameters).code == 0
    ended = run_main(*words, "--set", "epoch=2")
    assert ended.code == 2
    assert "has no parameter 'epoch'" in ended.err
    assert run_main(*words, "--set", "epochs").code == 2


def test_a_long_table_of_annotations_gives_the_labels(table, run_main):
    frame = three_clouds().drop(columns=["label", "truth"])
    frame.insert(0, "photo", [f"p{number}" for number in range(60)])
    frame.to_csv("photos.csv", index=False)
    votes = [
        (f"p{number}", who, label)
        for number, cell in enumerate(three_clouds()["label"])
        for who, label in zip(("ann", "bob"), cell.split("|"), strict=False)
    ]
    pd.DataFrame(votes, columns=["photo", "who", "said"]).to_csv("votes.csv", index=False)
    long = ("--annotations", "votes.csv", "--item", "photo", "--annotator", "who")
    # Nobody is good or bad here: who says which of two labels goes by the alphabet.
    words = ("clean", "photos.csv", "--out", "clean.csv", "--equal-votes", *QUICK, *long)
    assert run_main(*words, "--label", "said").code == 0
    cleaned = read("clean.csv")
    assert list(cleaned["photo"]) == list(frame["photo"])
    assert (cleaned["chosen_label"] == three_clouds()["truth"]).mean() > 0.9
    ended = run_main(*words)
    assert ended.code == 2
    assert "needs --item and --label" in ended.err


@pytest.fixture
def answers(table):
    """Write answers of three people and of one who guesses: in a long table, and in columns."""
    random = np.random.default_rng(0)
    frame = three_clouds()
    names, truth = np.unique(frame["truth"]), frame["truth"]
    photos = [f"p{number}" for number in range(60)]
    wide = frame.drop(columns=["label", "truth"]).assign(photo=photos)
    wide.to_csv("photos.csv", index=False)
    for who, skill in (("ann", 0.95), ("bob", 0.8), ("cem", 0.7), ("eve", 0.0)):
        wide[who] = np.where(random.random(60) < skill, truth, random.choice(names, 60))
    wide.to_csv("wide.csv", index=False)
    wide.melt("photo", ["ann", "bob", "cem", "eve"], "who", "said").to_csv("long.csv", index=False)
    return ["--annotations", "long.csv", "--item", "photo", "--annotator", "who", "--label", "said"]


def test_annotators_are_weighed_from_a_long_table_and_from_columns(answers, run_main):
    ended = run_main("clean", "photos.csv", "--out", "long-clean.csv", *QUICK, *answers)
    assert ended.code == 0, ended.err
    columns = [word for who in ("ann", "bob", "cem", "eve") for word in ("--labels", who)]
    words = ("clean", "wide.csv", "--id", "photo", "--votes", *columns, *QUICK)
    assert run_main(*words, "--out", "wide-clean.csv").code == 0
    chosen = read("long-clean.csv")["chosen_label"]
    assert (chosen == three_clouds()["truth"]).mean() > 0.95
    assert (chosen == read("wide-clean.csv")["chosen_label"]).all()
    ended = run_main("clean", "wide.csv", "--labels", "ann", "--equal-votes", "--out", "x.csv")
    assert ended.code == 2
    assert "--equal-votes is about annotators" in ended.err


def test_an_audit_says_how_good_annotators_are(answers, run_main):
    ended = run_main("audit", "photos.csv", *answers)
    assert ended.code == 0, ended.err
    assert "Annotators, judged by each other" in ended.out
    found = json.loads(run_main("audit", "photos.csv", *answers, "--json").out)
    judged = {one["annotator"]: one for one in found["annotators"]["annotators"]}
    assert judged["ann"]["accuracy"]["low"] > judged["eve"]["accuracy"]["high"]
    assert judged["eve"]["at_random"]
    assert not judged["bob"]["at_random"]
    assert "annotators_at_random" in {one["kind"] for one in found["findings"]}


def test_a_long_table_may_carry_the_features_itself(table, run_main):
    frame = three_clouds().drop(columns="truth")
    frame.insert(0, "photo", [f"p{number}" for number in range(60)])
    frame["label"] = frame["label"].str.split("|")
    long = frame.explode("label").assign(at=lambda rows: range(len(rows)))
    long.to_csv("long.csv", index=False)
    words = ("clean", "long.csv", "--item", "photo", "--label", "label", "--out", "clean.csv")
    ended = run_main(*words, *QUICK)
    assert ended.code == 0, ended.err
    assert "within an item: at" in ended.err
    assert len(read("clean.csv")) == 60


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "lable"], r"no column 'lable'.*Did you mean 'label'\?"),
        (["--truth", "turth"], r"no column 'turth'.*Did you mean 'truth'\?"),
        (["--features", "lenght"], r"no column 'lenght'.*Did you mean 'length'\?"),
        (["--ignore", "colours"], r"no column 'colours'.*Did you mean 'colour'\?"),
        (["--method", "ncdp"], r"no method called 'ncdp'.*Did you mean 'ncpd'\?"),
        (["--method", "oracle"], "trained on true labels"),
        (["--decisions", "none.csv"], "There is no file"),
        (["--folds", "61"], "61 folds need as many rows"),
    ],
)
def test_bad_options_end_in_a_line_and_exit_code_two(table, run_main, words, message):
    ended = run_main("fit", table, "--out", "model", "--method", "plknn", *words)
    assert ended.code == 2
    assert re.search(message, ended.err)
    assert "Traceback" not in ended.err
    assert len(ended.err.splitlines()) <= 24
    assert not Path("model").exists()


def test_a_failed_run_leaves_an_older_result_alone(table, run_main):
    Path("clean.csv").write_text("precious")
    ended = run_main("clean", table, "--labels", "lable", "--out", "clean.csv", *QUICK)
    assert ended.code == 2
    assert Path("clean.csv").read_text() == "precious"
    words = ("fit", table, "--ignore", "truth", "--out", "model", *QUICK)
    assert run_main(*words).code == 0
    before = {path.name: path.read_bytes() for path in Path("model").iterdir()}
    assert run_main(*words, "--labels", "lable").code == 2
    assert {path.name: path.read_bytes() for path in Path("model").iterdir()} == before


def test_a_model_never_takes_the_place_of_something_else(table, run_main):
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("years of work")
    ended = run_main("fit", table, "--ignore", "truth", "--out", "thesis", *QUICK)
    assert ended.code == 2
    assert Path("thesis/chapter.txt").read_text() == "years of work"


def test_an_output_of_an_unknown_format_is_refused_before_the_work(table, run_main):
    ended = run_main("clean", table, "--out", "clean.doc", *QUICK)
    assert ended.code == 2
    assert ".doc" in ended.err


def test_an_interrupted_clean_goes_on_where_it_was(table, run_main, monkeypatch):
    words = ("clean", table, "--ignore", "truth", "--out", "clean.csv", "--folds", "3")
    words += (
        "--method",
        "ncpd",
        "--set",
        "epochs=4",
        "--set",
        "ramp_epochs=2",
        "--set",
        "hidden=8",
    )
    assert run_main(*words).code == 0
    files = [Path("clean.csv"), Path("clean.csv.details.json")]
    whole = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    from disambig.cli.fit import FitView

    begin = FitView.on_fit_start

    def break_off(self: FitView, title: str) -> None:
        if title == "fold 3 of 3":
            raise KeyboardInterrupt
        begin(self, title)

    with monkeypatch.context() as patched:
        patched.setattr(FitView, "on_fit_start", break_off)
        assert run_main(*words).code == 130
    assert not any(file.exists() for file in files)
    kept = sorted(path.name[:6] for path in Path("clean.csv.partial").glob("*.npz"))
    assert kept == ["fold-1", "fold-2"]
    assert run_main(*words).code == 0
    assert [file.read_bytes() for file in files] == whole
    assert not Path("clean.csv.partial").exists()


def test_the_example_is_a_table_for_every_command(tmp_path, run_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_main("example").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"vehicles.csv", "new-vehicles.csv"}
    words = ("--labels", "label", "--truth", "checked")
    assert run_main("audit", "vehicles.csv", *words).code == 0
    ended = run_main("fit", "vehicles.csv", *words, "--out", "model", *QUICK)
    assert ended.code == 0
    assert "vehicle" in ended.err  # left out: it names the rows
    assert run_main("predict", "model", "new-vehicles.csv", "--out", "p.jsonl").code == 0
    assert len(Path("p.jsonl").read_text().splitlines()) == 100


def test_a_mistake_of_ours_is_no_traceback(table, run_main, monkeypatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("disambig.cli.table_files.read_table", fail)
    ended = run_main("audit", table)
    assert ended.code == 1
    assert "bug in disambig: ZeroDivisionError: oh" in ended.err
    assert "Traceback" not in ended.err


@pytest.fixture
def made(table, run_main):
    """Return what commands of the same table and model begin with; their results are there."""
    words = (table, "--ignore", "truth", "--jobs", "1", *QUICK)
    assert run_main("clean", *words, "--out", "clean.csv").code == 0
    assert run_main("fit", *words, "--out", "model").code == 0
    assert run_main("predict", "model", table, "--out", "p.csv").code == 0
    assert run_main("report", "clean.csv", "--out", "page.html").code == 0
    return {
        "clean": ("clean", *words, "--out", "clean.csv"),
        "fit": ("fit", *words, "--out", "model"),
        "predict": ("predict", "model", table, "--out", "p.csv"),
        "report": ("report", "clean.csv", "--out", "page.html"),
    }


def contents(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", ["clean", "fit", "predict", "report"])
def test_a_full_disk_is_failed_work_that_names_a_file_and_changes_none(
    made, run_main, monkeypatch, command
):
    before = contents(".")
    fsync, codes = os.fsync, []
    # The disk is full from one moment of the run on; the next time, from a later one.
    for room in itertools.count(0, 4):
        left = itertools.count(room, -1)

        def fail(descriptor: int, left=left) -> None:
            if next(left) <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", fail)
        ended = run_main(*made[command])
        codes.append(ended.code)
        # The same work gives the same bytes: what is new is whole.
        assert contents(".").items() >= before.items()
        assert not list(Path().rglob(".*"))
        if ended.code == 0:
            break
        named = re.search(r"No space left on device: '(.*)'", ended.err)[1]
        assert Path(made[command][-1]).name in named  # it, or what is beside it
    assert set(codes[:-1]) == {1}


@pytest.mark.parametrize("command", ["clean", "fit", "predict", "report"])
def test_a_place_that_cannot_be_written_to_is_bad_input(made, run_main, command):
    Path("file").write_text("mine")
    *words, out = made[command]
    ended = run_main(*words, Path("file") / out)
    assert ended.code == 2
    assert "file" in ended.err
    assert Path("file").read_text() == "mine"


def test_a_file_of_somebodys_own_beside_the_table_is_refused_before_any_work(table, run_main):
    mine = Path("clean.csv.details.json")
    mine.write_text("mine")
    ended = run_main("clean", table, "--ignore", "truth", "--out", "clean.csv", *QUICK)
    assert ended.code == 2
    assert "clean.csv.details.json, but something else is there" in ended.err
    assert mine.read_text() == "mine"
    assert "Training" not in ended.err
    assert not Path("clean.csv").exists()


def test_an_example_never_takes_the_place_of_a_file(tmp_path, run_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("vehicles.csv").write_text("mine")
    ended = run_main("example")
    assert ended.code == 2
    assert Path("vehicles.csv").read_text() == "mine"
    assert run_main("example", "elsewhere").code == 0


def test_an_example_of_which_one_file_was_written_goes_on(tmp_path, run_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_main("example").code == 0
    before = Path("vehicles.csv").read_bytes()
    Path("new-vehicles.csv").unlink()
    assert run_main("example").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"vehicles.csv", "new-vehicles.csv"}
    assert Path("vehicles.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--min-votes", "2"], "--min-votes needs a long table"),
        (["--item", "a", "--label", "b", "--votes"], "--votes cannot be used with a long table"),
        (["--item", "a", "--label", "b", "--labels", "c"], "--labels cannot be used with"),
    ],
)
def test_options_that_would_mean_nothing_are_refused(table, run_main, words, message):
    ended = run_main("audit", table, *words)
    assert ended.code == 2
    assert message in ended.err


def test_code_cannot_be_given_as_a_parameter(table, run_main):
    ended = run_main("fit", table, "--out", "model", "--set", "callbacks=3")
    assert ended.code == 2
    assert "has no parameter 'callbacks'" in ended.err


def test_the_files_beside_a_table_are_separated_like_it(table, run_main):
    three_clouds().to_csv(table, sep=";", index=False)
    Path("decisions.csv").write_text("row;label\n2;fox\n")
    words = ("clean", table, "--delimiter", ";", "--ignore", "truth", "--out", "clean.csv", *QUICK)
    assert run_main(*words, "--decisions", "decisions.csv").code == 0
    assert pd.read_csv("clean.csv", sep=";")["chosen_label"][1] == "fox"


def test_an_excel_file_is_not_cleaned_in_place(table, run_main):
    three_clouds().to_excel("animals.xlsx", index=False)
    before = Path("animals.xlsx").read_bytes()
    ended = run_main("clean", "animals.xlsx", "--truth", "truth", "--out", "animals.xlsx", *QUICK)
    assert ended.code == 2
    assert "other sheets would be lost" in ended.err
    assert Path("animals.xlsx").read_bytes() == before


def test_folds_that_are_done_are_kept_when_the_table_cannot_be_written(table, run_main):
    frame = three_clouds().assign(note="x" * 40_000)
    frame.to_csv(table, index=False)
    words = ("clean", table, "--truth", "truth", "--ignore", "note", *QUICK)
    ended = run_main(*words, "--out", "clean.xlsx")
    assert ended.code == 2
    assert len(list(Path("clean.xlsx.partial").glob("*.npz"))) == 3


def test_warnings_are_notes(table, run_main):
    words = ("fit", table, "--truth", "truth", "--out", "model", "--folds", "0")
    ended = run_main(*words, "--method", "ncpd", "--set", "epochs=2", "--set", "hidden=8")
    assert ended.code == 0
    assert "Note: Training ends after 2 epochs" in ended.err
    assert "UserWarning" not in ended.err
