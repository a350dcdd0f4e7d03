import numpy as np
import pytest

from disambig._core.errors import ParameterError
from disambig._core.fingerprint import fingerprint_of
from disambig.candidates.groups import Promise
from disambig.solvers import annotator_model
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.solvers.annotators import collect_answers

NAMES = np.array(["cat", "cow", "dog"])
PEOPLE = ("Ann", "Bob", "Cem", "Eve")


def made(seed=0, n_items=90, per_item=3, people=PEOPLE):
    """Return a model of answers, most of which are right; the last item has none."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, n_items)
    rows = [
        (item, annotator, truth[item] if random.random() < 0.8 else random.integers(0, 3))
        for item in range(n_items - 1)
        for annotator in random.permutation(4)[:per_item]
    ]
    columns = np.array(rows).T
    answers = collect_answers(*columns, np.eye(3, dtype=bool), n_items=n_items, n_annotators=4)
    return AnnotatorModel.of_answers(answers, people, NAMES), columns


def test_sets_hold_what_was_named_and_what_explains_the_answers():
    model, (items, _, labels) = made()
    votes = np.zeros((90, 3))
    np.add.at(votes, (items, labels), 1)
    np.testing.assert_array_equal(model.votes, votes)
    named = votes > 0
    named[-1] = True  # nobody was asked, so it may be anything
    np.testing.assert_array_equal(model.said.to_mask(), named)
    likelihood = model.known.likelihood
    np.testing.assert_array_equal(model.possible().to_mask(), named | (likelihood >= 0.02))
    np.testing.assert_array_equal(model.candidates.to_mask(), likelihood >= 0.5 / 3)
    assert (model.candidates.sizes < model.possible().sizes).any()
    # What a group promises is about labels that somebody named.
    np.testing.assert_array_equal(model.possible(Promise("cover")).to_mask(), named)
    weights = model.candidates.weights.toarray()
    mask = model.candidates.to_mask()
    np.testing.assert_allclose(weights[mask], np.maximum(model.known.likelihood, 1e-6)[mask])
    assert weights[-1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("n_classes", [2, 3, 10, 50])
def test_a_single_answer_of_somebody_unknown_leaves_all_labels(n_classes):
    items = np.arange(n_classes)
    answers = collect_answers(
        items,
        np.zeros_like(items),
        items,
        np.eye(n_classes, dtype=bool),
        n_items=n_classes,
        n_annotators=1,
    )
    model = AnnotatorModel.of_answers(answers, ["Ann"], items)
    assert (model.candidates.sizes == n_classes).all()
    np.testing.assert_array_equal(model.choose(), items)


def test_a_classifier_is_heard():
    model, _ = made()
    said = np.full((90, 3), 0.05)
    said[:, 2] = 0.9
    assert model.given(said).choose()[-1] == "dog"
    expected = NAMES[model.known.posterior.argmax(axis=1)]
    np.testing.assert_array_equal(model.choose(), expected)


def test_a_second_round_is_for_items_with_one_answer():
    assert made(per_item=3)[0].n_rounds == 1
    assert made(per_item=1)[0].n_rounds == 2


def test_quality_has_the_names_of_annotators_and_agreement_their_numbers():
    model, (items, annotators, labels) = made(n_items=60)
    quality = model.quality()
    assert list(quality) == list(PEOPLE)
    assert quality["Ann"].n_answers == (annotators == 0).sum()
    pair = model.agreements()[0]
    first, second = (
        dict(zip(items[annotators == one], labels[annotators == one], strict=True))
        for one in (pair.first, pair.second)
    )
    both = first.keys() & second.keys()
    assert pair.n_common == len(both)
    assert pair.share == pytest.approx(np.mean([first[item] == second[item] for item in both]))
    assert model.agreements(fewest=1000) == []


def test_a_fingerprint_tells_answers_and_names_apart():
    one, same, other = made()[0], made()[0], made(seed=1)[0]
    assert fingerprint_of(one) == fingerprint_of(same)
    assert fingerprint_of(one) != fingerprint_of(other)
    assert fingerprint_of(one) != fingerprint_of(made(people=("Ann", "Bob", "Cem", "Fay"))[0])


def test_matrices_that_take_too_much_memory_are_refused(monkeypatch):
    monkeypatch.setattr(annotator_model, "_MOST_PROBABILITIES", 35)
    with pytest.raises(ParameterError, match="weigh 4 annotators takes a matrix of 3 by 3 labels"):
        made()
