"""Every line of the guide on what people have, and what happens to it."""

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from cli.command_runs import accepted, written
from disambig.tabular import read_table
from disambig.tabular.columns.plan import plan_columns

GUIDE = (Path(__file__).parents[2] / "docs/own-file.md").read_text()
LABELS = ["cat|dog", "dog", "cat", "cat|fox", "fox"] * 4
FRAME = pd.DataFrame({"size": [n % 7 + 0.5 for n in range(20)], "label": LABELS})
CSV = FRAME.to_csv(index=False).encode()


def lines_of_guide(heading):
    """Return the cells of the table in the guide under a header, a row for each line."""
    table = GUIDE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in table.splitlines()[2:]]
    return [tuple(row) for row in rows]


def zipped(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("pets.csv", content)
    return stream.getvalue()


def zstandard(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


NAMED = FRAME.to_csv().encode()
BY_R = FRAME.to_csv(sep="\t").replace("\t", "", 1).encode()
SPACES = FRAME.to_csv(sep=" ", quoting=csv.QUOTE_NONNUMERIC).replace('"" ', "", 1).encode()
SEMICOLONS = FRAME.to_csv(index=False, sep=";", decimal=",").encode()
# The beginning of a line of the guide: files, and what is said of each.
FILES = {
    "a first column without a name": [("a.csv", NAMED, "'Unnamed: 0' (the first column, which ha")],
    "a header that is one name short": [("a.tsv", BY_R, "is taken to name the row, as R")],
    "spaces between cells and quotes": [("a.csv", SPACES, "is read as separated by ' '")],
    "`.json` with a list of objects": [
        ("a.json", FRAME.to_json(orient="records").encode(), None),
        ("b.json", FRAME.to_json().encode(), None),
        ("c.json", FRAME.to_json(orient="split").encode(), None),
        ("d.json", json.dumps({"data": FRAME.to_dict("records")}).encode(), None),
    ],
    "`.gz`, `.bz2`, `.xz`, `.zip` or `.zst` behind": [
        ("a.csv.gz", gzip.compress(CSV), None),
        ("a.csv.bz2", bz2.compress(CSV), None),
        ("a.csv.xz", lzma.compress(CSV), None),
        ("a.csv.zip", zipped(CSV), None),
        ("a.csv.zst", zstandard(CSV), None),
    ],
    "`;`, tabs or strokes between the cells": [
        ("a.csv", SEMICOLONS, "is read as separated by ';', into 2 columns"),
        ("b.csv", FRAME.to_csv(index=False, sep="\t").encode(), "is read as separated by"),
    ],
    "a first line `sep=;`": [("a.csv", b"sep=;\n" + SEMICOLONS, None)],
    "`;;;` behind the last column": [
        (
            "a.csv",
            SEMICOLONS.replace(b"\n", b";;\n") + b";;;\n" * 3,
            "Left out 2 columns and 3 rows at the end of",
        )
    ],
}


def case_of(line, cases):
    (found,) = [case for start, case in cases.items() if line.startswith(start)]
    return found


FILE_LINES = lines_of_guide("what people have | what happens")


def test_every_case_is_a_line_of_the_guide():
    assert len(FILE_LINES) == len(FILES)
    assert len(CELL_LINES) == len(CELLS)


@pytest.mark.filterwarnings("ignore:.*is read as separated by:UserWarning")  # the result, here
@pytest.mark.parametrize(("line", "_"), FILE_LINES)
def test_a_file_as_people_have_it_is_learned_from_at_once(line, _, tmp_path):
    for name, content, notice in case_of(line, FILES):
        path = tmp_path / name
        path.write_bytes(content)
        found = json.loads(accepted("audit", path, "--json").out)
        assert found["rows"] == 20
        assert found["features"] == {"number": ["size"]}, name
        assert notice is None or any(notice in said for said in found["notices"]), found["notices"]
        out = tmp_path / f"clean-{name}"
        words = ["clean", path, "--method=plknn", "--in-sample", f"--out={out}"]
        accepted(*words)
        cleaned = read_table(out)
        assert len(cleaned) == 20
        assert cleaned["size"].astype(str).str.replace(",", ".").astype(float).tolist() == list(
            FRAME["size"]
        )
        if name.startswith("a.csv") and ";" in line:
            assert out.read_bytes().startswith(b"size;label;chosen_label")


def test_a_packed_file_is_a_file_like_any_other(tmp_path):
    path, out = tmp_path / "pets.csv.gz", tmp_path / "clean.csv.gz"
    path.write_bytes(gzip.compress(CSV))
    accepted("clean", path, "--format=csv", "--method=plknn", "--in-sample", f"--out={out}")
    assert gzip.decompress(out.read_bytes()).startswith(b"size,label,chosen_label")
    assert {each.name for each in tmp_path.iterdir()} == {
        "pets.csv.gz",
        "clean.csv.gz",
        "clean.csv.gz.details.json",
    }
    audit = accepted("audit", path)
    assert "--out pets-clean.csv.gz" in f"{audit.out}{audit.err}"
    accepted("report", out, f"--out={tmp_path / 'page.html'}")


# The beginning of a line of the guide: cells of a column, and what it is, with a first value.
MORE = ["1,5", "2,25", "0,5"]
CELLS = {
    "`1,5` or `1.234,5` or `1 234,5`": [
        (["1,5", *MORE], "number", 1.5),
        (["1.234,5", *MORE], "number", 1234.5),
        (["1 234,5", *MORE], "number", 1234.5),
    ],
    "`1,234.5` or `1'234.5`": [
        (["1,234.5", "2"], "number", 1234.5),
        (["1'234.5", "2"], "number", 1234.5),
    ],
    "`1,234`, and nothing": [(["1,234", "5,678"], "number", 1234)],
    "`12 %`, `$1,200` or `3,50 €`": [
        (["12 %", "13 %"], "number", 12),
        (["$1,200", "$3"], "number", 1200),
        (["3,50 €", "1,25 €"], "number", 3.5),
    ],
    "`(1,200)`, `($5)` or `-$5`": [
        (["(1,200)", "5.5"], "number", -1200),
        (["($5)", "-$5", "$1"], "number", -5),
        (["-$5", "$1.50"], "number", -5),
    ],
    "`-`, `?`, `.`, `n.a.`, `#DIV/0!`": [
        (["1.5", "-", "?", ".", "n.a.", "#DIV/0!", "2"], "number", 1.5),
        (["1.5.2024", "-", "?", ".", "n.a.", "#DIV/0!", "2.5.2024"], "date", 19844),
    ],
    "`NA`, `N/A`, `NULL`, `None`, `NaN`, `#N/A`": [
        (["1.5", "NA", "N/A", "NULL", "None", "NaN", "#N/A", "2"], "number", 1.5),
        (["red", "NA", "N/A", "NULL", "None", "NaN", "#N/A", "red"], "category", "red"),
    ],
    "`TRUE` and `FALSE`": [
        (["TRUE", "FALSE"], "boolean", 1),
        (["yes", "No"], "boolean", 1),
        (["T", "f"], "boolean", 1),
    ],
    "`2013-06-14T08:00:00Z`": [
        (["2013-06-14T12:00:00Z", "2013-06-15T12:00:00Z"], "date", 15870.5),
        (["2013/06/14 12:00", "2013/06/15"], "date", 15870.5),
        (["14.06.2013 12:00", "15.06.2013"], "date", 15870.5),
        (["14 Jun 2013", "15 Jun 2013"], "date", 15870),
        (["June 14, 2013", "June 15, 2013"], "date", 15870),
        (["14-Jun-13", "15-Jun-13"], "date", 15870),
    ],
    "`06/14/2013 08:00 PM`": [
        (["06/14/2013 12:00 PM", "06/15/2013 01:00 AM"], "date", 15870.5),
        (["14/06/2013", "15/06/2013"], "date", 15870),
        (["01/02/2013", "03/04/2013"], "date", 15707),
    ],
    "`20130614`": [(["20130614", "20130617"], "number", 20130614)],
    "dates or numbers written in several ways": [
        (["1,5", "1.5", "1,5"], "category", "1,5"),
        (["14.06.2013", "2013-06-14", "14.06.2013"], "category", "14.06.2013"),
    ],
}
CELL_LINES = lines_of_guide("what people write | what is read")


@pytest.mark.parametrize(("line", "read_as"), CELL_LINES)
def test_cells_are_read_as_the_guide_says(line, read_as):
    for cells, kind, first in case_of(line, CELLS):
        plan, values, notices = plan_columns(pd.DataFrame({"x": cells}))
        assert plan.by_kind() == {kind: ["x"]}
        assert values.iloc[0, 0] == first
        missing = values.isna().iloc[:, 0].sum() if "gap" in read_as else 0
        assert missing == max(0, len(cells) - 2) * ("gap" in read_as)
        if read_as.endswith("you are told") and "where" not in read_as:
            ambiguous = "above 12" not in read_as or cells[0] == "01/02/2013"
            assert bool(notices) == ambiguous


@pytest.mark.parametrize(
    ("typed", "sign"), [(r"\n", "\n"), (r"\t", "\t"), ("\t", "\t"), ("/", "/")]
)
def test_labels_are_split_at_a_separator_as_a_shell_passes_it_on(typed, sign, tmp_path):
    frame = FRAME.assign(label=[label.replace("|", sign) for label in LABELS])
    found = json.loads(
        accepted("audit", written(tmp_path / "a.csv", frame), "--separator", typed, "--json").out
    )
    assert [each["label"] for each in found["labels"]] == ["cat", "dog", "fox"]


def test_the_decimal_sign_can_be_given_to_every_command(tmp_path):
    frame = FRAME.assign(size=[f"{n % 7 + 1},{n * 37 % 900 + 100}" for n in range(20)])
    path, model = written(tmp_path / "pets.csv", frame), tmp_path / "model"
    said = accepted("audit", path).out
    assert "can be between thousands or before decimals" in said.replace("\n", " ")
    for words in (
        ["audit", path],
        ["fit", path, "--method=plknn", "--folds=0", f"--out={model}"],
        ["clean", path, "--method=plknn", "--in-sample", f"--out={tmp_path / 'clean.csv'}"],
    ):
        run = accepted(*words, "--decimal=,")
        assert "like 1.234,5" in f"{run.out}{run.err}"
    plan = json.loads((model / "model.json").read_text())["plan"]
    assert plan["columns"][0]["number_format"] == "1.234,5"
    accepted("predict", model, path, f"--out={tmp_path / 'predicted.csv'}")
