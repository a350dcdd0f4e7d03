"""New rows that come with candidate sets get one of their candidates."""

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, LabelColumns, fit_table, load_model
from disambig._core.errors import ParameterError, TableError
from tabular.small_tables import neighbours, photos, quick_network

TRAIN = photos()
NEW = photos(8, seed=1)
OPTIONS = {"ignore": ["truth"], "group": "photo", "method": neighbours()}
SETS = CandidateLabels.from_strings(NEW["label"], classes=["ann", "bob", "eve", "joe"])
PHOTO = NEW["photo"].tolist()


@pytest.fixture(scope="module")
def model():
    return fit_table(TRAIN, **OPTIONS, coverage=0.8)


def test_the_most_probable_candidate_is_predicted(model):
    predicted = model.predict(NEW, labels="label")
    inside = np.where(SETS.to_mask(), model.predict_proba(NEW), 0)
    expected = inside / inside.sum(axis=1, keepdims=True)
    assert predicted["predicted_label"].tolist() == model.classes[expected.argmax(axis=1)].tolist()
    np.testing.assert_allclose(predicted["probability"], expected.max(axis=1), atol=1e-6)
    free = model.predict(NEW)
    assert (free["predicted_label"] != predicted["predicted_label"]).any()


def test_weights_count_as_in_cleaning(model):
    frame = NEW.head(2).assign(label=["ann:3|bob:1", "joe:1|eve:1"])
    predicted = model.predict(frame, labels="label", top=2)
    said = model.predict_proba(frame)
    weighted = said * [[3, 1, 0, 0], [0, 0, 1, 1]]
    expected = np.sort(weighted / weighted.sum(axis=1, keepdims=True), axis=1)[:, ::-1]
    np.testing.assert_allclose(predicted["probability"], expected[:, 0], atol=1e-6)
    np.testing.assert_allclose(predicted["probability_2"], expected[:, 1], atol=1e-6)


@pytest.mark.parametrize("kind", ["cover", "exclusive"])
def test_rows_of_a_group_hear_of_each_other(kind):
    raw = fit_table(TRAIN, **OPTIONS, calibrate="none")
    options = {"group": "photo", "promise": kind, "promise_strength": 0.8}
    predicted = raw.predict(NEW, labels="label", **options)
    # By the classifier itself, to which sets and groups are given as such.
    grouped = SETS.with_groups(PHOTO, promise=kind, strength=0.8)
    X = raw.transformer.transform(NEW[["x", "y"]].astype(float))
    expected = raw.classifier.candidate_confidences(X, grouped).toarray()
    assert predicted["predicted_label"].tolist() == raw.classes[expected.argmax(axis=1)].tolist()
    np.testing.assert_allclose(predicted["probability"], expected.max(axis=1), atol=1e-6)
    alone = raw.predict(NEW, labels="label")
    right = [(one["predicted_label"] == NEW["truth"]).mean() for one in (alone, predicted)]
    assert right[1] > right[0]
    # Groups that came with the sets are those of the column.
    assert raw.predict(NEW, labels=grouped).equals(predicted)


def test_cells_are_empty_where_a_set_has_fewer_labels(model):
    predicted = model.predict(NEW, labels="label", top=4)
    sizes = NEW["label"].str.count("[|]") + 1
    for place in range(2, 5):
        assert (predicted[f"label_{place}"].isna() == (sizes < place)).all()
        assert (predicted[f"probability_{place}"].isna() == (sizes < place)).all()


def test_possible_labels_are_candidates_that_the_model_does_not_rule_out(model):
    predicted = model.predict(NEW, labels="label", group="photo", promise="cover")
    free = model.predict(NEW)
    for row, (own, every, cell) in enumerate(
        zip(predicted["possible_labels"], free["possible_labels"], NEW["label"], strict=True)
    ):
        allowed = set(every.split("|")) & set(cell.split("|"))
        assert set(own.split("|")) == allowed | {predicted["predicted_label"][row]}
        assert own.split("|")[0] == predicted["predicted_label"][row]


def test_rows_in_slices_hear_of_each_other_all_the_same(model, monkeypatch):
    options = {"labels": "label", "group": "photo", "promise": "cover", "top": 2}
    expected = model.predict(NEW, **options)
    monkeypatch.setattr("disambig.tabular.new_rows._PROBABILITIES_AT_A_TIME", 12)
    pd.testing.assert_frame_equal(model.predict(NEW, **options), expected)


def test_a_model_that_was_saved_predicts_candidates_alike(tmp_path):
    options = OPTIONS | {"method": quick_network(), "n_folds": 2}
    model = fit_table(TRAIN, **options, out=tmp_path / "model")
    told = {"labels": "label", "group": "photo", "promise": "cover"}
    loaded = load_model(tmp_path / "model", only_predict=True)
    expected = model.predict(NEW, **told)
    pd.testing.assert_frame_equal(loaded.predict(NEW, **told), expected, atol=1e-5)


def test_rows_may_all_have_one_label_or_any(model):
    one = NEW.head(3).assign(label="bob")
    predicted = model.predict(one, labels="label")
    assert predicted["predicted_label"].tolist() == ["bob"] * 3
    assert predicted["probability"].tolist() == [1.0] * 3
    gap = NEW.head(3).assign(label=["bob", "", "ann"])
    any_label = model.predict(gap, labels=LabelColumns(empty="all"))
    assert any_label["predicted_label"][1] == model.predict(gap)["predicted_label"][1]
    with pytest.raises(TableError, match=r"There is none in row 2.*--empty all"):
        model.predict(gap, labels="label")


@pytest.mark.parametrize("made_elsewhere", [False, True])
def test_a_label_that_the_model_does_not_know_is_refused_with_its_row(model, made_elsewhere):
    frame = NEW.head(4).assign(label=["ann|bob", "ann", "ann|anna", "ann|anna"])
    labels = CandidateLabels.from_strings(frame["label"]) if made_elsewhere else "label"
    with pytest.raises(TableError, match=r"the first is row 3.*'anna' is not one of the 4 classes"):
        model.predict(frame, labels=labels)


def test_classes_that_no_row_has_do_not_matter(model):
    sets = CandidateLabels.from_strings(NEW["label"], classes=["zoe", "joe", "eve", "bob", "ann"])
    expected = model.predict(NEW, labels="label")
    pd.testing.assert_frame_equal(model.predict(NEW, labels=sets), expected)


@pytest.mark.parametrize("options", [{"group": "photo"}, {"group": "photo", "promise": "cover"}])
def test_groups_without_sets_are_refused(model, options):
    with pytest.raises(ParameterError, match="need candidate labels. Name their column by --lab"):
        model.predict(NEW, **options)


def test_what_cannot_be_the_groups_of_new_rows_is_refused(model):
    with pytest.raises(TableError, match="cannot be the groups of rows: it already holds the cand"):
        model.predict(NEW, labels="label", group="label")
    with pytest.raises(ParameterError, match="A promise is about rows that come together"):
        model.predict(NEW, labels="label", promise="cover")
    frame = NEW.assign(photo=NEW["photo"].where(NEW.index > 0, ""))
    with pytest.warns(UserWarning, match="names no group for row 1. It stands alone"):
        model.predict(frame, labels="label", group="photo")
