"""What tools export becomes a table whose labels commands read."""

import json

import pandas as pd
import pytest

from disambig._core.errors import TableError
from disambig.tabular import read_export
from disambig.tabular.exchange.registry import ReadOptions, find_tool, recognise
from disambig.tabular.files.content import FileContent
from tabular.exchange.exports import (
    EXPORTS,
    LABEL_STUDIO,
    PRODIGY,
    PRODIGY_CHOICE,
    SAGEMAKER,
    annotation,
    choice,
)


@pytest.fixture
def read(tmp_path):
    def write_and_read(export, **options):
        if not isinstance(export, str | bytes):
            export = json.dumps(export)
        path = tmp_path / "export.txt"
        path.write_bytes(export.encode() if isinstance(export, str) else export)
        return read_export(path, **options)

    return write_and_read


def rows_of(imported, *names):
    """Return the rows of a table, missing cells as None."""
    frame = imported.frame.astype(object)
    frame = frame.where(frame.notna(), None)
    return [tuple(row) for row in frame[list(names)].itertuples(index=False)]


@pytest.mark.parametrize("form", EXPORTS)
def test_every_export_is_recognised_by_its_content(form):
    content = EXPORTS[form].encode()
    found = recognise(FileContent("export", content=content))
    assert found is not None
    assert found.name == form[0]
    # Also with a byte order mark, and indented; also in what a shell of Windows makes of UTF-8.
    assert recognise(FileContent("export", content=b"\xef\xbb\xbf\n " + content)).name == form[0]
    utf_16 = FileContent("export", content=EXPORTS[form].encode("utf-16"))
    assert recognise(utf_16).name == form[0]
    assert find_tool(form[0]).read([utf_16], ReadOptions()).counts().labels


@pytest.mark.parametrize(
    ("first", "tool"),
    [
        ({"id": "a", "text": "x", "y.responses": None, "y.responses.users": None}, "argilla"),
        ({"id": 1, "text": "x", "cats": [], "entities": [], "Comments": []}, "doccano"),
    ],
)
def test_exports_are_recognised_by_a_first_task_without_an_answer(first, tool):
    content = FileContent("export", content=json.dumps([first]).encode())
    assert recognise(content).name == tool


@pytest.mark.parametrize(
    "text",
    [
        "size,label\n1,cat\n",
        '{"text": "meow", "label": "cat"}\n',
        '[{"text": "meow", "label": "cat"}]',
        '{"data": "x", "label": "cat"}',
        "",
        "[",
        '{"a": ' * 100_000,
        "\0\0",
    ],
)
def test_other_files_are_not_taken_for_the_export_of_a_tool(text):
    assert recognise(FileContent("export", content=text.encode())) is None


def test_label_studio_has_a_row_for_each_answer_of_each_annotator(read):
    imported = read(EXPORTS["label-studio", "json"])
    assert rows_of(imported, "item", "annotator", "label", "truth", "source.page") == [
        ("11", "ann@example.org", "cat", None, 3),
        ("11", "bob@example.org", "cat|dog", None, 3),
        ("12", None, None, "dog", None),  # unsure, skipped, and a ground truth
        ("13", None, None, None, None),
    ]
    assert imported.options() == {
        "item": "item",
        "annotator": "annotator",
        "label": "label",
        "truth": "truth",
    }
    notices = " ".join(imported.notices)
    assert "1 skipped annotation" in notices
    assert "1 model prediction" in notices
    assert "1 answer 'Unsure' counted as no answer" in notices


def test_models_count_as_annotators_if_asked_for(read):
    imported = read(EXPORTS["label-studio", "json"], predictions=True)
    assert ("11", "model m1", "dog") in rows_of(imported, "item", "annotator", "label")


def test_a_word_for_unsure_can_be_a_label(read):
    imported = read(EXPORTS["label-studio", "json"], unsure=["cat"])
    assert rows_of(imported, "item", "label") == [("11", "dog"), ("12", "Unsure"), ("13", None)]
    assert imported.options() == {"labels": ["label"], "id": "item", "truth": "truth"}


def test_several_questions_need_a_name(read):
    task = {"id": 1, "data": {"text": "x"}}
    both = [choice("cat"), choice("loud", name="tone")]
    export = [task | {"annotations": [annotation(*both)]}]
    with pytest.raises(TableError, match="answers to several questions: animal, tone.*--field"):
        read(export)
    assert rows_of(read(export, field="tone"), "label") == [("loud",)]
    with pytest.raises(TableError, match="no answers to a question 'colour'.*animal, tone"):
        read(export, field="colour")


def test_regions_are_refused_with_what_was_found(read):
    region = {"from_name": "tag", "type": "rectanglelabels", "value": {"x": 1}}
    export = [{"id": 1, "data": {"image": "x"}, "annotations": [annotation(region)]}]
    with pytest.raises(TableError, match=r"only tag \(rectanglelabels\)"):
        read(export)


def test_choices_about_regions_are_not_labels_of_the_item(read):
    about_region = choice("word", name="kind")
    about_region["value"] |= {"start": 0, "end": 1}
    about_picture = choice("blurred", name="quality") | {"item_index": 1}
    task = {"id": 1, "data": {"text": "x"}}
    with pytest.raises(TableError, match=r"only kind \(choices of regions\), quality"):
        read([task | {"annotations": [annotation(about_region, about_picture)]}])
    # Beside an answer about the item they are left out.
    both = [task | {"annotations": [annotation(about_region, choice("cat"), about_region)]}]
    imported = read(both)
    assert rows_of(imported, "label") == [("cat",)]
    assert imported.notices == ("Left out: 2 unrelated answers.",)
    with pytest.raises(TableError, match="no answers to a question 'kind'. It has animal"):
        read(both, field="kind")


def test_files_with_different_questions_need_a_name_too(tmp_path):
    for name in ("animal", "tone"):
        task = {"id": name, "data": {}, "annotations": [annotation(choice("a", name=name))]}
        (tmp_path / name).write_text(json.dumps([task]), encoding="utf-8")
    with pytest.raises(TableError, match="several questions: animal, tone"):
        read_export([tmp_path / "animal", tmp_path / "tone"], tool="label-studio")


def test_annotations_that_a_storage_has_one_by_one_are_those_of_their_task(tmp_path):
    stored = json.loads(EXPORTS["label-studio", "stored"])
    for number, email in enumerate(("ann@example.org", "bob@example.org")):
        stored["completed_by"]["email"] = email
        (tmp_path / f"{number}.json").write_text(json.dumps(stored), encoding="utf-8")
    imported = read_export(sorted(tmp_path.glob("*.json")))
    assert rows_of(imported, "item", "text", "annotator", "label") == [
        ("11", "meow", "ann@example.org", "cat|dog"),
        ("11", "meow", "bob@example.org", "cat|dog"),
    ]


def test_labels_below_others_are_paths(read):
    nested = choice(["pet", "cat"], ["other", "other"], "other")
    export = [{"id": 1, "data": {"text": "x"}, "annotations": [annotation(nested)]}]
    assert rows_of(read(export), "label") == [("pet/cat|other/other|other",)]


def test_a_taxonomy_and_a_rating_are_labels(read):
    taxonomy = choice() | {"type": "taxonomy", "value": {"taxonomy": [["pet", "cat"], ["pet"]]}}
    rating = choice() | {"type": "rating", "value": {"rating": 4}}
    for result, label in ((taxonomy, "pet/cat|pet"), (rating, "4")):
        export = [{"id": 1, "data": {"text": "x"}, "annotations": [annotation(result)]}]
        assert rows_of(read(export), "label") == [(label,)]


def test_tasks_without_any_answer_are_a_table_with_empty_labels(read):
    imported = read([{"id": 1, "data": {"text": "x", "size": 3}, "predictions": []}])
    assert rows_of(imported, "item", "text", "size", "label") == [("1", "x", 3, None)]


def test_flat_exports_of_label_studio(read):
    imported = read(EXPORTS["label-studio", "min"])
    assert rows_of(imported, "item", "text", "annotator", "label") == [
        ("11", "meow", "1", "cat"),
        ("11", "meow", "2", "cat|dog"),
    ]
    imported = read(EXPORTS["label-studio", "csv"])
    assert rows_of(imported, "item", "text", "label") == [
        ("11", "meow, loud", "cat"),
        ("12", "woof", "cat|dog"),
    ]
    single = "animal,annotation_id,annotator,id,lead_time,text\ncat,5,1,11,2.5,meow\n"
    with pytest.raises(TableError, match="side by side: animal, text.*--field"):
        read(single)
    assert rows_of(read(single, field="animal"), "label") == [("cat",)]


def min_record(number, *, annotator=1, **answers):
    """Return what JSON-MIN has of an annotation; without an annotator, of a task that has none."""
    times = dict.fromkeys(("created_at", "updated_at", "lead_time"))
    by = {"annotator": annotator, "annotation_id": annotator}
    return {"text": f"text {number}", "page": number, "id": number, **answers, **by, **times}


def test_json_min_has_tasks_and_questions_without_an_answer(read):
    unseen, skipped = min_record(1, annotator=None), min_record(3)
    imported = read([unseen, min_record(2, animal="cat"), skipped])
    assert rows_of(imported, "item", "label") == [("1", None), ("2", "cat"), ("3", None)]


def test_answers_to_other_questions_in_json_min_are_not_fields_of_the_item(read):
    export = [min_record(1, animal="cat", tone={"choices": ["loud", "high"]})]
    with pytest.raises(TableError, match="side by side: animal, tone"):
        read(export)
    assert list(read(export, field="tone").frame) == ["item", "text", "page", "label"]
    assert rows_of(read(export, field="tone"), "label") == [("loud|high",)]
    with pytest.raises(TableError, match="no answers to a question 'colour'. It has animal, tone"):
        read(export, field="colour")


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ([{"taxonomy": [["pet", "cat"], ["pet"]]}], "pet/cat|pet"),
        ([{"rating": 4}], "4"),
        ("[1]", "[1]"),
        ([], None),
    ],
)
def test_taxonomies_and_ratings_in_flat_exports(read, answer, label):
    export = [min_record(1, animal=answer), min_record(2, animal="dog")]
    assert rows_of(read(export), "label") == [(label,), ("dog",)]


@pytest.mark.parametrize(
    "answer", [["word", "number"], [{"start": 0, "end": 1, "choices": ["word"]}]]
)
def test_regions_in_flat_exports_are_refused(read, answer):
    with pytest.raises(TableError, match="Record 1 of .* not about regions"):
        read([min_record(1, animal=answer)])


def test_skipped_annotations_and_histories_in_csv(read):
    imported = read(
        '"animal","annotation_id","annotator","history","id","lead_time","text","was_cancelled"\n'
        '"cat",5,"a@example.org","[{}]",11,2.5,"meow","False"\n'
        '"dog",6,"a@example.org","[{}]",12,2.5,"woof","True"\n'
        '"","","","",13,"","moo",""\n',
        field="animal",
    )
    assert list(imported.frame) == ["item", "text", "label"]
    assert rows_of(imported, "label") == [("cat",), (None,), (None,)]
    assert imported.notices == ("Left out: 1 skipped annotation.",)


def test_hashes_of_prodigy_are_no_columns_and_ignored_tasks_have_no_label(read):
    imported = read(EXPORTS["prodigy", "labels"])
    assert list(imported.frame) == ["item", "text", "label"]
    assert rows_of(imported, "text", "label") == [
        ("meow", "cat"),
        ("woof", "dog|!cat"),
        ("moo", "!cat"),
        ("hiss", None),
    ]
    assert "Left out: 1 ignored task." in imported.notices


def test_choices_of_prodigy_by_annotator(read):
    imported = read(EXPORTS["prodigy", "choices"])
    assert rows_of(imported, "item", "source", "annotator", "label") == [
        ("21", "farm", "pets-ann", "cat"),
        ("21", "farm", "pets-bob", "cat|dog"),
        ("22", "farm", "pets-ann", "dog"),
        ("23", "farm", None, None),
        ("24", "farm", None, None),
    ]


def test_labels_that_somebody_accepts_and_rejects_are_left_out(read):
    again = {"text": "meow", "label": "cat", "answer": "reject", "_input_hash": 7, "_task_hash": 1}
    other = again | {"label": "dog"}
    imported = read("\n".join(map(json.dumps, [*PRODIGY[:3], again, other])))
    assert rows_of(imported, "text", "label") == [("meow", "!dog"), ("woof", "dog|!cat")]
    assert "Left out: 1 contradictory label." in imported.notices


def test_scores_by_which_prodigy_chooses_tasks_are_no_columns(read):
    of_model = {"score": 0.4, "priority": 0.4, "meta": {"source": "farm", "score": 0.4}}
    imported = read("\n".join(json.dumps(line | of_model) for line in PRODIGY))
    assert list(imported.frame) == ["item", "text", "source", "label"]
    imported = read("\n".join(json.dumps(line | {"score": 3}) for line in PRODIGY))
    assert list(imported.frame) == ["item", "text", "score", "label"]


def test_yes_and_no_to_one_label_are_two_labels(read):
    lines = [record | {"label": "spam"} for record in PRODIGY[:2]]
    imported = read("\n".join(map(json.dumps, lines)))
    assert rows_of(imported, "label") == [("spam",), ("not spam",)]
    assert "a no is the label 'not spam'" in imported.notices[-1]


def test_spans_of_prodigy_are_refused(read):
    line = {"text": "x", "spans": [{"start": 0, "end": 1, "label": "A"}], "answer": "accept"}
    with pytest.raises(TableError, match="only spans"):
        read(json.dumps(line | {"_task_hash": 1}))


def test_doccano_in_one_file_or_one_for_each_annotator(read, tmp_path):
    imported = read(EXPORTS["doccano", "lines"])
    assert rows_of(imported, "item", "page", "label") == [
        ("1", 3, "cat"),
        ("2", 4, "cat|dog"),
        ("3", 4, None),
    ]
    paths = [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"]
    for path, label in zip(paths, ("cat", "dog"), strict=True):
        path.write_text(json.dumps({"id": 1, "text": "meow", "label": [label]}), encoding="utf-8")
    imported = read_export(paths, tool="doccano")
    assert rows_of(imported, "annotator", "label") == [("ann", "cat"), ("bob", "dog")]


def test_different_items_of_the_same_id_are_refused(tmp_path):
    paths = [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"]
    for path, text in zip(paths, ("meow", "woof"), strict=True):
        line = {"id": 1, "text": text, "label": ["cat"]}
        path.write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(TableError, match="'1': 'text' is meow in one and woof in the other"):
        read_export(paths, tool="doccano")


def test_fields_that_differ_between_answers_are_not_those_of_the_item(read):
    lines = [PRODIGY_CHOICE[0], PRODIGY_CHOICE[1] | {"comment": "hm"}]
    lines[0] = lines[0] | {"comment": "oh"}
    imported = read("\n".join(map(json.dumps, lines)))
    assert list(imported.frame) == ["item", "text", "source", "annotator", "label"]
    assert imported.notices == (
        "Left out fields that differ between answers for the same item: comment.",
    )


def test_tasks_without_an_id_are_not_taken_for_others(read):
    said = [annotation(choice("cat"), by=1), annotation(choice("dog"), by=2)]
    export = [
        {"data": {"text": "meow"}, "annotations": said},
        {"id": 1, "data": {"text": "woof"}, "annotations": said},
    ]
    imported = read(export)
    assert rows_of(imported, "item", "text", "label") == [
        *(("1", "meow", "cat"), ("1", "meow", "dog")),
        *(("2", "woof", "cat"), ("2", "woof", "dog")),
    ]
    assert imported.notices == ("Some tasks have no id: items are called by their numbers.",)


def test_answers_of_nobody_are_votes_of_their_own_beside_those_of_others(read):
    nobody = [annotation(choice("cat"), by=None), annotation(choice("dog"), by=None)]
    export = [
        {"id": 1, "data": {"text": "meow"}, "annotations": nobody},
        {"id": 2, "data": {"text": "woof"}, "annotations": [nobody[1], annotation(choice("dog"))]},
    ]
    imported = read(export)
    assert rows_of(imported, "item", "annotator", "label") == [
        *(("1", "unnamed", "cat"), ("1", "unnamed 2", "dog")),
        *(("2", "unnamed", "dog"), ("2", "1", "dog")),
    ]
    assert imported.notices == ("Answers that do not say who gave them are those of 'unnamed'.",)
    assert "annotator" not in read(export[:1]).options()


def test_spans_of_doccano_are_refused(read):
    line = {"id": 1, "text": "meow", "label": [[0, 4, "SOUND"]], "Comments": []}
    with pytest.raises(TableError, match="Record 1 of .*no spans"):
        read(json.dumps(line))


@pytest.mark.parametrize("form", ["records", "flat"])
def test_responses_of_argilla_by_user(read, form):
    imported = read(EXPORTS["argilla", form])
    assert rows_of(imported, "item", "text", "annotator", "label")[:2] == [
        ("a", "meow", "u1", "cat"),
        ("a", "meow", "u2", "dog"),
    ]
    assert "1 suggestion" in " ".join(imported.notices)
    suggested = read(EXPORTS["argilla", form], predictions=True)
    assert ("model m1", "dog") in rows_of(suggested, "annotator", "label")


def test_responses_of_argilla_that_may_be_drafts_are_told(read):
    (told,) = (each for each in read(EXPORTS["argilla", "records"]).notices if "pending" in each)
    assert told.startswith("1 pending record with responses that do not say")
    export = json.loads(EXPORTS["argilla", "records"])
    export[1]["responses"]["animal"][0]["status"] = "draft"
    imported = read(export)
    assert rows_of(imported, "label")[-1] == (None,)
    assert imported.notices == ("Left out: 1 suggestion, 1 unsubmitted response.",)


def test_records_of_argilla_1(read):
    assert rows_of(read(EXPORTS["argilla", "feedback"]), "item", "text", "label") == [
        ("a", "meow", "cat")
    ]
    imported = read(EXPORTS["argilla", "texts"])
    assert rows_of(imported, "item", "page", "label") == [("a", 3, "cat"), ("b", None, None)]


def test_toloka_leaves_out_rejected_assignments_and_knows_control_tasks(read):
    imported = read(EXPORTS["toloka", "tsv"])
    assert rows_of(imported, "item", "image", "truth", "annotator", "label") == [
        ("1.jpg", "1.jpg", None, "w1", "cat"),
        ("1.jpg", "1.jpg", None, "w2", "dog"),
        ("2.jpg", "2.jpg", "dog", "w1", "dog"),
    ]
    assert imported.truth == "truth"
    assert "1 unaccepted assignment" in imported.notices[0]


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ('{"cat": true, "dog": true, "cow": false}', "cat|dog"),
        ('["cat", "dog"]', "cat|dog"),
        ("{cat}", "{cat}"),
    ],
)
def test_checked_boxes_of_toloka(read, answer, label):
    rows = [{"INPUT:image": 1, "OUTPUT:result": answer}, {"INPUT:image": 2, "OUTPUT:result": "x"}]
    imported = read(pd.DataFrame(rows).to_csv(index=False, sep="\t"))
    assert rows_of(imported, "label") == [(label,), ("x",)]


def test_mturk_answers_of_forms_and_of_crowd_elements(read):
    assert rows_of(read(EXPORTS["mturk", "csv"]), "item", "image_url", "annotator", "label") == [
        ("1.jpg", "1.jpg", "W1", "cat"),
        ("1.jpg", "1.jpg", "W2", "cat|dog"),
        ("2.jpg", "2.jpg", "W1", "dog"),
    ]
    assert rows_of(read(EXPORTS["mturk", "crowd"]), "annotator", "label") == [
        ("W1", "cat"),
        ("W2", "dog"),
    ]
    boxes = "HITId,WorkerId,AssignmentStatus,Answer.pet.cat,Answer.pet.dog\nH1,W1,,true,false\n"
    assert rows_of(read(boxes), "label") == [("cat",)]


@pytest.mark.parametrize(
    ("answers", "labels"),
    [
        (["Cat", ""], ["Cat", None]),
        (["True", "False"], ["True", "False"]),
        (["on", "off"], ["on", "off"]),
        (['["Cat", "Dog"]', "Cat"], ["Cat|Dog", "Cat"]),
    ],
)
@pytest.mark.parametrize("column", ["Answer.category.label", "Answer.category"])
def test_a_single_column_of_mturk_holds_the_label_whatever_it_is(read, column, answers, labels):
    rows = [{"HITId": f"H{n}", "WorkerId": "W", column: said} for n, said in enumerate(answers)]
    imported = read(pd.DataFrame(rows).to_csv(index=False))
    assert rows_of(imported, "label") == [(label,) for label in labels]


def test_only_a_form_of_mturk_separates_labels(read):
    rows = "HITId,WorkerId,{0}\nH1,W1,Cat|Dog\nH2,W1,Cow\n"
    for column, labels in (
        ("Answer.pets", ("Cat", "Cow", "Dog")),
        ("Answer.pets.label", ("Cat|Dog", "Cow")),
    ):
        assert read(rows.format(column)).counts().labels == labels


def test_sagemaker_manifests_and_votes(read):
    assert rows_of(read(EXPORTS["sagemaker", "manifest"]), "source-ref", "label") == [
        ("s3://b/1.jpg", "cat"),
        ("s3://b/2.jpg", "dog"),
        ("s3://b/3.jpg", None),
    ]
    assert rows_of(read(EXPORTS["sagemaker", "several"]), "source", "label") == [
        ("meow", "cat|dog")
    ]
    assert rows_of(read(EXPORTS["sagemaker", "workers"]), "source", "annotator", "label") == [
        ("meow", "w1", "cat"),
        ("meow", "w2", "dog"),
        ("woof", "w1", "dog"),
    ]


def test_labels_by_the_model_of_sagemaker_are_predictions(read):
    lines = json.loads(json.dumps(SAGEMAKER))
    lines[1]["pet-metadata"]["human-annotated"] = "no"
    export = "\n".join(map(json.dumps, lines))
    imported = read(export)
    assert rows_of(imported, "label") == [("cat",), (None,), (None,)]
    assert imported.notices == ("Left out: 1 machine label, 1 failed object.",)
    assert rows_of(read(export, predictions=True), "label")[1] == ("dog",)


def test_what_a_queue_shows_to_people_does_not_come_back(read):
    data = {"text": "meow", "disambig_row": 3, "disambig_candidates": "cat 60 %, dog 40 %"}
    said = [annotation(choice("cat"))]
    tasks = [{"id": 1, "data": data, "annotations": said}]
    # A second round of the same row, with other beliefs.
    again = data | {"disambig_candidates": "dog 90 %", "text": "Meow"}
    tasks.append({"id": 2, "data": again, "annotations": said})
    imported = read(tasks)
    assert list(imported.frame) == ["item", "disambig_row", "annotator", "label"]
    assert "differ between answers for the same item: text" in imported.notices[0]


def test_names_that_a_queue_gave_its_rows_come_before_those_of_the_tool(read):
    export = json.loads(json.dumps(LABEL_STUDIO))
    for number, task in enumerate(export):
        task["data"] |= {"disambig_id": f"x{number // 2}", "item": "all the same"}
    imported = read(export)
    assert rows_of(imported, "item", "label", "data_item")[::2] == [
        ("x0", "cat", "all the same"),
        ("x1", None, "all the same"),
    ]


def test_halves_of_characters_in_embedded_json_are_no_text(read):
    export = json.loads(EXPORTS["sagemaker", "workers"])
    export[0]["dataObject"]["content"] = '{"source": "\\ud800"}'
    assert rows_of(read(export), "source", "label")[0] == (None, "cat")


def test_fields_with_the_names_of_our_columns_are_renamed(read):
    export = [{"id": 1, "data": {"label": "old"}, "annotations": [annotation(choice("cat"))]}]
    assert rows_of(read(export), "data_label", "label") == [("old", "cat")]


def test_lists_and_embedded_files_are_left_out_with_a_notice(read):
    data = {"text": "x", "tokens": [1, 2], "image": "data:image/png;base64,AAAA"}
    imported = read([{"id": 1, "data": data, "annotations": [annotation(choice("cat"))]}])
    assert list(imported.frame) == ["item", "text", "label"]
    assert "tokens, image" in imported.notices[0]


def test_labels_with_signs_of_their_own_are_written_literally(read):
    names = ["a|b", "12:30", "!x", "NA", "plain"]
    export = [
        {"id": number, "data": {"text": "t"}, "annotations": [annotation(choice(*labels))]}
        for number, labels in enumerate(([names[0], names[1]], names[2:4], names[4:]))
    ]
    imported = read(export)
    assert imported.options()["literal_labels"] is True
    sets = imported.labels.read(imported.frame)
    assert sets.classes.tolist() == sorted(names)
    assert [sorted(row) for row in sets.to_sets()] == [
        sorted(names[:2]),
        sorted(names[2:4]),
        ["plain"],
    ]


def test_a_label_that_looks_like_two_is_not_taken_for_them(read):
    export = [
        {"id": number, "data": {"text": "t"}, "annotations": [annotation(choice(*labels))]}
        for number, labels in enumerate((["a|b"], ["a", "b"], ["a"]))
    ]
    imported = read(export)
    sets = imported.labels.read(imported.frame)
    assert [sorted(row) for row in sets.to_sets()] == [["a|b"], ["a", "b"], ["a"]]


def test_percentages_in_labels_are_not_weights(read):
    chosen = (["0-25%"], ["26-50%"], ["0-25%", "26-50%"], ["cat (70%)"], ["cat"])
    export = [
        {"id": number, "data": {"text": "t"}, "annotations": [annotation(choice(*labels))]}
        for number, labels in enumerate(chosen)
    ]
    imported = read(export)
    sets = imported.labels.read(imported.frame)
    assert sets.classes.tolist() == ["0-25%", "26-50%", "cat", "cat (70%)"]
    assert [sorted(row) for row in sets.to_sets()] == list(map(list, chosen))
    assert sets.weights is None


def test_numbers_that_are_none_are_the_same_in_all_tasks_of_an_item(read):
    said = json.dumps([annotation(choice("cat"))])
    task = f'{{"id": 1, "data": {{"size": NaN}}, "annotations": {said}}}'
    imported = read(f"[{task}, {task}]")
    assert rows_of(imported, "item", "size") == [("1", None), ("1", None)]


@pytest.mark.parametrize("tool", ["doccano", "prodigy", "argilla"])
def test_the_export_of_another_tool_is_refused(read, tool):
    with pytest.raises(TableError, match="looks like an export of Label Studio: --from label-stu"):
        read(LABEL_STUDIO[:1], tool=tool)


def test_a_file_of_no_tool_needs_a_name(read):
    with pytest.raises(TableError, match="not recognised.*label-studio, doccano, prodigy"):
        read("size,label\n1,cat\n")
