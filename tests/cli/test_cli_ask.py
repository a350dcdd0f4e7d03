"""What disambig ask prints and writes, for the review and for annotation tools."""

import json
from pathlib import Path

import pytest

from cli.command_runs import accepted, run_command_here
from cli.test_next_steps import next_commands
from disambig.tabular import read_cleaned, read_questions, read_table
from tabular.small_tables import three_clouds

QUICK = ("--method", "plknn", "--folds", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def clean() -> str:
    frame = three_clouds(90).assign(name=[f"n{row}" for row in range(90)])
    frame.to_csv("table.csv", index=False)
    accepted("clean", "table.csv", "--truth", "truth", "--id", "name", *QUICK, "--out", "clean.csv")
    # Rows whose true label is known are not asked about: without it, many are.
    accepted(
        "clean", "table.csv", "--ignore", "truth", "--id", "name", *QUICK, "--out", "clean.csv"
    )
    return "clean.csv"


def test_questions_for_the_review(clean: str) -> None:
    run = accepted("ask", clean, "--budget", "7")
    assert "7 questions, about " in run.err
    assert "expected errors would go" in run.err
    assert "The next 7 answers would change about" in run.err
    (review,) = next_commands(run)
    assert review == ["review", "clean.csv", "--queue", "clean.questions.jsonl"]
    rows = read_cleaned(read_table(clean), id="name")
    questions = read_questions("clean.questions.jsonl", rows)
    assert len(questions) == 7
    assert all(rows.candidates.sizes[each.row] > 1 for each in questions)
    line = json.loads(Path("clean.questions.jsonl").read_text().splitlines()[0])
    assert list(line) == ["row", "name", "question", "labels", "removes"]
    assert line["name"] == f"n{line['row'] - 1}"


def test_decisions_are_not_asked_about_again(clean: str) -> None:
    first = json.loads(accepted("ask", clean, "--budget", "5", "--json").out)
    assert not Path("clean.questions.jsonl").exists()
    lines = [
        json.dumps({"name": f"n{each['row'] - 1}", "label": each["labels"][0]})
        for each in first["asked"]
    ]
    Path("decided.jsonl").write_text("\n".join(lines))
    run = accepted("ask", clean, "--budget", "5", "--decisions", "decided.jsonl", "--json")
    again = json.loads(run.out)
    assert {each["row"] for each in again["asked"]}.isdisjoint(
        each["row"] for each in first["asked"]
    )
    assert again["expected_changes_so_far"] > 0
    run = accepted("ask", clean, "--decisions", "decided.jsonl", "--out", "more.jsonl")
    (review,) = next_commands(run)
    assert review[2:] == ["--queue", "more.jsonl", "--decisions", "decided.jsonl"]
    assert "So far" in run.err


def test_minutes_limit_the_questions(clean: str) -> None:
    found = json.loads(accepted("ask", clean, "--minutes", "0.5", "--json").out)
    assert 1 <= found["questions"] <= 7
    assert found["seconds"] <= 30


def test_tasks_carry_the_question(clean: str) -> None:
    run = accepted("ask", clean, "--budget", "4", "--to", "label-studio", "--out", "queue.json")
    tasks = json.loads(Path("queue.json").read_text())
    questions = json.loads(accepted("ask", clean, "--budget", "4", "--json").out)["asked"]
    assert [task["data"]["disambig_id"] for task in tasks] == [
        f"n{each['row'] - 1}" for each in questions
    ]
    for task, each in zip(tasks, questions, strict=True):
        assert task["data"]["disambig_candidates"].startswith(each["question"])
    assert Path("queue.json.config.xml").exists()
    (read,) = next_commands(run)
    assert read[:4] == ["import", "answers.json", "--from", "label-studio"]
    assert read[-4:] == ["--id", "name", "--out", "decisions.csv"]


def test_answers_of_a_tool_come_back_as_decisions(clean: str) -> None:
    accepted("ask", clean, "--budget", "3", "--to", "label-studio", "--out", "queue.json")
    tasks = json.loads(Path("queue.json").read_text())
    for number, task in enumerate(tasks):
        task["id"] = number
        task["annotations"] = [{"result": task.pop("predictions")[0]["result"], "id": number}]
    Path("answers.json").write_text(json.dumps(tasks))
    accepted(
        "import", "answers.json", "--from", "label-studio", "--decisions", "--id", "name",
        "--out", "decisions.csv",
    )  # fmt: skip
    found = json.loads(accepted("ask", clean, "--decisions", "decisions.csv", "--json").out)
    assert {each["row"] for each in found["asked"]}.isdisjoint(
        int(task["data"]["disambig_id"][1:]) + 1 for task in tasks
    )


def test_a_table_without_doubt_leaves_nothing_to_ask() -> None:
    Path("sure.csv").write_text(
        "chosen_label,confidence,margin,second_look,candidate_confidences\n"
        "cat,1,1,False,cat:1\ndog,1,1,False,dog:1\n"
    )
    run = accepted("ask", "sure.csv")
    assert "nothing left to ask" in run.err
    assert "Next" not in run.err
    assert not Path("sure.questions.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table.csv",), "has not been cleaned yet"),
        (("clean.csv", "--to", "label-studio"), "--out queue.json"),
        (("clean.csv", "--to", "label-studioo", "--out", "q.json"), "Did you mean"),
        (("clean.csv", "--out", "clean.csv"), "is the cleaned table"),
        (("clean.csv", "--out", "questions.csv"), "ends in .jsonl"),
        (("clean.csv", "--budget", "0"), "budget"),
        (("clean.csv", "--decisions", "none.csv"), "none.csv"),
        (("clean.csv", "--id", "nme"), "nme"),
    ],
)
def test_what_cannot_be_done_is_refused(clean: str, words: tuple[str, ...], message: str) -> None:
    before = Path(clean).read_bytes()
    run = run_command_here("ask", *words)
    assert run.code == 2
    assert message in run.err
    assert Path(clean).read_bytes() == before
