import numpy as np
import pandas as pd
import pytest

from disambig._core.errors import TableError
from disambig.tabular.labels.annotations import one_row_per_item, read_annotations


@pytest.fixture
def annotations():
    return pd.DataFrame(
        {
            "photo": ["p2", "p1", "p2", "p2", "p1", "p2"],
            "who": ["ann", "ann", "ben", "eve", "ben", "ann"],
            "label": ["cat", "dog", "cat", "dog", "", "cat"],
        }
    )


def read(frame, **given):
    return read_annotations(
        frame, **{"item": "photo", "annotator": "who", "label": "label"} | given
    )


def test_votes_of_annotators_are_the_weights(annotations):
    items, candidates = read(annotations)
    assert items == ["p2", "p1"]
    assert candidates.classes.tolist() == ["cat", "dog"]
    assert candidates.weights.toarray().tolist() == [[2, 1], [0, 1]]


def test_without_annotators_every_row_is_a_vote(annotations):
    _, candidates = read(annotations, annotator=None)
    assert candidates.weights.toarray().tolist() == [[3, 1], [0, 1]]


def test_a_label_needs_enough_votes(annotations):
    photo2 = annotations[annotations["photo"] == "p2"]
    assert read(photo2, min_votes=2)[1].to_strings() == ["cat"]
    with pytest.raises(TableError, match="column 'label'.*at least 2 votes. 1 item has none"):
        read(annotations, min_votes=2)


def test_items_are_matched_as_texts():
    frame = pd.DataFrame({"photo": [3.0, np.nan, 4.0], "label": ["cat", None, 1], "who": [1, 2, 3]})
    for order in (["4", "3"], [4, 3], pd.Series([4.0, 3.0]), np.array([4, 3])):
        items, candidates = read(frame, order=order)
        assert items == ["4", "3"]
        assert candidates.to_strings() == ["1", "cat"]


def test_items_without_an_annotation_are_refused(annotations):
    with pytest.raises(TableError, match="2 of 4 items have none .* the first is 'p0'. Drop them"):
        read(annotations, order=["p0", "p1", "p2", "p3"])


def test_an_item_whose_labels_are_all_blank_has_no_annotation(annotations):
    annotations.loc[1, "label"] = None
    assert read(annotations)[0] == ["p2"]
    with pytest.raises(TableError, match="1 of 2 items has none"):
        read(annotations, order=["p1", "p2"])


def test_a_word_for_nothing_is_no_vote_unless_it_is_said_to_be(annotations):
    annotations["label"] = annotations["label"].replace({"dog": "NA"})
    assert read(annotations)[0] == ["p2"]
    assert read(annotations, literal=True)[1].to_strings() == ["NA|cat", "NA"]
    with pytest.raises(TableError, match="1 of 2 items .* 'NA' counts as empty; .* --literal-lab"):
        read(annotations, order=["p1", "p2"])


def test_a_word_for_nothing_may_name_an_item_or_an_annotator(annotations):
    named = annotations.replace({"p1": "NA", "ann": "nan"})
    assert read(named)[1] == read(annotations)[1]


def test_annotations_of_other_items_are_refused(annotations):
    with pytest.raises(TableError, match="1 of 2 are not, the first is 'p2'"):
        read(annotations, order=["p1"])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["p1", "p2", "p1"], "'p1' is in row 1 and in row 3"),
        (["p1", None], "needs an item. There is none in row 2"),
    ],
)
def test_items_in_order_are_there_once(annotations, order, message):
    with pytest.raises(TableError, match=message):
        read(annotations, order=order)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("photo", None, "the item it is about, in column 'photo'. There is none in row 3"),
        ("who", " ", "an annotator, in column 'who'. There is none in row 3.*Leave the annotator"),
    ],
)
def test_a_vote_needs_an_item_and_an_annotator(annotations, column, value, message):
    annotations.loc[2, column] = value
    with pytest.raises(TableError, match=message):
        read(annotations)


def test_several_labels_in_one_annotation_are_a_vote_for_each():
    frame = pd.DataFrame(
        {
            "photo": ["p", "p", "q", "q"],
            "who": ["a", "b", "a", "b"],
            "label": ["cat", ["cat", "dog"], "!cat", "cow|dog"],
        }
    )
    _, candidates = read(frame)
    assert candidates.classes.tolist() == ["cat", "cow", "dog"]
    assert candidates.weights.toarray().tolist() == [[2, 0, 1], [0, 2, 2]]
    frame.loc[3, "label"] = "cow;dog"
    assert read(frame, separator=";")[1] == candidates
    frame.loc[3, "label"] = "cow:0.3|dog:0.7"
    with pytest.raises(TableError, match="in row 4 of the annotations: column 'label' holds.*no w"):
        read(frame)


def test_items_without_an_annotation_may_have_any_label_if_that_is_said(annotations):
    items, candidates = read(annotations, order=["p0", "p1", "p2"], empty="all")
    assert items == ["p0", "p1", "p2"]
    assert candidates.weights.toarray().tolist() == [[1, 1], [0, 1], [2, 1]]
    _, twice = read(annotations.iloc[[0, 2]], order=["p0", "p2"], min_votes=2, empty="all")
    assert twice.to_strings() == ["cat", "cat"]


def test_columns_that_are_missing_and_tables_without_labels_are_refused(annotations):
    with pytest.raises(
        TableError, match="The table of annotations has no column 'foto'.*Did you mean 'photo'"
    ):
        read(annotations, item="foto")
    with pytest.raises(TableError, match="No row has a label in column 'label'"):
        read(annotations.assign(label=None))


def test_one_row_per_item_keeps_what_is_the_same_for_all_its_rows(annotations):
    annotations["width"] = [2.5, np.nan, 2.5, 2.5, np.nan, 2.5]
    annotations["tags"] = [["x"], ["y", "z"], ["x"], ["x"], ["y", "z"], ["x"]]
    annotations["seconds"] = [1, 2, 3, 4, 5, 6]
    annotations.index = list("zyxwvu")
    frame, varying = one_row_per_item(annotations, item="photo", annotator="who", label="label")
    assert varying == ["seconds"]
    expected = {"photo": ["p2", "p1"], "width": [2.5, np.nan], "tags": [["x"], ["y", "z"]]}
    pd.testing.assert_frame_equal(frame, pd.DataFrame(expected), check_dtype=False)


def test_an_empty_cell_does_not_differ_from_a_filled_one_of_the_same_item(annotations):
    annotations["width"] = [np.nan, 4, np.nan, 2.5, np.nan, 2.5]
    annotations["town"] = ["", "NA", "Rome", "n/a", " ", "Rome"]
    annotations["seconds"] = [None, 2, None, 4, 5, None]
    frame, varying = one_row_per_item(annotations, item="photo", annotator="who", label="label")
    assert varying == ["seconds"]
    assert frame["width"].tolist() == [2.5, 4]
    assert frame["town"].tolist() == ["Rome", "NA"]


def test_one_row_per_item_without_annotators_treats_them_as_any_column(annotations):
    frame, varying = one_row_per_item(annotations, item="photo", annotator=None, label="label")
    assert (frame.columns.tolist(), varying) == (["photo"], ["who"])


def test_rows_per_item_match_the_order_of_the_candidates(annotations):
    frame, _ = one_row_per_item(annotations, item="photo", annotator="who", label="label")
    items, _ = read(annotations, order=frame["photo"])
    assert items == frame["photo"].tolist()


def test_one_row_per_item_needs_an_item_in_every_row(annotations):
    annotations.loc[4, "photo"] = None
    with pytest.raises(TableError, match="There is none in row 5"):
        one_row_per_item(annotations, item="photo", annotator="who", label="label")
