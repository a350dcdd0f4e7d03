"""Exports of annotation tools are input of every command, and queues go back to the tools."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.command_runs import accepted, run_command_here
from cli.test_next_steps import next_commands
from disambig.tabular import read_table
from tabular.exchange.exports import EXPORTS, annotation, choice

QUICK = ("--method", "plknn", "--folds", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prodigy_export(path: str, n_tasks: int = 60) -> None:
    """Write answers to tasks whose size tells the label, two choices in every fourth one."""
    random = np.random.default_rng(0)
    lines = []
    for number in range(n_tasks):
        label = ("cat", "dog", "cow")[number % 3]
        size = {"cat": 4, "dog": 20, "cow": 600}[label] * random.uniform(0.8, 1.2)
        accepted_labels = [label, "dog" if label != "dog" else "cat"][: 1 + (number % 4 == 0)]
        lines.append(
            {
                "text": f"animal {number}",
                "size": size,
                "options": [{"id": name} for name in ("cat", "dog", "cow")],
                "accept": accepted_labels,
                "answer": "ignore" if number == 5 else "accept",
                "_input_hash": number,
                "_task_hash": -number,
                "_annotator_id": "pets-ann",
            }
        )
    Path(path).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


@pytest.mark.parametrize("form", sorted(EXPORTS))
def test_import_says_what_it_read_and_how_the_table_is_read(form: tuple[str, str]) -> None:
    Path("export").write_text(EXPORTS[form], encoding="utf-8")
    run = accepted("import", "export", "--out", "table.csv")
    assert "answer" in run.err
    audit, fit = next_commands(run)
    assert audit[:2] == ["audit", "table.csv"]
    assert fit[0] == "fit"
    # The options that it names read the table.
    again = run_command_here(*audit)
    assert again.code == 0 or "at least two labels" in again.err


def test_an_export_needs_no_import() -> None:
    prodigy_export("answers.jsonl")
    accepted("import", "answers.jsonl", "--out", "table.csv")
    assert list(read_table("table.csv").columns) == ["item", "text", "size", "label"]
    run = accepted("fit", "answers.jsonl", *QUICK, "--empty", "all", "--out", "model")
    assert "was recognised as an export of Prodigy" in run.err
    features = json.loads(Path("model", "model.json").read_text(encoding="utf-8"))
    assert "_hash" not in json.dumps(features)
    # The same model as from the table.
    accepted("fit", "table.csv", "--id", "item", *QUICK, "--empty", "all", "--out", "other")
    for model, file in (("model", "answers.jsonl"), ("other", "table.csv")):
        accepted("predict", model, file, "--out", f"{model}.csv")
    first, second = (read_table(f"{name}.csv")["predicted_label"] for name in ("model", "other"))
    assert first.tolist() == second.tolist()


def test_a_packed_export_is_recognised_too() -> None:
    prodigy_export("answers.jsonl")
    Path("answers.jsonl.gz").write_bytes(gzip.compress(Path("answers.jsonl").read_bytes()))
    run = accepted("audit", "answers.jsonl.gz", "--empty", "all")
    assert "export of Prodigy" in run.err
    accepted("import", "answers.jsonl.gz", "--out", "table.csv")
    assert len(read_table("table.csv")) == 60


def test_items_that_nobody_answered_may_have_any_label_unless_somebody_says_otherwise() -> None:
    prodigy_export("answers.jsonl")  # one task was ignored
    clean = ("clean", "answers.jsonl", *QUICK, "--out", "clean.csv")
    run = accepted(*clean)
    assert "1 item without an answer may have any label." in run.err
    of_ignored = read_table("clean.csv").set_index("item").loc["5", "candidate_confidences"]
    assert of_ignored.count(":") == 3
    assert "may have any label" not in accepted(*clean, "--empty", "all").err
    run = run_command_here(*clean, "--empty", "refuse")
    assert run.code == 2
    assert "There is none in row 6" in run.err


def test_of_two_people_too_items_that_nobody_answered_may_have_any_label() -> None:
    Path("export.json").write_text(EXPORTS["label-studio", "json"], encoding="utf-8")
    run = accepted("audit", "export.json")
    assert "2 items without an answer may have any label." in run.err


def test_an_export_in_which_nobody_has_answered_is_refused() -> None:
    tasks = [{"id": number, "data": {"size": number}, "annotations": []} for number in range(3)]
    Path("export.json").write_text(json.dumps(tasks), encoding="utf-8")
    run = run_command_here("fit", "export.json", "--out", "model")
    assert run.code == 2
    assert "Nobody has answered yet: none of 3 items has a label." in run.err
    assert "any label" not in run.err


def test_an_export_with_nothing_but_known_answers_says_how_to_learn_from_them() -> None:
    tasks = [
        {
            "id": number,
            "data": {"size": number / 7},
            "annotations": [annotation(choice("cat" if number % 2 else "dog"), ground_truth=True)],
        }
        for number in range(9)
    ]
    Path("export.json").write_text(json.dumps(tasks), encoding="utf-8")
    run = run_command_here("audit", "export.json")
    assert run.code == 2
    assert "There are only known answers" in run.err
    assert "--labels truth" in run.err
    accepted("import", "export.json", "--out", "table.csv")
    assert "cat" in accepted("audit", "table.csv", "--labels", "truth").out


def test_decisions_by_row_numbers_want_no_id() -> None:
    frame = pd.DataFrame({"key": [1, 1, 2], "size": [1.5, 2, 3], "label": ["a", "a|b", "b"]})
    frame.to_csv("table.csv", index=False)
    pd.DataFrame({"row": [2], "label": ["b"]}).to_csv("decisions.csv", index=False)
    clean = ("clean", "table.csv", "--out", "clean.csv", "--decisions", "decisions.csv")
    run = run_command_here(*clean, "--id", "key")
    assert run.code == 2
    assert "These decisions go by row numbers: leave out --id" in run.err


def test_an_export_in_a_pipe_needs_its_name() -> None:
    prodigy_export("answers.jsonl")
    content = Path("answers.jsonl").read_bytes()
    words = ("audit", "-", "--empty", "all")
    run = run_command_here(*words, "--format", "prodigy", standard_input=content)
    assert run.code == 0
    run = run_command_here("audit", "-", standard_input=EXPORTS["mturk", "csv"].encode())
    assert run.code == 2
    assert "--format mturk" in run.err


def test_from_an_export_over_the_queue_and_its_answers_to_clean_labels() -> None:
    prodigy_export("answers.jsonl")
    clean = ("clean", "answers.jsonl", *QUICK, "--empty", "all", "--out", "clean.csv")
    accepted(*clean)
    run = accepted(
        "export", "clean.csv", "--to", "prodigy", "--all", "--rows", "4", "--out", "queue.jsonl"
    )
    assert "4 rows for Prodigy, the most doubtful first." in run.err
    tasks = [json.loads(line) for line in Path("queue.jsonl").read_text().splitlines()]
    cleaned = read_table("clean.csv").set_index("item")
    doubt = 1 - cleaned["confidence"].astype(float)
    assert tasks[0]["item"] == doubt.idxmax()
    for number, task in enumerate(tasks):
        task |= {"answer": "accept", "accept": ["cow"], "_input_hash": number}
        task |= {"_task_hash": number, "_annotator_id": "queue-bob"}
    Path("answers").mkdir()
    Path("decided.jsonl").write_text("\n".join(map(json.dumps, tasks)), encoding="utf-8")
    ((_, _, *rest),) = next_commands(run)
    accepted("import", "decided.jsonl", *rest)
    Path("one.jsonl").write_text(json.dumps(tasks[0]), encoding="utf-8")
    one = accepted("import", "one.jsonl", *(word.replace("decisions.", "one.") for word in rest))
    assert "1 decision, for --decisions of 'disambig clean':" in one.err
    decisions = read_table("decisions.csv")
    assert list(decisions.columns) == ["item", "label"]
    for file in ("decisions.csv", "decided.jsonl"):  # the answers themselves, too
        accepted(*clean, "--decisions", file)
        settled = read_table("clean.csv").set_index("item")["chosen_label"]
        assert set(settled[[task["item"] for task in tasks]]) == {"cow"}


@pytest.mark.parametrize(
    "columns",
    [
        ("size",),
        ("data", "annotations"),
        ("data", "predictions"),
        ("Comments",),
        ("fields", "responses"),
        ("annotation", "annotation_agent"),
        ("HITId", "WorkerId"),
        ("source", "x-metadata"),
        ("custom_id", "response"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_tables_with_columns_as_tools_have_them_are_not_taken_for_exports(
    columns: tuple[str, ...], suffix: str
) -> None:
    frame = pd.DataFrame({"label": ["a", "a|b", "b"]})
    for place, name in enumerate(columns):
        frame[name] = [f"{name} {place}", "x", "y"]
    if suffix == "csv":
        frame.to_csv("table.csv", index=False)
    else:
        frame.to_json("table.jsonl", orient="records", lines=True)
    run = accepted("audit", f"table.{suffix}")
    assert "recognised" not in run.err
    assert run.out.startswith("3 rows")


def test_what_cannot_be_read_as_the_export_that_it_looks_like_may_be_a_table() -> None:
    record = {"data": {"size": 1}, "annotations": ["cat"], "label": "cat"}
    Path("t.jsonl").write_text(f"{json.dumps(record)}\n" * 2, encoding="utf-8")
    run = run_command_here("audit", "t.jsonl")
    assert run.code == 2
    assert "a list of objects in 'annotations'" in run.err
    assert "recognised as an export of Label Studio. To read it as a plain table" in run.err
    accepted("audit", "t.jsonl", "--format", "jsonl")


def test_results_of_a_crowd_are_a_table_to_whoever_names_their_columns() -> None:
    Path("toloka.tsv").write_text(EXPORTS["toloka", "tsv"], encoding="utf-8")
    named = ("--item", "INPUT:image", "--annotator", "ASSIGNMENT:worker_id")
    run = accepted("audit", "toloka.tsv", *named, "--label", "OUTPUT:result")
    assert "recognised" not in run.err
    # The rejected answer counts, as nobody has said what the columns mean.
    assert "w3" in run.out + run.err
    assert "w3" not in accepted("audit", "toloka.tsv").out


def test_wrong_words_are_refused() -> None:
    Path("export").write_text(EXPORTS["mturk", "csv"], encoding="utf-8")
    for words, message in (
        (("import", "export", "--from", "mturc", "--out", "t.csv"), "Did you mean 'mturk'"),
        (("import", "export", "--out", "t.csv", "--id", "x"), "--id is about decisions"),
        (
            ("import", "export", "--out", "t.csv", "--field", "y"),
            "no answers to a question 'y'. It has animal",
        ),
        (("export", "export", "--to", "prodigy", "--out", "export"), "is the cleaned table"),
        (("export", "export", "--to", "prodigy", "--out", "q"), "no column 'chosen_label'|format"),
    ):
        run = run_command_here(*words)
        assert run.code == 2, run.err
        assert any(part in run.err for part in message.split("|")), run.err
