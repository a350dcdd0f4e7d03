"""Texts as features, compared with scikit-learn's TF-IDF."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from disambig.tabular.columns import text_features
from disambig.tabular.columns.text_features import KINDS, TextFeatures, readable

TEXTS = [
    "The cat sat on the mat.",
    "A dog sat on a log; the cat did not.",
    "Dogs and cats, cats and dogs!",
    "",
    "Nothing here but a mat and a log.",
]


def test_words_are_those_of_tf_idf():
    learned = TextFeatures.fit(TEXTS).kinds[KINDS.index("words")]
    expected = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = expected.fit_transform(TEXTS)
    assert learned.terms == expected.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        learned.transform([readable(text) for text in TEXTS]).toarray(), X.toarray()
    )


def test_pieces_are_those_of_tf_idf():
    learned = TextFeatures.fit(TEXTS).kinds[KINDS.index("pieces")]
    expected = TfidfVectorizer(sublinear_tf=True, min_df=2, analyzer="char_wb", ngram_range=(3, 4))
    X = expected.fit_transform(TEXTS)
    assert learned.terms == expected.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        learned.transform([readable(text) for text in TEXTS]).toarray(), X.toarray()
    )


def test_all_kinds_together_give_rows_of_length_one():
    X = TextFeatures.fit(TEXTS).transform([*TEXTS, "zzz"])
    lengths = np.sqrt(np.square(X.toarray()).sum(axis=1))
    np.testing.assert_allclose(lengths, [1, 1, 1, 0, 1, 0], atol=1e-12)
    assert X.shape[1] == TextFeatures.fit(TEXTS).n_features


def test_what_is_read_from_arrays_gives_the_same_bits():
    learned = TextFeatures.fit(TEXTS)
    again = TextFeatures.from_arrays(learned.to_arrays())
    assert (again.transform(TEXTS) != learned.transform(TEXTS)).nnz == 0


def test_the_order_of_rows_does_not_matter():
    forwards, backwards = TextFeatures.fit(TEXTS), TextFeatures.fit(TEXTS[::-1])
    for one, other in zip(forwards.kinds, backwards.kinds, strict=True):
        assert one.terms == other.terms
        np.testing.assert_array_equal(one.weights, other.weights)


def test_letters_of_a_script_without_spaces_are_pieces():
    learned = TextFeatures.fit(["今天的天气很好", "明天的天气不好"])
    pieces = learned.kinds[KINDS.index("pieces")].terms
    assert {"天", "天气", "的天气"} <= set(pieces)


@pytest.mark.parametrize("texts", [["", "", ""], ["!", "?", ""], ["a"], [" \n ", "\x00"]])
def test_texts_that_say_nothing_make_features_that_are_zero_or_finite(texts):
    learned = TextFeatures.fit(texts)
    assert learned.n_features >= 2
    X = learned.transform([*texts, "something else"])
    assert X.shape == (len(texts) + 1, learned.n_features)
    assert np.isfinite(X.toarray()).all()
    again = TextFeatures.from_arrays(learned.to_arrays())
    assert (again.transform(texts) != learned.transform(texts)).nnz == 0


def test_half_a_pair_of_surrogates_can_be_kept():
    learned = TextFeatures.fit(["bad \ud800 end", "bad \ud800 end"])
    TextFeatures.from_arrays(learned.to_arrays())


def test_of_long_texts_the_beginning_is_read():
    long = "start " + "filler " * 200_000
    learned = TextFeatures.fit([long, long + "end"])
    assert "end" not in learned.kinds[0].terms
    assert (learned.transform([long]) != learned.transform([long + "end"])).nnz == 0


def test_of_many_terms_the_most_frequent_are_kept(monkeypatch):
    monkeypatch.setattr(text_features, "_MOST_TERMS", 3)
    texts = ["aa bb cc dd ee", "bb cc dd ee", "bb cc dd", "cc dd"]
    assert TextFeatures.fit(texts).kinds[0].terms == ["bb", "cc", "dd"]


def test_terms_that_are_rare_are_forgotten_before_there_are_too_many(monkeypatch):
    monkeypatch.setattr(text_features, "_MOST_COUNTED", 10)
    texts = [f"often w{n} x{n}" for n in range(50)]
    assert TextFeatures.fit(texts).kinds[0].terms == ["often"]


def test_of_many_rows_some_are_learned_from_evenly_spaced(monkeypatch):
    monkeypatch.setattr(text_features, "_MOST_LEARNED_FROM", 12)
    texts = ["left", "right"] * 6
    assert TextFeatures.fit(texts).kinds[0].terms == ["left"]


def spoilt(name, change):
    arrays = TextFeatures.fit(TEXTS).to_arrays()
    arrays[name] = change(arrays[name])
    return arrays


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("words", lambda array: array[::-1].copy()),
        ("words", lambda array: array[:-5]),
        ("words", lambda array: array.astype(np.int64)),
        ("words", lambda array: np.full_like(array, 255)),
        ("words", lambda array: np.array([array])),
        ("words.weights", lambda array: array[1:]),
        ("words.weights", lambda array: -array),
        ("words.weights", lambda array: np.full_like(array, np.inf)),
        ("words.weights", lambda array: array.astype(np.float32)),
        ("pieces", lambda array: np.concatenate([array, array])),
        ("others", lambda array: array),
    ],
)
def test_arrays_that_no_fit_can_have_learned_are_refused(name, change):
    with pytest.raises((ValueError, KeyError)):
        TextFeatures.from_arrays(spoilt(name, change))
