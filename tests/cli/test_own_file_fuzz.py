"""Whatever a table holds and however a file is damaged: the right number of rows, or a message."""

import csv
import dataclasses
import io
import json
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cli.command_runs import Run, check_manners, contents, run_command_here
from cli.generated_tables import TEXT_FORMATS, GeneratedTable, damages, tables
from disambig import read_table
from disambig.tabular.clean_details import details_path, read_details
from disambig.tabular.cleaned_table import read_cleaned
from disambig.tabular.table_cells import CLEAN_COLUMNS, MISS_COLUMNS
from disambig.web.table_report import table_page

TINY_NETWORK = ["--method=ncpd", "--set=epochs=2", "--set=ramp_epochs=1", "--set=hidden=4"]
methods = st.sampled_from(
    [
        ["--method=plknn", "--set=n_neighbors=1"],
        ["--method=plknn", "--set=n_neighbors=2"],
        ["--method=plknn", "--set=n_neighbors=1"],
        ["--method=plknn"],
        ["--method=ncpd", *TINY_NETWORK],
        ["--method=em", "--set=max_iter=2"],
        ["--method=sure", "--set=max_iter=2"],
        ["--method=average"],
    ]
)
any_tables = st.one_of(tables(), tables(sound=True))
OLD = b"an older result\n"


@contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def run_politely(*words: object) -> Run:
    """Run a command that may fail, if it says why and has changed nothing."""
    run = run_command_here(*words)
    # Work may fail on numbers that a method cannot take.
    check_manners(run, codes=(0, 1, 2) if "diverged" in run.err else (0, 2))
    event(f"{words[0]} ends with {run.code}")
    return run


def rows_in(path: Path) -> int:
    """How many rows Python itself finds in a result."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as stream:
            return sum(1 for _ in csv.reader(stream)) - 1
    return path.read_bytes().count(b"\n")


def rows_as_read(path: Path, table: GeneratedTable) -> int:
    """Rows that a file has: as generated, but for rows of a sheet with nothing in any cell.

    In a text file these are left out at the end.
    """
    if table.format in TEXT_FORMATS:
        return len(table.texts_as_read())
    if table.format != "xlsx":
        return table.n_rows
    return sum(any(cell not in ("", None) for cell in row) for row in table.texts())


@st.composite
def clean_options(draw):
    options = draw(methods) + draw(st.sampled_from([["--folds=2"], ["--folds=3"], ["--in-sample"]]))
    return options + draw(
        st.sampled_from([[], [], ["--prefix=x "], ["--errors-to-find=0"], ["--json"]])
    )


@settings(max_examples=40)
@given(any_tables, clean_options(), st.booleans())
def test_clean_gives_back_every_row_and_cell_or_changes_nothing(table, options, older):
    with new_folder() as folder:
        path, out = table.write(folder), folder / "out.csv"
        if older:
            out.write_bytes(OLD)
        before = contents(folder)
        run = run_politely("clean", path, f"--out={out}", *table.options, *options)
        if run.code:
            assert contents(folder) == before
            return
        assert contents(folder).keys() == {*before, "out.csv", "out.csv.details.json"}
        if "--json" in options:
            assert json.loads(run.out)["rows"] == rows_in(out)
        assert rows_in(out) == rows_as_read(path, table)
        check_cleaned(table, out)
        check_read_back(table, out)


def check_cleaned(table: GeneratedTable, out: Path) -> None:
    with out.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    width = len(table.columns)
    # Excel knows no control characters.
    assert header[:width] == list(table.columns) or table.format == "xlsx"
    added = [name.removeprefix("x ") for name in header[width:]]
    # Models that have seen the row cannot say whether its set misses the label.
    assert added in ([*CLEAN_COLUMNS, *MISS_COLUMNS], list(CLEAN_COLUMNS))
    for row in rows:
        assert 0 <= float(row[width + 2]) <= float(row[width + 1]) <= 1
    if table.format in TEXT_FORMATS:
        assert [row[:width] for row in rows] == table.texts_as_read()
    if table.format != "xlsx":
        for row, members in zip(rows, table.sets[: len(rows)], strict=True):
            assert members is None or row[width] in members


def check_read_back(table: GeneratedTable, out: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the details belong to the table
        rows = read_cleaned(read_table(out), read_details(details_path(out)))
    assert len(rows.candidates) == rows_in(out)
    assert list(rows.values.columns) == list(table.columns) or table.format == "xlsx"
    assert "doubtful" in table_page(rows, title="Any table")
    if table.format != "xlsx":
        sets = table.sets[: rows_in(out)]
        for own, members in zip(rows.candidates.to_sets(), sets, strict=True):
            assert members is None or set(own) == members


@settings(max_examples=40)
@given(tables(), st.booleans(), st.booleans())
def test_audit_says_something_about_any_table(table, as_json, ignore_all):
    with new_folder() as folder:
        path = table.write(folder)
        before = contents(folder)
        options = [f"--ignore={name}" for name in table.columns] * ignore_all
        run = run_politely("audit", path, *table.options, *options, *["--json"] * as_json)
        assert contents(folder) == before
        if run.code == 0 and as_json:
            assert json.loads(run.out)["rows"] == rows_as_read(path, table)


@st.composite
def changes(draw):
    """What may be different in a table to predict: a function from table to table."""
    what = draw(
        st.sampled_from(["nothing", "order", "drop", "category", "texts", "numbers", "huge", "add"])
    )
    seed = draw(st.integers(0, 5))
    kind = draw(st.sampled_from(["csv", "jsonl", "json", "parquet", "xlsx", "csv.gz"]))

    def change(table: GeneratedTable) -> GeneratedTable:
        names = list(table.columns)
        chosen = names[seed % len(names)]
        columns = dict(table.columns)
        match what:
            case "order":
                columns = {name: columns[name] for name in reversed(names)}
            case "drop":
                del columns[chosen]
            case "category":
                columns[chosen] = ["never seen"] * table.n_rows
            case "texts":
                columns = {name: list(map(str, cells)) for name, cells in columns.items()}
            case "numbers":
                columns[chosen] = [float(number) for number in range(table.n_rows)]
            case "huge":
                columns[chosen] = [1e300] * table.n_rows
            case "add":
                columns["predicted_label" if seed else "another"] = ["x"] * table.n_rows
        return dataclasses.replace(table, columns=columns, format=kind)

    return change


@settings(max_examples=20)  # three commands each, with a model that is saved and read twice
@given(any_tables, methods, st.sampled_from([0, 0, 2]), changes(), st.integers(1, 3))
def test_a_model_predicts_every_row_or_says_which_column_is_wrong(
    table, method, folds, change, top
):
    with new_folder() as folder:
        path, model = table.write(folder), folder / "model"
        before = contents(folder)
        words = ["fit", path, f"--out={model}", *table.options, *method, f"--folds={folds}"]
        fitted = run_politely(*words, "--json")
        if fitted.code:
            assert contents(folder) == before
            return
        labels = json.loads(fitted.out)["labels"]
        assert not [name for name in contents(folder) if "partial" in name or name[0] == "."]
        check_prediction(folder, path, rows_as_read(path, table), labels, top, must=True)
        changed = change(table)
        other = changed.write(folder, "other")
        check_prediction(folder, other, rows_as_read(other, changed), labels, top)


def check_prediction(
    folder: Path, path: Path, n_rows: int, labels: list[str], top: int, must: bool = False
) -> None:
    out = folder / "predicted.jsonl"
    out.write_bytes(OLD)
    before = contents(folder)
    run = run_politely("predict", folder / "model", path, f"--out={out}", f"--top={top}", "--json")
    if run.code:
        assert contents(folder) == before
        assert "olumn" in run.err or not n_rows
        assert not must or "already has columns" in run.err, run.err
        return
    assert contents(folder).keys() == before.keys()
    assert json.loads(run.out)["rows"] == n_rows
    predictions = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(predictions) == n_rows
    for row in predictions:
        assert row["predicted_label"] in labels
        assert 0 <= row["probability"] <= 1


@settings(max_examples=40)
@given(tables(sound=True), damages(), st.sampled_from(["audit", "clean", "clean"]))
def test_a_damaged_file_is_read_or_refused(table, damage, command):
    with new_folder() as folder:
        path, out = table.write(folder), folder / "out.jsonl"
        path.write_bytes(damage(path.read_bytes()))
        out.write_bytes(OLD)
        before = contents(folder)
        words = [command, path, *table.options]
        if command == "clean":
            words += [f"--out={out}", "--method=plknn", "--set=n_neighbors=1", "--folds=2"]
        run = run_politely(*words)
        if run.code or command == "audit":
            assert contents(folder) == before
        else:
            assert contents(folder).keys() == {*before, "out.jsonl.details.json"}
            assert rows_in(out) == len(read_table(path))


@settings(max_examples=40)
@given(tables(sound=True), damages(), st.sampled_from(["latin-1", "utf-16", "cp1252", "utf-7"]))
def test_a_damaged_text_file_in_any_encoding_keeps_its_cells(table, damage, encoding):
    table = dataclasses.replace(table, format="csv")
    with new_folder() as folder:
        path, out = table.write(folder), folder / "out.csv"
        path.write_bytes(damage(path.read_bytes()))
        words = ["clean", path, *table.options, f"--out={out}", f"--encoding={encoding}"]
        run = run_politely(*words, "--method=plknn", "--set=n_neighbors=1", "--in-sample")
        if run.code:
            assert contents(folder).keys() == {path.name}
            return
        read = read_table(path, encoding=encoding)
        again = read_table(out)[list(read.columns)]
        pd.testing.assert_frame_equal(again, read)


def test_standard_streams_take_the_same_way():
    table = "a,b,label\n1,2,cat|dog\n2,1,cat\n3,3,dog\n"
    words = ["clean", "-", "--out=-", "--method=plknn", "--set=n_neighbors=1", "--folds=2"]
    run = run_command_here(*words, standard_input=table.encode())
    assert run.code == 0
    assert [row[:3] for row in csv.reader(io.StringIO(run.out))] == [
        line.split(",") for line in table.splitlines()
    ]
