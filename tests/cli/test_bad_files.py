"""Files that cannot be used, through every command: a message, exit code 2, and nothing changed."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.command_runs import accepted, check_manners, contents, run_command_here, written
from tabular.small_tables import three_clouds

QUICK = ["--method=plknn", "--folds=2"]
NETWORK = ["--method=ncpd", "--set=epochs=2", "--set=ramp_epochs=1", "--set=hidden=8", "--folds=2"]
OLD = b"an older result\n"
READERS = ["audit", "fit", "clean", "predict"]
LEARNERS = ["fit", "clean"]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model of the columns length, width and colour."""
    folder = tmp_path_factory.mktemp("fitted")
    table = written(folder / "good.csv", three_clouds())
    run = run_command_here("fit", table, "--ignore=truth", f"--out={folder / 'model'}", *QUICK)
    assert run.code == 0, run.err
    return folder / "model"


@pytest.fixture
def folder(tmp_path, model) -> Path:
    """A folder in which every command has an older result to lose."""
    place = tmp_path / "work"
    (place / "model").mkdir(parents=True)
    for file in model.iterdir():
        (place / "model" / file.name).write_bytes(file.read_bytes())
    (place / "out.csv").write_bytes(OLD)
    return place


def words_of(command: str, folder: Path, table: object, *options: str) -> list[object]:
    match command:
        case "audit":
            return ["audit", table, *options]
        case "fit":
            return ["fit", table, f"--out={folder / 'model'}", *QUICK, *options]
        case "clean":
            return ["clean", table, f"--out={folder / 'out.csv'}", *QUICK, *options]
        case _:
            # The labels of a table to predict do not matter.
            return ["predict", folder / "model", table, f"--out={folder / 'out.csv'}"]


def refused(command: str, folder: Path, table: object, *options: str) -> str:
    """Run a command that must fail politely and change nothing; return its message."""
    before = contents(folder)
    run = run_command_here(*words_of(command, folder, table, *options))
    check_manners(run, codes=(2,))
    assert run.out == ""
    assert contents(folder) == before
    return run.err


GOOD = three_clouds().drop(columns="truth").to_csv(index=False).encode()
UNREADABLE = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n  \n", "is empty"),
    "header only": (b"length,width,colour,label\n", "header only"),
    "open quote": (GOOD.replace(b"cat", b'"cat', 1), "quotes .* are broken"),
    "text behind a quote": (GOOD.replace(b"cat", b'"c"at', 1), "quotes .* are broken"),
    "a cell too many": (GOOD.replace(b"cat", b"cat,x", 1), "as many cells as the header, 4"),
    "cut in a row": (GOOD[:150].rsplit(b",", 1)[0], "as many cells as the header, 4"),
    "mixed encodings": (
        GOOD + "1,2,größer,cat\n".encode() + "1,2,größer,cat\n".encode("latin-1"),
        r"cannot be read as utf-8.*line 63: row 62, column '.*'\) does not fit.*--encoding latin-1",
    ),
    "utf-16 without a mark": (GOOD.decode().encode("utf-16-le"), "NUL"),
    "a NUL byte": (GOOD.replace(b"cat", b"c\0t", 1), "holds a NUL character"),
    "two columns of a name": (GOOD.replace(b"width", b"length", 1), "both called 'length'"),
    "a column without a name": (GOOD.replace(b"width", b"", 1), "Column 2 of 4 has none"),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "cannot be read as utf-8"),
}


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_text_file_that_cannot_be_read(folder, command, content, message):
    table = folder / "table.csv"
    table.write_bytes(content)
    assert re.search(message, refused(command, folder, table))


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    "suffix", ["tsv", "json", "jsonl", "parquet", "xlsx", "mat", "npz", "csv.gz", "csv.zip"]
)
@pytest.mark.parametrize("content", [b"", b"PK\3\4 no archive", b"\x1f\x8b no gzip", GOOD])
def test_a_file_that_is_not_what_its_name_says(folder, command, suffix, content):
    table = folder / f"table.{suffix}"
    table.write_bytes(content)
    if suffix == "tsv" and content == GOOD:  # what is between its cells is found
        assert "separated by ','" in accepted(*words_of(command, folder, table)).err
        return
    assert "table." in refused(command, folder, table)


@pytest.mark.parametrize("command", READERS)
def test_what_is_no_file_at_all(folder, command):
    assert "There is no file" in refused(command, folder, folder / "table.csv")
    assert "is a folder" in refused(command, folder, folder / "model")
    assert "suffix of a table says its format" in refused(
        command, folder, written(folder / "table.doc", three_clouds())
    )
    long = folder / ("x" * 300 + ".csv")
    assert "name too long" in refused(command, folder, long).lower()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may read everything")
@pytest.mark.parametrize("command", READERS)
def test_a_file_that_may_not_be_read(folder, command):
    table = written(folder / "table.csv", three_clouds())
    table.chmod(0)
    before = sorted(path.name for path in folder.iterdir())
    run = run_command_here(*words_of(command, folder, table))
    check_manners(run, codes=(2,))
    assert "cannot be read" in run.err
    assert sorted(path.name for path in folder.iterdir()) == before


def as_labels(cells: object) -> pd.DataFrame:
    return three_clouds().drop(columns="truth").assign(label=cells)


ALIKE, FULL = as_labels("cat"), as_labels("cat|dog|fox")
TAUGHT_NOTHING = {
    "labels all alike": (ALIKE, [], "needs at least two labels"),
    "every label in every row": (FULL, [], "all 60 rows may have any of the 3 labels"),
    "no row has a label": (as_labels(""), [], "No row has a label"),
    "a row without a label": (as_labels(["cat", "dog", ""] * 20), [], "--empty all"),
    "all but one row full": (
        as_labels(["cat|dog"] * 59 + [""]), ["--empty=all"], "all 60 rows may have any"
    ),
    "one row": (three_clouds(1), ["--ignore=truth"], "at least two labels|may have any"),
    "no features": (three_clouds()[["label"]], [], "at least one column that can be a feature"),
    "identifiers only": (
        pd.DataFrame({"id": [f"u{n}" for n in range(60)], "label": ["cat", "dog"] * 30}), [],
        "'id' is an identifier",
    ),
    "constants only": (
        pd.DataFrame({"a": ["1"] * 60, "label": ["cat", "dog"] * 30}), [], "one value in all rows"
    ),
    "a label among the features": (three_clouds(), ["--features=label"], "'label' was chosen"),
    "a feature that is left out": (
        three_clouds(), ["--features=width", "--ignore=width"], "also to be left out"
    ),
    "true labels that are the sets": (
        three_clouds(), ["--truth=label"], "cannot be the true labels: it already"
    ),
    "a label column twice": (three_clouds(), ["--labels=label", "--labels=label"], "twice"),
}  # fmt: skip


@pytest.mark.parametrize("command", LEARNERS)
@pytest.mark.parametrize(
    ("frame", "options", "message"), TAUGHT_NOTHING.values(), ids=TAUGHT_NOTHING
)
def test_a_table_that_nothing_can_be_learned_from(folder, command, frame, options, message):
    table = written(folder / "table.csv", frame)
    assert re.search(message, refused(command, folder, table, *options))


@pytest.mark.parametrize("command", ["audit", "fit", "clean"])
def test_a_column_that_does_not_exist_is_named_with_what_it_may_be_a_slip_of(folder, command):
    table = written(folder / "table.csv", three_clouds())
    for option in ("--labels=lable", "--truth=turth", "--id=widht", "--ignore=lenght"):
        message = refused(command, folder, table, option)
        assert re.search(r"no column .*Did you mean", message), message


@pytest.mark.parametrize(
    ("frame", "said"),
    [(ALIKE, "only label in the whole table"), (FULL, "Every row has every label")],
    ids=["alike", "full"],
)
def test_an_audit_looks_at_labels_that_teach_nothing_and_says_so(tmp_path, frame, said):
    assert said in accepted("audit", written(tmp_path / "table.csv", frame)).out


def test_one_settled_row_is_something_to_learn_from(folder):
    table = written(folder / "table.csv", FULL)
    decisions = folder / "decisions.csv"
    decisions.write_text("row,label\n1,cat\n")
    accepted(*words_of("clean", folder, table, f"--decisions={decisions}"))


def test_decisions_that_leave_one_label_are_refused(folder):
    table = written(folder / "table.csv", as_labels(["cat", "cat|dog"] * 30))
    decisions = folder / "decisions.csv"
    decisions.write_text("row,label\n" + "".join(f"{row},cat\n" for row in range(1, 61)))
    message = refused("clean", folder, table, f"--decisions={decisions}")
    assert "needs at least two labels" in message


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("row,label\n61,cat\n", [], "rows 1 to 60"),
        ("row,label\n0,cat\n", [], "rows 1 to 60"),
        ("row,label\nfirst,cat\n", [], "must hold row numbers"),
        ("row,label\n1,horse\n", [], "horse"),
        ("row,lable\n1,cat\n", [], "Did you mean 'lable'"),
        ("colour,label\nviolet,cat\n", ["--id=colour"], "does not hold"),
        ("colour,label\nred,cat\n", ["--id=colour"], "Make it unique"),
        ("", [], "is empty"),
    ],
)
@pytest.mark.parametrize("command", LEARNERS)
def test_decisions_about_no_row_or_several(folder, command, lines, options, message):
    table = written(folder / "table.csv", three_clouds())
    decisions = folder / "decisions.csv"
    decisions.write_text(lines)
    said = refused(command, folder, table, f"--decisions={decisions}", *options)
    assert message in said


@pytest.mark.parametrize("method", [QUICK, NETWORK, [*NETWORK, "--in-sample"]])
def test_two_rows_are_a_table(tmp_path, method):
    table = tmp_path / "table.csv"
    table.write_text("a,label\n1,cat\n2,dog\n")
    accepted("clean", table, f"--out={tmp_path / 'out.csv'}", *method)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3


def test_more_folds_than_rows_leave_no_unfinished_work(folder):
    table = written(folder / "table.csv", three_clouds())
    for command in LEARNERS:
        assert "61 folds" in refused(command, folder, table, "--ignore=truth", "--folds=61")


# More than Python may nest calls, and far more than fit a screen.
MANY = 1_200


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    """A table of many columns."""
    values = np.random.default_rng(0).normal(size=(6, MANY)).round(3)
    frame = pd.DataFrame(values, columns=[f"column {n}" for n in range(MANY)])
    return written(
        tmp_path_factory.mktemp("wide") / "wide.csv", frame.assign(label=["cat", "dog|cat"] * 3)
    )


def test_many_columns_are_a_table(wide):
    assert "6 rows" in accepted("audit", wide).out


@pytest.mark.slow
def test_many_columns_are_learned_from(tmp_path, wide):
    out, model = tmp_path / "out.csv", tmp_path / "model"
    accepted("clean", wide, f"--out={out}", "--method=plknn", "--in-sample")
    assert len(out.read_text().splitlines()) == 7
    accepted("fit", wide, f"--out={model}", "--method=plknn", "--folds=0")
    accepted("predict", model, wide, f"--out={out}")
    assert len(out.read_text().splitlines()) == 7


@pytest.mark.parametrize("command", READERS)
def test_errors_about_many_columns_fit_a_screen(folder, wide, command):
    assert "and 1,193 more" in refused(command, folder, wide, "--labels=lable")


@pytest.mark.parametrize("command", READERS)
def test_errors_about_endless_names_and_cells_fit_a_screen(folder, command):
    frame = three_clouds(6).drop(columns=["truth", "length"])
    frame = frame.rename(columns={"width": "w" * 5_000, "colour": "c " * 5_000})
    table = written(folder / "table.csv", frame.assign(label=["x" * 9_000 + ":nan"] * 6))
    refused(command, folder, table, "--labels=lable")
    refused(command, folder, table, "--ignore=" + "w" * 4_999)


@pytest.mark.parametrize("command", ["clean", "predict"])
def test_an_output_may_replace_its_input_if_that_is_said(folder, command):
    table = written(folder / "table.csv", three_clouds())
    before = table.read_text()
    words = [*words_of(command, folder, table, "--ignore=truth"), "--overwrite"]
    words = [f"--out={table}" if str(word).startswith("--out") else word for word in words]
    accepted(*words)
    lines = zip(table.read_text().splitlines(), before.splitlines(), strict=True)
    assert all(new.startswith(f"{old},") for new, old in lines)
    # The columns are there now.
    again = table.read_bytes()
    run = run_command_here(*words)
    check_manners(run, codes=(2,))
    assert "already has columns" in run.err
    assert table.read_bytes() == again


IMPOSSIBLE_PLACES = [
    "table.csv/out.csv",
    "/proc/none/out.csv",
    "/dev/null/out.csv",
    f"{'x' * 300}.csv",
]


@pytest.mark.parametrize("place", IMPOSSIBLE_PLACES, ids=lambda place: place[:12])
@pytest.mark.parametrize("command", ["fit", "clean", "predict"])
def test_an_output_that_cannot_be_there(folder, command, place):
    table = written(folder / "table.csv", three_clouds())
    words = words_of(command, folder, table, "--ignore=truth")
    words = [f"--out={folder / place}" if str(word).startswith("--out") else word for word in words]
    before = contents(folder)
    run = run_command_here(*words)
    check_manners(run, codes=(2,))
    assert contents(folder) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may write everywhere")
@pytest.mark.parametrize("command", ["fit", "clean", "predict"])
def test_an_output_that_may_not_be_there(folder, tmp_path, command):
    table = written(folder / "table.csv", three_clouds())
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    words = words_of(command, folder, table, "--ignore=truth")
    words = [
        f"--out={closed / 'x.csv'}" if str(word).startswith("--out") else word for word in words
    ]
    check_manners(run_command_here(*words), codes=(2,))
    assert list(closed.iterdir()) == []


def test_an_output_in_a_new_folder_makes_it(tmp_path):
    table = written(tmp_path / "table.csv", three_clouds())
    out = tmp_path / "new" / "folder" / "out.csv"
    accepted("clean", table, f"--out={out}", "--ignore=truth", *QUICK)
    assert {path.name for path in out.parent.iterdir()} == {"out.csv", "out.csv.details.json"}


def test_labels_that_a_console_has_no_characters_for_are_shown_all_the_same(tmp_path):
    table = written(tmp_path / "table.csv", as_labels(["猫", "dog", "猫|dog"] * 20))
    run = run_command_here("audit", table, encoding="ascii")
    assert run.code == 0, run.err
    assert "\\u732b" in run.out
