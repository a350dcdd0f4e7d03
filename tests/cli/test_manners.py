"""Inputs are not replaced unasked, and Ctrl-C says what is kept."""

from pathlib import Path

import pandas as pd
import pytest

from disambig import PLKNN
from tabular.small_tables import three_clouds

METHOD = ("--method", "plknn", "--folds", "2", "--jobs", "1")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    three_clouds().to_csv("table.csv", index=False)
    return Path("table.csv")


@pytest.mark.parametrize("out", ["table.csv", "./table.csv", "link.csv", "inner/../table.csv"])
def test_the_input_is_not_replaced_unasked_by_any_name(table, out, run_main):
    Path("inner").mkdir()
    Path("link.csv").symlink_to(table)
    before = table.read_bytes()
    end = run_main("clean", table, "--truth", "truth", "--out", out, *METHOD)
    assert end.code == 2
    assert f"{out} is the input file" in end.err
    assert "add --overwrite" in end.err
    assert table.read_bytes() == before
    assert not list(Path().glob("*.partial"))


def test_overwrite_replaces_the_input(table, run_main):
    given = ("clean", table, "--truth", "truth", "--out", table, "--overwrite", *METHOD)
    assert run_main(*given).code == 0
    assert "chosen_label" in pd.read_csv(table).columns


def test_predictions_and_decisions_are_not_replaced_either(table, run_main):
    assert run_main("fit", table, "--out", "model", "--ignore", "truth", *METHOD).code == 0
    end = run_main("predict", "model", table, "--out", table)
    assert (end.code, "is the input file" in end.err) == (2, True)
    pd.DataFrame({"row": [1], "label": ["cat"]}).to_csv("decisions.csv", index=False)
    given = ("clean", table, "--decisions", "decisions.csv", "--out", "decisions.csv", *METHOD)
    end = run_main(*given)
    assert (end.code, "is a file that is read" in end.err) == (2, True)


def test_another_output_is_replaced_as_before(table, run_main):
    given = ("clean", table, "--truth", "truth", "--out", "clean.csv", *METHOD)
    assert run_main(*given).code == run_main(*given).code == 0


def test_label_where_labels_is_meant_is_explained(table, run_main):
    end = run_main("fit", table, "--label", "my label", "--out", "model")
    assert end.code == 2
    assert "use --labels 'my label'" in end.err


def test_any_command_says_that_it_was_interrupted(table, run_main, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("disambig.cli.table_files.read_table", interrupted)
    for words in (["audit", table], ["predict", "model", table, "--out", "new.csv"]):
        monkeypatch.setattr("disambig.tabular.table_model.load_model", interrupted)
        end = run_main(*words)
        assert end.code == 130
        assert end.err.startswith("Interrupted. No file was left half written.")


def test_an_interrupted_fit_says_where_its_work_is_and_goes_on_from_there(
    table, run_main, monkeypatch
):
    fit, fits = PLKNN.fit, []

    def interrupted(model, *given):
        fits.append(len(fits))
        if len(fits) == 3:
            raise KeyboardInterrupt
        return fit(model, *given)

    monkeypatch.setattr(PLKNN, "fit", interrupted)
    words = ("fit", table, "--truth", "truth", "--out", "model", *METHOD)
    end = run_main(*words)
    assert (end.code, end.out) == (130, "")
    *_, said, where = end.err.splitlines()
    assert said == "Interrupted. Run the same command to go on. What is done is kept in"
    assert Path(where) == Path("model.partial").resolve()
    assert not Path("model").exists()
    assert run_main(*words).code == 0
    # The model of all rows and the fold that was cut off again, but not the fold that was done.
    assert len(fits) == 3 + 2
    assert not Path("model.partial").exists()


def test_a_fit_that_is_interrupted_before_any_training_is_kept_says_so(
    table, run_main, monkeypatch
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PLKNN, "fit", interrupted)
    end = run_main("fit", table, "--truth", "truth", "--out", "model", *METHOD)
    assert end.code == 130
    assert end.err.endswith(
        "Interrupted before any training was kept. Run the same command to start again.\n"
    )
