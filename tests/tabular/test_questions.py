"""Questions about rows, written and read back; files that hold something else."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.cleaned_table import CleanedTable, read_cleaned
from disambig.tabular.questions import Question, read_questions, write_questions

CLEANED = pd.DataFrame(
    {
        "photo": ["p1", "p2", "3"],
        "chosen_label": ["cat", "dog", "a\nfox é"],
        "confidence": ["0.7", "1", "0.5"],
        "margin": ["0.4", "1", "0.2"],
        "second_look": ["True", "False", "True"],
        "candidate_confidences": ["cat:0.7|dog:0.3", "dog:1", "cat:0.2|dog:0.3|a\nfox é:0.5"],
    }
)
QUESTIONS = [Question(2, ("a\nfox é", "dog", "cat"), 1 / 3), Question(0, ("cat",), 0.25)]


def cleaned(id: str | None = None, **columns: object) -> CleanedTable:
    return read_cleaned(CLEANED.assign(**columns), id=id)


def kept(folder: Path, *lines: str) -> Path:
    """Write a file of questions by hand."""
    path = folder / "questions.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_question_in_words():
    assert Question(0, ("cat",), 1).text == "is it cat?"
    assert Question(0, ("cat", "dog"), 1).text == "cat or dog?"
    assert Question(0, ("cat", "dog", "fox"), 1).text == "cat, dog or fox?"
    # Labels come from files: no line ends, no control characters, no endless ones.
    text = Question(0, ("a\nfox", "\x1b[31m", "x" * 500), 1).text
    assert text.isprintable()
    assert len(text) < 100
    assert text.startswith(r"a\nfox, \x1b[31m or xxx")


def test_a_file_holds_a_question_a_line_with_rows_counted_from_1(tmp_path):
    path = tmp_path / "folder" / "questions.jsonl"
    write_questions(QUESTIONS, path, cleaned(id="photo"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {
            "row": 3,
            "photo": "3",
            "question": r"a\nfox é, dog or cat?",
            "labels": ["a\nfox é", "dog", "cat"],
            "removes": 0.3333,
        },
        {"row": 1, "photo": "p1", "question": "is it cat?", "labels": ["cat"], "removes": 0.25},
    ]


@pytest.mark.parametrize("id", [None, "photo"])
def test_questions_come_back_in_their_order(tmp_path, id):
    path = tmp_path / "questions.jsonl"
    write_questions(QUESTIONS, path, cleaned(id))
    read = read_questions(path, cleaned(id))
    assert [(each.row, each.labels) for each in read] == [
        (each.row, each.labels) for each in QUESTIONS
    ]
    assert [each.removes for each in read] == pytest.approx([1 / 3, 0.25], rel=1e-3)


def test_names_find_rows_in_a_table_of_another_order(tmp_path):
    path = tmp_path / "questions.jsonl"
    write_questions(QUESTIONS, path, cleaned("photo"))
    turned = read_cleaned(CLEANED.iloc[::-1].reset_index(drop=True), id="photo")
    assert [each.row for each in read_questions(path, turned)] == [0, 2]


def test_a_column_of_names_may_be_called_row(tmp_path):
    path = tmp_path / "questions.jsonl"
    rows = cleaned("row", row=["3", "1", "2"])
    write_questions(QUESTIONS, path, rows)
    assert [each.row for each in read_questions(path, rows)] == [2, 0]


def test_numbers_serve_where_a_file_knows_no_names(tmp_path):
    path = kept(tmp_path, '{"row": 2, "labels": ["dog"]}', "", '{"row": "1.0", "labels": ["dog"]}')
    numbered = read_questions(path, cleaned("photo"))
    assert numbered == [Question(1, ("dog",), 0.0), Question(0, ("dog",), 0.0)]


def test_a_lone_half_of_a_character_does_not_stop_the_writing(tmp_path):
    path = tmp_path / "questions.jsonl"
    rows = cleaned("photo", photo=pd.Series(["\ud800", "p2", "p3"], dtype=object))
    write_questions([QUESTIONS[1]], path, rows)
    assert read_questions(path, rows)[0].row == 0


GOOD = '{"row": 1, "labels": ["dog"], "removes": 1}'
WRONG = {
    "": "It is empty",
    "label,row": "it is not JSON",
    "[1]": "not a JSON object",
    '{"row": 1, "row": 2, "labels": ["dog"]}': "'row' is there twice",
    '{"labels": ["dog"]}': "'row' must say which row",
    '{"row": [1], "labels": ["dog"]}': "'row' must say which row",
    '{"row": 0, "labels": ["dog"]}': "rows 1 to 3 .* is about row '0'",
    '{"row": 4, "labels": ["dog"]}': "rows 1 to 3 .* is about row '4'",
    '{"row": true, "labels": ["dog"]}': "about row 'True'",
    '{"row": 99999999999999999999999, "labels": ["dog"]}': "rows 1 to 3",
    '{"row": 1}': "'labels' must list different labels",
    '{"row": 1, "labels": "dog"}': "'labels' must list",
    '{"row": 1, "labels": []}': "'labels' must list",
    '{"row": 1, "labels": [7]}': "'labels' must list",
    '{"row": 1, "labels": ["dog", "dog"]}': "'labels' must list different",
    '{"row": 1, "labels": ["dgo"]}': "asks about 'dgo'.*Did you mean 'dog'",
    '{"row": 1, "labels": ["dog"], "removes": -1}': "'removes' must be a number",
    '{"row": 1, "labels": ["dog"], "removes": "1"}': "'removes' must be a number",
    '{"row": 1, "labels": ["dog"], "removes": NaN}': "'removes' must be a number",
    '{"row": 1, "labels": ["dog"], "removes": true}': "'removes' must be a number",
    "[" * 100_000: "Line 1 of",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_not_a_question_is_refused(tmp_path, line):
    with pytest.raises(TableError, match=WRONG[line]):
        read_questions(kept(tmp_path, line), cleaned())


def test_an_error_names_the_line(tmp_path):
    path = kept(tmp_path, GOOD, "", "nonsense")
    with pytest.raises(TableError, match=re.escape(f"Line 3 of {path}")):
        read_questions(path, cleaned())


def test_a_row_is_asked_about_once(tmp_path):
    with pytest.raises(TableError, match="Line 2 .* is about row 1, as is line 1"):
        read_questions(kept(tmp_path, GOOD, GOOD), cleaned())


def test_a_name_that_the_table_does_not_hold_is_refused(tmp_path):
    line = '{"row": 1, "photo": "p11", "labels": ["dog"]}'
    with pytest.raises(TableError, match="'p11', which column 'photo'.*Did you mean 'p1'"):
        read_questions(kept(tmp_path, line), cleaned("photo"))


def test_names_must_not_stand_where_a_field_of_the_file_does(tmp_path):
    rows = cleaned("labels", labels=["a", "b", "c"])
    with pytest.raises(ParameterError, match="'labels' of its own"):
        write_questions(QUESTIONS, tmp_path / "questions.jsonl", rows)


def test_a_folder_is_neither_read_nor_written(tmp_path):
    with pytest.raises(TableError, match="should hold questions: it is not a file"):
        read_questions(tmp_path, cleaned())
    with pytest.raises(TableError, match="cannot be written"):
        write_questions(QUESTIONS, tmp_path, cleaned())
