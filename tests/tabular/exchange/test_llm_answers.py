"""Answers of language models: read in many forms, matched to labels, nothing made up."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from disambig import LabelColumns
from disambig._core.errors import DisambigError, ParameterError, TableError
from disambig.cli.main import app
from disambig.tabular import match_wordings, read_export, read_label_list, read_llm_answers
from disambig.tabular.exchange.imported import LongLabels
from disambig.tabular.exchange.said import said_in
from disambig.tabular.files.content import FileContent


def content(*records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return FileContent("answers.jsonl", content="\n".join(lines).encode())


def read(*records, labels=("cat", "dog", "cow"), **options):
    return read_llm_answers(content(*records), labels=labels, **options)


def weights(*records, **options):
    """Return what the first row is read as."""
    cell = read(*records, **options).frame["label"].fillna("").iloc[0]
    pairs = (piece.rpartition(":") for piece in cell.split("|") if piece)
    return {name: float(weight) for name, _, weight in pairs}


# ---- forms of answers

REPLY = {
    "custom_id": "a",
    "response": {
        "body": {
            "model": "gpt",
            "choices": [
                {"message": {"role": "assistant", "content": "cat"}},
                {"message": {"role": "assistant", "content": "Answer: **dog**"}},
            ],
        }
    },
}
TOKEN = {
    "choices": [
        {
            "message": {"content": "cat"},
            "logprobs": {
                "content": [
                    {
                        "token": "cat",
                        "logprob": math.log(0.6),
                        "top_logprobs": [
                            {"token": " cat", "logprob": math.log(0.6)},
                            {"token": "dog", "logprob": math.log(0.2)},
                        ],
                    }
                ]
            },
        }
    ]
}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"answers": ["cat", "dog", "cat", "cat"]}, {"cat": 0.75, "dog": 0.25}),
        ({"answer": "cat"}, {"cat": 1}),
        (
            {
                "answers": [
                    {"label": "cat", "probability": 0.6},
                    {"label": "dog", "probability": 0.2},
                ]
            },
            {"cat": 0.75, "dog": 0.25},
        ),
        (
            {"answers": [{"answer": "cat", "percent": "60%"}, {"answer": "dog", "percent": 20}]},
            None,
        ),
        (
            {
                "answers": [
                    {"label": "cat", "logprob": math.log(0.6)},
                    {"label": "dog", "logprob": math.log(0.2)},
                ]
            },
            {"cat": 0.75, "dog": 0.25},
        ),
        (
            {"answers": [{"label": "cat", "rank": 1}, {"label": "dog", "rank": 2}]},
            {"cat": 2 / 3, "dog": 1 / 3},
        ),
        ({"answers": {"cat": 0.6, "dog": 0.2}}, {"cat": 0.75, "dog": 0.25}),
        ({"cat": 0.6, "dog": 0.2}, {"cat": 0.75, "dog": 0.25}),
        ({"answers": [["cat", 3], ["dog", 1]]}, {"cat": 0.75, "dog": 0.25}),
        ({"answer": "1. cat (60%)\n2. dog (20%)"}, {"cat": 0.75, "dog": 0.25}),
        ({"answer": "My guesses:\n1. cat\n2. dog"}, {"cat": 2 / 3, "dog": 1 / 3}),
        ({"answer": "- cat\n- dog"}, {"cat": 0.5, "dog": 0.5}),
        ({"answer": "cat (60%), dog (20%)"}, {"cat": 0.75, "dog": 0.25}),
        ({"answer": "It has whiskers.\nFinal answer: Cat."}, {"cat": 1}),
        ({"answer": '```json\n{"cat": 0.6, "dog": 0.2}\n```'}, {"cat": 0.75, "dog": 0.25}),
        ({"answers": ["Label: cat\nConfidence: 60%", "Label: dog\nConfidence: 20%"]}, None),
        ({"answers": {"gpt": ["cat", "cat", "cat"], "llama": "dog"}}, {"cat": 0.75, "dog": 0.25}),
        ({"answer": '{"cat": "60%", "dog": "20%"}'}, None),
        ({"answers": {"cat": math.log(0.6), "dog": math.log(0.2)}}, None),
        ({"answers": [{"label": "cat", "rank": "1"}, {"label": "dog", "rank": "3"}]}, None),
        ({"labels": ["cat", "dog", "cow"], "scores": [0.6, 0.2, 0.0]}, None),
        ({"answers": {"labels": ["cat", "dog"], "logprobs": [-1, -1 - math.log(3)]}}, None),
        (
            {
                "choices": [
                    {
                        "text": "cat",
                        "logprobs": {
                            "tokens": ["cat"],
                            "top_logprobs": [{" cat": math.log(0.6), "dog": math.log(0.2)}],
                        },
                    }
                ]
            },
            None,
        ),
        ({"answer": "<think>A dog? No.</think>\n\ncat"}, {"cat": 1}),
        ({"answer": 'Sure:\n```json\n{"cat": 0.6, "dog": 0.2}\n```\nHope this helps!'}, None),
        ({"answer": "The answer is a cat. A dog is larger."}, {}),
        ({"answer": "A dog chases it. Answer: cat"}, {"cat": 1}),
        ({"answer": '{"label": "cat", "score": -1}'}, {"cat": 1}),
        (REPLY, {"cat": 0.5, "dog": 0.5}),
        (TOKEN, {"cat": 0.75, "dog": 0.25}),
    ],
)
def test_every_form_of_answers_becomes_weights(record, expected):
    expected = {"cat": 0.75, "dog": 0.25} if expected is None else expected
    assert weights(record) == pytest.approx(expected, abs=1e-5)


def test_lines_of_one_item_are_added_up_and_other_columns_are_kept():
    imported = read(
        {"id": "a", "size": 3, "model": "gpt", "answer": "cat"},
        {"id": "b", "size": 4, "model": "gpt", "answer": "cow"},
        {"id": "a", "size": 3, "model": "llama", "answer": "dog"},
    )
    assert imported.frame.to_dict("list") == {
        "id": ["a", "b"],
        "size": [3, 4],
        "label": ["cat:0.5|dog:0.5", "cow:1"],
    }
    assert imported.id == "id"
    assert imported.options() == {"labels": ["label"], "id": "id"}


def test_lines_with_a_score_beside_the_answer_count_by_it():
    lines = [
        {"id": 1, "answer": "cat", "probability": 0.6},
        {"id": 1, "answer": "dog", "probability": 0.2},
    ]
    assert weights(*lines) == {"cat": 0.75, "dog": 0.25}


def test_models_can_be_annotators():
    lines = [
        {"id": "a", "model": "gpt", "answers": ["cat", "cat", "dog"]},
        {"id": "a", "model": "llama", "answers": ["cow"]},
        {"id": "b", "model": "gpt", "answers": ["who knows"]},
    ]
    imported = read(*lines, by_model=True)
    assert isinstance(imported.labels, LongLabels)
    assert imported.options() == {"item": "item", "label": "label", "annotator": "model"}
    rows = imported.frame[["item", "model", "label"]].fillna("").to_numpy().tolist()
    assert rows == [["a", "gpt", "cat|dog"], ["a", "llama", "cow"], ["b", "gpt", ""]]


def test_what_is_written_is_read_back_as_the_same_shares():
    frame = read({"answers": ["cat", "dog", "cat"]}, {"answers": ["cow"]}).frame
    sets = LabelColumns().read(frame)
    assert sets.prior().toarray().round(4).tolist() == [[0.6667, 0, 0.3333], [0, 1, 0]]
    frame = read({"answers": ["a|b", "c: d", "c: d"]}, labels=["a|b", "c: d"]).frame
    sets = LabelColumns().parse(frame).candidates
    assert sets.prior().toarray().round(4).tolist() == [[0.3333, 0.6667]]


def test_what_is_no_label_is_reported_with_its_count_its_first_row_and_what_may_be_meant():
    imported = read(
        {"answers": ["cat", "NYC"]}, {"answers": ["NYC", "who"]}, labels=["cat", "New York City"]
    )
    said, unlabelled, beliefs = imported.notices
    assert said.startswith(
        "Left out 3 answers that are not labels: 'NYC' (2 times, first in row 1; did you mean "
        "'New York City'?); 'who' (1 time, first in row 2)."
    )
    assert unlabelled.startswith("1 row has no answer that is a label, the first is row 2")
    assert "--calibrate beliefs" in beliefs
    assert imported.frame["label"].fillna("").tolist() == ["cat:1", ""]
    assert LabelColumns.of(imported.labels).parse(imported.frame).empty.tolist() == [False, True]


def test_confidences_of_an_answer_are_all_in_per_cent_or_none():
    answers = [{"label": "cat", "confidence": 1}, {"label": "dog", "confidence": 99}]
    imported = read({"answers": answers}, labels=["cat", "dog"])
    assert imported.frame["label"].tolist() == ["cat:0.01|dog:0.99"]


@pytest.mark.parametrize(("largest", "scale"), [(1, 1), (5, 5), (9, 10), (80, 100)])
def test_confidences_of_all_lines_are_on_one_scale(largest, scale):
    lines = [
        {"id": 1, "response": "cat", "confidence": 1},
        {"id": 1, "response": "dog"},
        {"id": 2, "response": "cow", "confidence": largest},
    ]
    assert weights(*lines)["cat"] == pytest.approx(1 / (1 + scale), abs=1e-5)


def test_confidences_in_words_are_not_used_and_people_are_told():
    answers = [{"label": "cat", "confidence": "high"}, {"label": "dog", "confidence": "low"}]
    imported = read({"answers": answers})
    assert imported.frame["label"].tolist() == ["cat:0.5|dog:0.5"]
    assert "Confidences in words, such as 'high' (row 1), are not used" in imported.notices[0]


def test_what_differs_between_the_lines_of_an_item_is_left_out_and_gaps_are_filled():
    imported = read(
        {"id": 1, "size": None, "seconds": 3, "answer": "cat"},
        {"id": 1, "size": 4, "seconds": 5, "answer": "dog"},
        {"id": 2, "size": 6, "seconds": 1, "answer": "dog"},
    )
    assert imported.frame.columns.tolist() == ["id", "size", "label"]
    assert imported.frame["size"].tolist() == [4, 6]
    assert "Left out 'seconds', which differs between lines of one item." in imported.notices


def test_a_label_beside_the_answers_is_kept():
    imported = read({"label": "gold", "answers": ["cat"]}, {"label": "old", "answers": ["dog"]})
    assert imported.frame["label"].tolist() == ["gold", "old"]
    assert imported.frame["candidate_labels"].tolist() == ["cat:1", "dog:1"]
    assert imported.options() == {"labels": ["candidate_labels"]}


def test_the_item_of_a_batch_has_the_name_that_its_maker_gave():
    lines = [{**REPLY, "id": f"batch_{n}", "custom_id": name} for n, name in enumerate("aab")]
    imported = read(*lines)
    assert imported.id == "custom_id"
    assert imported.frame["custom_id"].tolist() == ["a", "b"]


def test_an_item_that_no_model_answered_is_kept_among_annotators():
    imported = read(
        {"id": 1, "model": "A", "answer": "cat"}, {"id": 2, "model": "A", "answer": None},
        by_model=True,
    )  # fmt: skip
    assert imported.frame["item"].tolist() == ["1", "2"]
    assert imported.frame["label"].fillna("").tolist() == ["cat", ""]


def test_numbers_are_labels_however_a_file_writes_them():
    imported = read({"answer": 1}, {"answer": None}, {"answer": 2.0}, labels=["1", "2"])
    assert imported.frame["label"].fillna("").tolist() == ["1:1", "", "2:1"]


def test_a_weight_beside_several_answers_is_a_column_like_any_other():
    imported = read({"answers": ["cat"], "weight": 4.5, "position": "left"}, labels=["cat", "dog"])
    assert imported.frame["weight"].tolist() == [4.5]
    assert imported.frame["position"].tolist() == ["left"]


def test_without_a_list_labels_are_what_many_answers_agree_on():
    answers = [
        {"answers": ["Cat", "cat.", "cat", "dog", "dogs", "dog"]},
        {"answers": ["Unknown"] * 3},
    ]
    imported = read(*answers, {"answers": ["platypus"]}, labels=None)
    assert "agree on: cat, dog." in imported.notices[1]
    assert "'Unknown' (3 times" in imported.notices[0]


def test_a_label_list_has_other_words_for_labels(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("cat: kitty, tomcat\n\ndog\n")
    labels = read_label_list(path)
    assert labels == {"cat": ("kitty", "tomcat"), "dog": ()}
    assert weights({"answers": ["Kitty", "a tomcat", "dog", "cat"]}, labels=labels)["cat"] == 0.75
    for text, message in (("", "no label"), ("a\na", "twice.*line 2"), (": b", "before the ':'")):
        path.write_text(text)
        with pytest.raises(ParameterError, match=message):
            read_label_list(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ParameterError, match="UTF-8"):
        read_label_list(path)


# ---- bad input


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": 1, "text": "a"}, "has no answers"),
        ({"answers": []}, "has no answers"),
        ({"answers": [{"label": "cat", "probability": -1}]}, "in row 1 .* not 0 or more: -1"),
        ({"answers": {"cat": 1e308, "dog": 1e308}}, "not 0 or more: 1e+"),
        ('{"answer": "cat", "score": 1' + "0" * 400 + "}", "not 0 or more: 100"),
        ({"answers": [{"label": "cat", "logprob": 2}]}, "above 0: 2"),
        ({"answers": [{"label": "cat", "rank": 0}]}, "not a number from 1: 0"),
        (
            {"answers": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {"j": 1}}}}}}}}}}},
            "deep",
        ),
        ('{"id": null, "answers": ["cat"]}', "name of its item. .* row 1"),
    ],
)
def test_answers_that_cannot_be_meant_are_refused(record, message):
    with pytest.raises(TableError, match=message):
        read(record)


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=12) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(_json)
def test_anything_is_read_or_refused(value):
    try:
        answers = [said for _, said in said_in(value)]
    except ValueError:
        return
    assert all(0 <= weight < math.inf for said in answers for _, weight in said.wordings)


@settings(max_examples=50)
@given(st.text(max_size=300))
def test_any_text_is_an_answer_and_means_labels_or_nothing(text):
    wordings = [wording for _, said in said_in(text) for wording, _ in said.wordings]
    found = match_wordings(wordings, ["cat", "dog"]).candidates
    assert all(set(candidates) <= {"cat", "dog"} for candidates in found)


def test_a_text_made_to_take_long_is_read_in_time_proportional_to_it():
    for text in (
        "1. " * 100_000,
        "[" * 100_000,
        "-" * 100_000,
        "answer: " * 50_000,
        "9% " * 50_000,
        "! " * 50_000,
        "</think>" * 20_000,
        "```" * 50_000,
        ". answer " * 20_000,
    ):
        match_wordings([w for _, said in said_in(text) for w, _ in said.wordings], ["cat", "dog"])


def test_lines_may_have_their_answers_under_different_keys():
    said = {"message": {"content": "Answer: dog"}}
    imported = read(
        {"id": "a", "model": "A", "answers": ["cat", "cat"]},
        {"id": "a", "model": "B", "choices": [said, said]},
        {"id": "b", "model": "B", "choices": [said]},
        labels=["cat", "dog"],
    )
    assert imported.frame.columns.tolist() == ["id", "label"]
    assert imported.frame["label"].tolist() == ["cat:0.5|dog:0.5", "dog:1"]


def test_errors_are_ours():
    with pytest.raises(DisambigError):
        read_llm_answers("nowhere.jsonl")


def test_the_command_imports_answers_and_says_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [{"id": n, "size": n % 7, "answers": ["Cat", "kitty", "dog"]} for n in range(9)]
    lines.append({"id": 9, "size": 1, "answers": ["NYC"]})
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "labels.txt").write_text("cat: kitty\ndog\n")
    words = ["import", "answers.jsonl", "--from", "llm", "--label-list", "labels.txt"]
    words += ["--out", "table.csv"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "'NYC' (1 time, first in row 10)" in " ".join(result.output.split())
    assert "--labels label --id id --empty all" in " ".join(result.output.split())
    # Shares say nothing of how many answers there were.
    assert "10 items, 2 labels: cat, dog. 1 item without an answer." in " ".join(
        result.output.split()
    )
    assert "cat, dog" in " ".join(result.output.split())
    assert "0,0,cat:0.666667|dog:0.333333" in (tmp_path / "table.csv").read_text()
    refused = CliRunner().invoke(app, [*words[:2], *words[4:]])
    assert refused.exit_code != 0


def test_several_files_are_read_as_one_and_the_export_is_recognised(tmp_path):
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for path in paths:
        path.write_text(json.dumps(REPLY))
    imported = read_export(paths, labels=["cat", "dog"])
    assert imported.frame["label"].tolist() == ["cat:0.5|dog:0.5"]
