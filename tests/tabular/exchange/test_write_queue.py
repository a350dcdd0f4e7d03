"""Doubtful rows go to a tool, and what people answer there comes back as decisions."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.tabular import (
    LabelColumns,
    Question,
    decisions_of,
    read_cleaned,
    read_decisions,
    read_export,
    write_queue,
)
from disambig.tabular.exchange.imported import Imported

# The second row has no doubt; the fourth is the most doubtful one.
CLEANED = pd.DataFrame(
    {
        "photo": ["a", "b", "c", "d"],
        "text": ["meow", "=1+1", "line\nbreak", 'quo"ted <x>'],
        "weight": [4.1, 20.0, np.nan, 3.0],
        "label": ["cat|dog", "dog", "cat|dog", "cat|cow|dog"],
        "chosen_label": ["cat", "dog", "dog", "cow"],
        "confidence": [0.8, 1.0, 0.7, 0.5],
        "margin": [0.6, 1.0, 0.4, 0.2],
        "second_look": [True, False, True, True],
        "candidate_confidences": [
            *("cat:0.8|dog:0.2", "dog:1", "cat:0.3|dog:0.7"),
            "cat:0.3|cow:0.5|dog:0.2",
        ],
    }
)


@pytest.fixture
def queue(tmp_path):
    def write(tool, *, named="photo", **options):
        rows = read_cleaned(CLEANED, id=named)
        paths = write_queue(rows, tmp_path / "queue", tool=tool, **options)
        return [path.read_text(encoding="utf-8") for path in paths]

    return write


def answered(tool, text, labels):
    """Return what a tool exports of a queue once people have answered its tasks in order."""
    if tool == "label-studio":
        tasks = json.loads(text)
        for number, (task, label) in enumerate(zip(tasks, labels, strict=True)):
            (result,) = json.loads(json.dumps(task["predictions"][0]["result"]))
            result["value"]["choices"] = [label]
            task["id"] = 500 + number  # Label Studio numbers tasks itself
            task["annotations"] = [
                {"id": number, "completed_by": 1, "was_cancelled": False, "result": [result]}
            ]
        return json.dumps(tasks)
    if tool == "argilla":
        records = json.loads(text)
        for record, label in zip(records, labels, strict=True):
            record["responses"] = {"label": [{"value": label, "user_id": "u1"}]}
            record |= {"status": "completed", "_server_id": "s"}
        return json.dumps(records)
    if tool in ("prodigy", "doccano", "sagemaker"):
        records = [json.loads(line) for line in text.splitlines()]
        for number, (record, label) in enumerate(zip(records, labels, strict=True)):
            if tool == "prodigy":
                hashes = {"_input_hash": number, "_task_hash": number, "_annotator_id": "q-ann"}
                record |= {"accept": [label], "answer": "accept", **hashes}
            elif tool == "doccano":
                record |= {"id": 500 + number, "label": [label], "Comments": []}
            else:
                metadata = {"class-name": label, "type": "groundtruth/text-classification"}
                record |= {"pet": 0, "pet-metadata": metadata}
        return "\n".join(map(json.dumps, records))
    toloka = tool == "toloka"
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t" if toloka else ","))
    for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if toloka:
            row |= {"OUTPUT:result": label, "ASSIGNMENT:worker_id": "w1"}
        else:
            given = {f"Input.{name}": cell for name, cell in row.items()}
            row.clear()
            row |= {"HITId": f"H{number}", "WorkerId": "W", "AssignmentStatus": "Approved"}
            row |= {**given, "Answer.pet": label}
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if toloka else ",")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


TOOLS = ["label-studio", "prodigy", "doccano", "argilla", "toloka", "mturk", "sagemaker"]


@pytest.mark.parametrize("named", ["photo", None])
@pytest.mark.parametrize("tool", TOOLS)
def test_answers_to_a_queue_come_back_as_decisions(queue, tmp_path, tool, named):
    tasks = queue(tool, named=named)[0]
    export = answered(tool, tasks, ["dog", "cat", "cow"])  # of d, c and a
    path = tmp_path / "answers"
    path.write_text(export, encoding="utf-8")
    decisions = decisions_of(read_export(path, tool=tool), id=named)
    assert read_decisions(decisions, CLEANED, id=named) == {3: "dog", 2: "cat", 0: "cow"}


def test_label_studio_gets_predictions_and_an_interface(queue):
    tasks, interface = queue("label-studio")
    first, *others = json.loads(tasks)
    assert [first["data"]["photo"], *(each["data"]["photo"] for each in others)] == ["d", "c", "a"]
    assert first["data"]["disambig_candidates"] == "cow 50 %, cat 30 %, dog 20 %"
    assert first["data"]["text"] == 'quo"ted <x>'
    (prediction,) = first["predictions"]
    assert prediction["score"] == 0.5
    assert prediction["result"][0]["value"] == {"choices": ["cow"]}
    view = ElementTree.fromstring(interface)
    shown, choices = view.find("Text"), view.find("Choices")
    # What predictions are about is in the interface.
    assert prediction["result"][0]["to_name"] == shown.get("name") == choices.get("toName")
    assert prediction["result"][0]["from_name"] == choices.get("name")
    assert shown.get("value") == "$text"
    assert [choice.get("value") for choice in choices] == ["cat", "cow", "dog"]


def test_prodigy_gets_every_label_the_likeliest_first(queue):
    first = json.loads(queue("prodigy")[0].splitlines()[0])
    assert [option["id"] for option in first["options"]] == ["cow", "cat", "dog"]
    assert first["options"][0]["text"] == "cow (50 %)"
    assert first["accept"] == ["cow"]
    last = json.loads(queue("prodigy")[0].splitlines()[2])
    assert [option["id"] for option in last["options"]] == ["cat", "dog", "cow"]
    assert last["options"][2]["text"] == "cow"


def test_rows_can_be_limited_and_all_be_asked_for(queue):
    assert len(queue("doccano")[0].splitlines()) == 3
    assert len(queue("doccano", most=2)[0].splitlines()) == 2
    every = [json.loads(line)["photo"] for line in queue("doccano", all_rows=True)[0].splitlines()]
    assert every == ["d", "c", "a", "b"]


def test_columns_can_be_hidden_and_another_one_be_shown(queue):
    tasks, interface = queue("label-studio", show="photo", ignore=["weight"])
    assert "weight" not in json.loads(tasks)[0]["data"]
    assert b'value="$photo"' in interface.encode()


def test_without_a_text_all_columns_are_shown(tmp_path):
    frame = CLEANED.drop(columns="text")
    paths = write_queue(read_cleaned(frame), tmp_path / "q", tool="doccano", most=1)
    assert json.loads(paths[0].read_text())["text"] == "photo: d\nweight: 3.0"


def test_a_column_called_item_does_not_name_the_rows(tmp_path):
    rows = read_cleaned(CLEANED.assign(item="pet"))
    (path,) = write_queue(rows, tmp_path / "q", tool="doccano")
    path.write_text(answered("doccano", path.read_text(), ["cat", "dog", "cow"]))
    decisions = decisions_of(read_export(path, tool="doccano"))
    assert decisions.to_dict("list") == {"row": ["4", "3", "1"], "label": ["cat", "dog", "cow"]}


def test_addresses_of_pictures_are_shown_as_pictures(tmp_path):
    frame = CLEANED.assign(text=[f"https://example.org/{n}.JPG?size=1" for n in range(4)])
    rows = read_cleaned(frame)
    _, interface = write_queue(rows, tmp_path / "q", tool="label-studio")
    assert ElementTree.fromstring(interface.read_text()).find("Image") is not None
    (path,) = write_queue(rows, tmp_path / "p", tool="prodigy", most=1)
    assert json.loads(path.read_text())["image"] == "https://example.org/3.JPG?size=1"
    (path,) = write_queue(rows, tmp_path / "s", tool="sagemaker", most=1)
    assert json.loads(path.read_text())["source-ref"] == "https://example.org/3.JPG?size=1"


def test_a_field_that_an_interface_cannot_name_is_shown_under_another_name(tmp_path):
    frame = CLEANED.rename(columns={"text": "the text"})
    rows = read_cleaned(frame, id="photo")
    tasks, interface = write_queue(rows, tmp_path / "q", tool="label-studio", show="the text")
    shown = ElementTree.fromstring(interface.read_text()).find("Text").get("value")
    field = shown.removeprefix("$")
    assert re.fullmatch("[A-Za-z0-9_]+", field)
    data = json.loads(tasks.read_text())[0]["data"]
    assert data[field] == data["the text"] == 'quo"ted <x>'


def test_what_people_look_at_is_in_every_task_and_is_no_other_column(tmp_path):
    frame = CLEANED.assign(title=["A", "B", None, "D"])
    for tool in TOOLS:
        path, *_ = write_queue(read_cleaned(frame), tmp_path / "q", tool=tool, show="title")
        if tool == "label-studio":
            shown = [task["data"]["title"] for task in json.loads(path.read_text())]
        elif tool == "argilla":
            shown = [task["fields"]["title"] for task in json.loads(path.read_text())]
        elif tool in ("toloka", "mturk"):
            name = {"toloka": "INPUT:title", "mturk": "title"}[tool]
            table = pd.read_csv(path, sep=None, engine="python", keep_default_na=False)
            shown = table[name].tolist()
        else:
            lines = map(json.loads, path.read_text().splitlines())
            shown = [line["source" if tool == "sagemaker" else "text"] for line in lines]
        assert shown == ["D", "", "A"]


def test_only_an_interface_of_ours_is_replaced(tmp_path):
    rows = read_cleaned(CLEANED)
    tasks, interface = write_queue(rows, tmp_path / "q", tool="label-studio")
    before = interface.read_text()
    write_queue(rows, tmp_path / "q", tool="label-studio")
    assert interface.read_text() == before
    tasks.write_text("tasks")
    interface.write_text("<View>mine</View>")
    with pytest.raises(TableError, match="q.config.xml, but something else is there"):
        write_queue(rows, tmp_path / "q", tool="label-studio")
    assert (tasks.read_text(), interface.read_text()) == ("tasks", "<View>mine</View>")


def test_no_doubtful_row_is_said(tmp_path):
    sure = CLEANED.assign(second_look=False)
    with pytest.raises(TableError, match="No row is marked.*--all"):
        write_queue(read_cleaned(sure), tmp_path / "q", tool="prodigy")
    with pytest.raises(ParameterError, match="'most' must be at least 1"):
        write_queue(read_cleaned(CLEANED), tmp_path / "q", tool="prodigy", most=0)
    with pytest.raises(TableError, match="cannot be written"):
        write_queue(read_cleaned(CLEANED), tmp_path, tool="prodigy")
    with pytest.raises(TableError, match="no column 'size'"):
        write_queue(read_cleaned(CLEANED), tmp_path / "q", tool="prodigy", ignore=["size"])
    assert not list(tmp_path.iterdir())


def test_only_agreement_on_one_label_is_a_decision():
    labels = ["cat", "cat", "cat", "dog", "cat|dog", None, "dog|!cat", "", "!cat"]
    names = ["a", "a", "b", "b", "c", "d", "e", "a", "f"]
    frame = pd.DataFrame({"photo": names, "label": labels})
    with pytest.warns(UserWarning, match="4 items of 6 left out"):
        decisions = decisions_of(Imported(frame, LabelColumns()), id="photo")
    assert decisions.to_dict("list") == {"photo": ["a", "e"], "label": ["cat", "dog"]}


def test_decisions_need_names_and_agreement():
    frame = pd.DataFrame({"photo": ["a"], "label": ["cat|dog"]})
    with pytest.raises(TableError, match="Nobody has decided anything: none of 1 item"):
        decisions_of(Imported(frame, LabelColumns()), id="photo")
    with pytest.raises(TableError, match="no field 'disambig_row'"):
        decisions_of(Imported(frame, LabelColumns()))


@pytest.mark.parametrize("tool", ["label-studio", "doccano", "argilla"])
def test_tasks_of_questions_ask_them_in_their_order(queue, tool):
    questions = [Question(2, ("dog", "cat"), 0.3), Question(1, ("dog",), 0.1)]
    tasks = queue(tool, questions=questions)[0]
    assert "dog or cat? (dog 70 %, cat 30 %)" in tasks
    assert "is it dog? (dog 100 %)" in tasks
    assert tasks.index("dog or cat?") < tasks.index("is it dog?")
    assert "meow" not in tasks


def test_without_questions_there_are_no_tasks(queue):
    with pytest.raises(TableError, match="no row is in doubt"):
        queue("prodigy", questions=[])
