import json
import re
from pathlib import Path

import pandas as pd
import pytest

from cli.command_runs import accepted, run_command_here
from disambig import read_table
from tabular.on_disk_tables import many_kinds, write_parts

pytest.importorskip("pyarrow.parquet")

TRAINING = ["--truth", "truth", "--set", "epochs=2", "--set", "hidden=16", "--jobs", "1"]
ON_DISK = ["--memory", "10KB"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a table as three files."""
    return str(write_parts(many_kinds(240), tmp_path_factory.mktemp("tables") / "parts"))


def test_a_folder_too_large_for_its_memory_is_audited_as_any_table(parts: str) -> None:
    said = [
        json.loads(accepted("audit", parts, "--truth", "truth", "--json", *options).out)
        for options in ([], ON_DISK, ["--max-memory", "10KB"])
    ]
    assert said[0] == said[1] == said[2]
    shown = accepted("audit", parts, *ON_DISK).err
    assert re.search(r"disambig clean \S+ .*--memory 10KB.*--out parts-clean\.parquet", shown)


def test_fit_predict_clean_and_report_give_the_same_from_disk(parts: str, tmp_path: Path) -> None:
    for name, options in (("memory", ["--method", "ncpd"]), ("disk", ON_DISK)):
        folder = tmp_path / name
        folder.mkdir()
        learning = [*TRAINING, *options]
        fit = accepted("fit", parts, "--out", folder / "model", "--folds", "0", *learning)
        assert ("the method is ncpd" in fit.err) == (name == "disk")
        memory = ON_DISK if name == "disk" else []
        predicted = ["--out", folder / "predicted.parquet", "--top", "2", "--json", *memory]
        assert (
            json.loads(accepted("predict", folder / "model", parts, *predicted).out)["rows"] == 240
        )
        accepted("clean", parts, "--in-sample", "--out", folder / "clean.parquet", *learning)
        accepted("report", folder / "clean.parquet", "--out", folder / "page.html", *memory)
    for file in ("predicted.parquet", "clean.parquet"):
        one, other = (read_table(tmp_path / name / file) for name in ("memory", "disk"))
        pd.testing.assert_frame_equal(one, other, atol=1e-4)
    pages = [(tmp_path / name / "page.html").read_text() for name in ("memory", "disk")]
    answers = [re.findall(r"<h2.*?</section>", page, re.DOTALL)[0] for page in pages]
    assert answers[0] == answers[1]


def test_what_needs_all_rows_in_memory_says_how_to_get_them(parts: str, tmp_path: Path) -> None:
    out = tmp_path / "predicted.parquet"
    accepted("fit", parts, "--out", tmp_path / "model", "--folds", "0", *TRAINING, *ON_DISK)
    for words, told in (
        (["fit", parts, "--out", tmp_path / "knn", "--method", "plknn"], "plknn needs all rows"),
        (["predict", tmp_path / "model", parts, "--out", out, "--labels", "label", "--group",
          "few"], "--group needs all rows in memory"),
        (["predict", tmp_path / "model", parts, "--out", tmp_path / "a.xlsx"], "csv, tsv, jsonl"),
        (["clean", parts, "--out", tmp_path / "a.json"], "csv, tsv, jsonl or parquet"),
    ):  # fmt: skip
        run = run_command_here(*words, *ON_DISK)
        assert run.code == 2
        assert told in run.err
    assert not out.exists()


def test_a_result_is_not_written_into_the_folder_that_is_read(parts: str) -> None:
    run = run_command_here("clean", parts, "--out", Path(parts, "clean.parquet"), *TRAINING)
    assert run.code == 2
    assert "is in the folder that is read" in run.err


def test_a_large_csv_keeps_its_cells_and_delimiter(tmp_path: Path) -> None:
    path, out = tmp_path / "table.csv", tmp_path / "clean.csv"
    many_kinds(120).to_csv(path, sep=";", index=False)
    clean = ["clean", path, "--in-sample", "--method", "ncpd", *TRAINING, "--out"]
    accepted(*clean, out, *ON_DISK)
    accepted(*clean, tmp_path / "memory.csv")
    lines = out.read_text().splitlines()
    assert lines[0].startswith("mean;tail;zero;")
    cleaned, expected = read_table(out), read_table(tmp_path / "memory.csv")
    given = list(many_kinds(1).columns)
    pd.testing.assert_frame_equal(cleaned[given], expected[given])
    assert cleaned["chosen_label"].tolist() == expected["chosen_label"].tolist()
