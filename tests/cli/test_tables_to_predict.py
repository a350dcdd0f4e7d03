"""Tables to predict that differ from the one that was learned from."""

import re

import pandas as pd
import pytest

from cli.command_runs import accepted, check_manners, contents, run_command_here, written
from tabular.small_tables import three_clouds

NEW = three_clouds(9, seed=1).drop(columns=["label", "truth"])
OLD = b"an older result\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with a model of the columns length, width and colour, and an older result."""
    table = written(tmp_path / "table.csv", three_clouds())
    model = tmp_path / "model"
    accepted("fit", table, "--ignore=truth", f"--out={model}", "--method=plknn", "--folds=0")
    (tmp_path / "out.csv").write_bytes(OLD)
    return tmp_path


def predicted(folder, frame, suffix="csv"):
    """Return the predicted labels, and what was said."""
    table = folder / f"new.{suffix}"
    if suffix == "csv":
        written(table, frame)
    else:
        frame.to_json(table, orient="records", lines=True)
    out = folder / "out.csv"
    said = accepted("predict", folder / "model", table, f"--out={out}").err
    return pd.read_csv(out)["predicted_label"].tolist(), said


def refused(folder, frame):
    """Return the message of a prediction that must fail and change nothing."""
    table = written(folder / "new.csv", frame)
    before = contents(folder)
    run = run_command_here("predict", folder / "model", table, f"--out={folder / 'out.csv'}")
    check_manners(run, codes=(2,))
    assert contents(folder) == before
    return run.err


def test_the_order_of_columns_other_columns_and_types_do_not_matter(folder):
    expected, _ = predicted(folder, NEW)
    other = NEW[["colour", "width", "length"]].assign(more="x")
    assert predicted(folder, other)[0] == expected
    typed = NEW.astype({"length": float, "width": float, "colour": "category"})
    assert predicted(folder, typed, "jsonl")[0] == expected


def test_a_category_that_was_not_there_counts_as_unknown_with_a_notice(folder):
    labels, said = predicted(folder, NEW.assign(colour="violet"))
    assert len(labels) == 9
    assert re.search(r"Column 'colour' has values .*violet", said)


def test_a_number_far_from_all_that_was_learned_from_is_one_all_the_same(folder):
    labels, _ = predicted(folder, NEW.assign(width="1e300"))
    assert len(labels) == 9


def test_missing_columns_are_named(folder):
    message = refused(folder, NEW.drop(columns=["width", "colour"]))
    assert "no columns 'width', 'colour'" in message


def test_a_misspelled_column_is_recognised(folder):
    assert "Did you mean 'widht'?" in refused(folder, NEW.rename(columns={"width": "widht"}))


def test_text_where_numbers_were_is_named_with_its_row(folder):
    frame = NEW.copy()
    frame.loc[4, "width"] = "wide"
    message = refused(folder, frame)
    assert re.search(r"Column 'width' must hold numbers.*'wide' \(row 5\)", message)


def test_a_damaged_model_is_refused(folder):
    for file in sorted((folder / "model").iterdir()):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        assert "is not a model folder that disambig can read" in refused(folder, NEW)
        file.unlink()
        assert "is not a model folder that disambig can read" in refused(folder, NEW)
        file.write_bytes(whole)
