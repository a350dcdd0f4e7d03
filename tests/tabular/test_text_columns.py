"""Columns of free text from a table to a model, a folder and back."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from disambig import audit_table, clean_table, fit_table, load_model
from disambig._core.array_file import read_arrays, write_arrays
from disambig._core.errors import ModelFileError, TableError
from disambig._core.fingerprint import file_digest
from disambig.methods.registry import get_method
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer

TOPICS = {
    "animals": ["cat", "dog", "horse", "bird", "mouse"],
    "food": ["bread", "soup", "cheese", "apple", "rice"],
    "tools": ["hammer", "saw", "drill", "nail", "screw"],
}


def table(n_rows=90, seed=0):
    """Return texts of a few words of a topic among others, sets of two topics, and a number."""
    generator = np.random.default_rng(seed)
    topics = generator.choice(list(TOPICS), n_rows)
    others = [generator.choice([name for name in TOPICS if name != topic]) for topic in topics]
    filler = ["the", "a", "is", "here", "with", "and", "some", "more", "old", "new"]
    words = [[*generator.choice(TOPICS[t], 3), *generator.choice(filler, 4)] for t in topics]
    texts = [" ".join(generator.permutation(each)) for each in words]
    return pd.DataFrame(
        {
            "text": texts,
            "size": generator.normal(size=n_rows),
            "label": [f"{a}|{b}" for a, b in zip(topics, others, strict=True)],
            "topic": topics,
        }
    )


def fitted(method, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_table(table(), method=method, truth="topic", n_folds=0, **given)


@pytest.mark.parametrize("method", ["em", "clpl", "sure", "plknn"])
def test_topics_are_learned_from_words_and_a_saved_model_gives_the_same_bits(method, tmp_path):
    model = fitted(get_method(method)(), out=tmp_path / "model")
    new = table(200, seed=1)
    assert (model.predict(new)["predicted_label"] == new["topic"]).mean() > 0.9
    loaded = load_model(tmp_path / "model", only_predict=True)
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


def test_words_are_sparse_for_methods_that_take_them_and_few_numbers_for_others():
    plan, values, _ = plan_columns(table()[["text", "size"]])
    words = FeatureTransformer.fit(values, plan, scaling="standard", sparse=True)
    directions = FeatureTransformer.fit(values, plan, scaling="standard")
    X, dense = words.transform(values), directions.transform(values)
    assert sparse.issparse(X)
    assert dense.shape == (90, directions.n_features)
    assert dense.shape[1] < X.shape[1] == words.n_features
    np.testing.assert_array_equal(X[:, [0]].toarray(), dense[:, [0]])
    expected = (X[:, 1:] @ X[:, 1:].T).toarray()
    # As many directions as rows keep all distances.
    np.testing.assert_allclose(dense[:, 1:] @ dense[:, 1:].T, expected, atol=1e-3)


def test_words_of_held_out_rows_are_not_learned():
    rows = table()
    rows.loc[rows.index[-5:], "text"] = "xylophone xylophone nobody else says that"
    plan, values, _ = plan_columns(rows[["text"]])
    learned = FeatureTransformer.fit(values.iloc[:-5], plan, scaling="none", sparse=True)
    assert "xylophone" not in learned.texts["text"].kinds[0].terms


def test_empty_and_missing_texts_are_predicted():
    model = fitted("em")
    new = pd.DataFrame({"text": ["", None, "cat dog"], "size": [0.0, 1.0, None]})
    assert np.isfinite(model.predict_proba(new)).all()


def test_a_column_is_text_if_it_is_said_to_be():
    frame = pd.DataFrame({"word": ["red", "blue"] * 10, "label": ["a", "b"] * 10})
    plan, values, _ = plan_columns(frame, text="word", reserved="label")
    assert plan.columns[0].kind == "text"
    assert values["word"].tolist() == ["red", "blue"] * 10
    with pytest.raises(TableError, match="'word' was chosen as more than one"):
        plan_columns(frame, text="word", categories="word", reserved="label")
    with pytest.raises(TableError, match="'wrod'"):
        plan_columns(frame, text="wrod", reserved="label")


def test_people_are_told_what_was_recognised_as_text_beside_other_columns():
    rows = table()[["text", "size"]]
    [notice] = plan_columns(rows)[2]
    assert notice.startswith("Read 'text' as text: its words are features.")
    assert plan_columns(rows[["text"]])[2] == []
    assert plan_columns(rows, text="text")[2] == []


def test_numbers_can_be_said_to_be_text():
    plan, values, _ = plan_columns(pd.DataFrame({"n": [1.0, 2.0, np.nan]}), text="n")
    assert plan.columns[0].kind == "text"
    assert values["n"].tolist() == ["1", "2", ""]


def test_names_that_mostly_differ_are_left_out_with_a_notice_and_text_if_chosen():
    names = [*(f"w{n}" for n in range(30)), "w1"]
    frame = pd.DataFrame({"name": names, "size": np.sin(np.arange(31.0))})
    plan, _, notices = plan_columns(frame)
    assert plan.names == ["size"]
    assert "'name', which holds names or codes" in notices[0]
    assert plan_columns(frame, features="name")[0].columns[0].kind == "text"


def test_audit_and_clean_show_and_use_texts():
    rows = table(60)
    report = audit_table(rows, truth="topic")
    assert report.features == {"text": ("text",), "number": ("size",)}
    cleaned = clean_table(rows, truth="topic", method="em", n_folds=3)
    assert (cleaned["chosen_label"] == rows["topic"]).mean() > 0.8


@pytest.mark.parametrize("method", ["em", "sure"])
def test_a_damaged_file_of_texts_is_refused(method, tmp_path):
    fitted(method, out=tmp_path / "model")
    path = tmp_path / "model" / "features.safetensors"
    kind = "file of table features"
    arrays, description = read_arrays(path, kind, 2)
    arrays["text0.words.weights"] = arrays["text0.words.weights"][:-1]
    write_arrays(path, kind, 2, arrays, description)
    about = tmp_path / "model" / "model.json"
    digests = [file_digest(path.read_bytes(), "sha256")]
    text = about.read_text()
    start = text.index("features.safetensors")
    old = text[start:].split('"')[2]
    about.write_text(text.replace(old, digests[0]))
    with pytest.raises(ModelFileError, match="every term of a text needs a weight"):
        load_model(tmp_path / "model")


def test_a_table_of_short_texts_alone_says_how_to_learn_from_them():
    rows = pd.DataFrame({"title": [f"word{n} other{n % 7}" for n in range(40)], "label": "a|b"})
    rows.loc[0, "label"] = "b"
    with pytest.raises(TableError, match=r"'title' holds names or codes\. .* --text"):
        fit_table(rows, method="em", n_folds=0)
    assert fit_table(rows, method="em", n_folds=0, text="title").plan.by_kind() == {
        "text": ["title"]
    }
