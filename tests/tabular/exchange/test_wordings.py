"""Wordings matched to labels: spelling, plurals, sentences, and what is not a label."""

import pytest

from disambig._core.errors import ParameterError
from disambig.tabular import match_wordings


def meant_by(wordings, labels):
    """Return what each wording means: "cat", or "cat|dog" for a list; None if it is not clear."""
    found = match_wordings(wordings, labels).candidates
    return ["|".join(each) or None for each in found]


@pytest.mark.parametrize(
    ("wording", "label"),
    [
        *(("Cat", "cat"), ("cats.", "cat"), ("**Dog**", "dog"), ("It's a cat!", "cat")),
        *(("nyc", "New York"), ("I live in New York, really", "New York"), ("horsse", "horse")),
        *(("puppy", "puppies"), ("glasses", "glass"), ("C++", "C++"), ("c", "C")),
        *(("not a cat", None), ("cats and dogs", None), ("house", None), ("Unknown", None)),
        *(("", None), ("...", None), ("category", None), ("x" * 10_000, None)),
    ],
)
def test_a_wording_is_a_label_only_if_it_is_clear(wording, label):
    labels = dict.fromkeys(["cat", "dog", "York", "horse", "puppies", "glass", "C++", "C"], ())
    assert meant_by([wording], {**labels, "New York": ["NYC"]}) == [label]


@pytest.mark.parametrize(
    "wording",
    [
        *("I don't think it is relevant", "can't say: relevant", "anything but relevant"),
        *("far from relevant", "It rules out relevant", "relevant is unlikely", "non-relevant"),
        *("nicht relevant", "pas relevant", "It wasn\u2019t relevant", "not relevent, I think"),
    ],
)
def test_a_sentence_that_may_say_what_is_not_the_case_means_no_label(wording):
    assert meant_by([wording], ["relevant", "other"]) == [None]


@pytest.mark.parametrize(
    ("wording", "label"),
    [
        *(("not spam", "not spam"), ("It is not spam.", "not spam"), ("This is spam", "spam")),
        *(("Not a spam message", None), ("not sport", None), ("I do not know", None)),
    ],
)
def test_a_label_with_a_not_in_it_does_not_make_other_sentences_with_not_clear(wording, label):
    assert meant_by([wording], ["spam", "not spam", "sport"]) == [label]


def test_words_that_differ_by_more_than_a_slip_are_different_and_slips_are_reported():
    labels = ["relevant", "symptomatic", "correct", "Austria", "hypotension", "New York", "York"]
    others = ["irrelevant", "asymptomatic", "incorrect", "Australia", "hypertension"]
    matched = match_wordings([*others, "relevnat", "corect", "corect", "Nwe York"], labels)
    assert matched.candidates == (
        *[()] * 5, ("relevant",), ("correct",), ("correct",), ("New York",)
    )  # fmt: skip
    assert matched.notices()[0] == (
        "Read 4 answers as misspelled: 'corect' as 'correct' (2 times); "
        "'Nwe York' as 'New York' (1 time); 'relevnat' as 'relevant' (1 time)."
    )


@pytest.mark.parametrize(
    ("labels", "meant"),
    [
        (
            ["-1", "0", "1"],
            {"-1": "-1", "Say \u22121": "-1", "1.": "1", "It is 0": "0", "0.5": None},
        ),
        (["1", "2", "3"], {"1.6": None, "2,5": None, "3 of 10": "3", "2/3": None}),
        ([">50K", "<=50K"], {">50K": ">50K", "Answer: <=50K": "<=50K", "50K": None}),
        (["≥5", "<5"], {"<5": "<5", "≥5": "≥5", "5": None}),
        (["A", "B"], {"A": "A", "(b)": "B", "It is a dog": None}),
        (["news", "cats"], {"what is new": None, "It is news": "news", "a cat": None}),
        (["कुत्ता", "कुत्ती"], {"कुत्ता": "कुत्ता", "कुत्ती": "कुत्ती"}),
    ],
)
def test_signs_of_numbers_single_letters_plurals_and_vowel_marks_tell_labels_apart(labels, meant):
    assert meant_by(list(meant), labels) == list(meant.values())


@pytest.mark.parametrize(
    ("wording", "labels"),
    [
        *(("cat or dog", "cat|dog"), ("It is a cat or maybe a dog.", "cat|dog")),
        *(("Cat/Dog", "cat|dog"), ("dog, cat, or New York", "dog|cat|New York")),
        *(("A or B", "A|B"), ("3 or 4", "3|4"), ("3, 4", "3|4"), ("3/4", None)),
        *(("New York, NYC", "New York"), ("cat or a fox", "cat")),
        *(("a cat, as dogs are larger", None), ("not a cat or a dog", None)),
        *(("cat or not a dog", None), ("I don't know if it is a cat or a dog", None)),
    ],
)
def test_a_list_of_labels_means_one_of_them(wording, labels):
    names = dict.fromkeys(["cat", "dog", "A", "B", "3", "4"], ())
    assert meant_by([wording], {**names, "New York": ["NYC"]}) == [labels]


def test_a_list_of_labels_is_not_a_label_however_many_agree_on_it():
    answers = ["cat", "dog"] * 3 + ["cat or dog"] * 4
    assert match_wordings(answers).names == ("cat", "dog")


def test_a_story_is_not_searched_for_a_label():
    story = "It is a cat, " + "on the other hand " * 200 + "it barks: a dog"
    assert meant_by([story], ["cat", "dog"]) == [None]
    assert meant_by(["x" * 30_000 + " cat"], ["cat"]) == [None]


def test_labels_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ParameterError, match=r"stands for both 'New York' and 'new-york'"):
        match_wordings(["a"], ["New York", "new-york"])
    with pytest.raises(ParameterError, match="no letters"):
        match_wordings(["a"], ["!"])
    with pytest.raises(ParameterError, match="agree on, and there are none"):
        match_wordings(["a", "b"])
