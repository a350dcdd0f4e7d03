"""Texts that a spreadsheet would run are kept from it, on request, and nothing else is changed."""

import openpyxl
import pandas as pd
import pytest

from cli.command_runs import accepted, written
from disambig._core.errors import TableError
from disambig.tabular.files.formats import read_table, write_table

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "=",
    "-",
    "-1-1",
    "--1",
    "=1,2",
]
HARMLESS = ["-5", "+3.25", "-1,5", "-1.5e-7", "+5%", "1=1", "a-b", "", "'=1", " =1", "-.5", "ü@"]


@pytest.mark.parametrize("kind", ["str", object, "category"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_formulas_get_an_apostrophe_and_numbers_do_not(tmp_path, suffix, kind):
    cells = pd.Series([*FORMULAS, *HARMLESS], dtype=kind)
    frame = pd.DataFrame({"text": cells, "=name": range(len(cells)), "x": -1.5})
    write_table(frame, tmp_path / f"safe.{suffix}", excel_safe=True)
    back = read_table(tmp_path / f"safe.{suffix}")
    assert list(back.columns) == ["text", "'=name", "x"]
    assert back["text"].tolist() == [*(f"'{cell}" for cell in FORMULAS), *HARMLESS]
    assert set(back["x"]) == {"-1.5"}
    write_table(frame, tmp_path / f"plain.{suffix}")
    assert read_table(tmp_path / f"plain.{suffix}")["text"].tolist() == cells.tolist()


@pytest.mark.parametrize("suffix", ["xlsx", "jsonl", "parquet"])
def test_in_other_formats_no_text_is_a_formula(tmp_path, suffix):
    frame = pd.DataFrame({"text": FORMULAS})
    write_table(frame, tmp_path / f"safe.{suffix}", excel_safe=True)
    assert read_table(tmp_path / f"safe.{suffix}")["text"].tolist() == FORMULAS
    if suffix == "xlsx":
        sheet = openpyxl.load_workbook(tmp_path / "safe.xlsx").worksheets[0]
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} == {"s"}


def test_gaps_lists_and_other_columns_stay(tmp_path):
    frame = pd.DataFrame({"mixed": ["=1", None, ["=1"], -2], "flag": [True, False, True, True]})
    write_table(frame, tmp_path / "safe.csv", excel_safe=True)
    back = read_table(tmp_path / "safe.csv")
    assert back["mixed"].tolist() == ["'=1", "", '["=1"]', "-2"]
    assert back["flag"].tolist() == ["True", "False", "True", "True"]


def test_names_that_would_become_the_same_are_refused(tmp_path):
    frame = pd.DataFrame({"=x": [1], "'=x": [2]})
    with pytest.raises(TableError, match="both called"):
        write_table(frame, tmp_path / "safe.csv", excel_safe=True)
    assert list(tmp_path.iterdir()) == []


def test_clean_and_predict_write_tables_for_a_spreadsheet(tmp_path):
    labels = ["=cat|dog", "dog", "=cat", "dog|=cat"] * 5
    sizes = [number % 2 + number / 100 for number in range(20)]
    frame = pd.DataFrame({"size": sizes, "note": "@x", "label": labels})
    table = written(tmp_path / "table.csv", frame)
    learn = ("--method", "plknn", "--set", "n_neighbors=3", "--ignore", "note")
    clean, model, out = (tmp_path / name for name in ("clean.csv", "model", "out.csv"))
    accepted("clean", table, *learn, "--in-sample", "--excel-safe", "--out", clean)
    cleaned = read_table(clean)
    assert set(cleaned["note"]) == {"'@x"}
    assert set(cleaned["chosen_label"]) <= {"'=cat", "dog"}
    accepted("fit", table, *learn, "--out", model)
    accepted("predict", model, table, "--excel-safe", "--out", out)
    assert set(read_table(out)["predicted_label"]) == {"'=cat", "dog"}
