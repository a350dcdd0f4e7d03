import numpy as np
import pytest

from disambig import PLKNN, CandidateLabels, EMClassifier, weigh_annotators
from disambig._core.errors import CandidateError, ParameterError
from disambig.solvers import annotator_model

SKILLS = {"Ann": 0.95, "Bob": 0.7, "Cem": 0.6, "Eve": 1 / 3}
NAMES = np.array(["cat", "cow", "dog"])
AB, XY = ["a", "b"], ["x", "y"]


def long_table(seed=0, n_items=300, per_item=3):
    """Return features and true labels, and the columns of a long table of answers."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, n_items)
    X = random.normal(size=(n_items, 3)) + 2 * np.eye(3)[truth]
    rows = []
    for item in range(n_items):
        for name in random.permutation(list(SKILLS))[:per_item]:
            wrong = (truth[item] + random.integers(1, 3)) % 3
            said = truth[item] if random.random() < SKILLS[name] else wrong
            rows.append((item, str(name), str(NAMES[said])))
    return X, NAMES[truth], [list(column) for column in zip(*rows, strict=True)]


def share_right(model, truth):
    return (model.choose() == truth).mean()


def test_annotators_weighed_beat_votes_and_features_beat_both():
    X, truth, columns = long_table()
    votes = CandidateLabels.from_annotations(*columns, order=range(300))
    majority = votes.classes[votes.prior().toarray().argmax(axis=1)]
    alone = weigh_annotators(*columns, order=range(300))
    both = weigh_annotators(*columns, order=range(300), X=X, method=EMClassifier(), random_state=0)
    right = [(majority == truth).mean(), share_right(alone, truth), share_right(both, truth)]
    assert right[1] > right[0] + 0.03
    assert right[2] > right[1] + 0.01
    assert both.annotators == tuple(dict.fromkeys(columns[1]))
    for name, quality in both.quality().items():
        assert quality.accuracy.low <= SKILLS[name] <= quality.accuracy.high


def test_single_answers_are_enough_with_features():
    X, truth, columns = long_table(n_items=600, per_item=1)
    alone = weigh_annotators(*columns, order=range(600))
    assert alone.choose().tolist() == columns[2]
    both = weigh_annotators(*columns, order=range(600), X=X, method=EMClassifier(), random_state=0)
    assert share_right(both, truth) > share_right(alone, truth) + 0.15


def test_weights_are_likelihoods_and_hold_no_prior():
    X, _, columns = long_table()
    model = weigh_annotators(*columns, order=range(300), X=X, method=PLKNN(), random_state=0)
    order = {name: number for number, name in enumerate(model.annotators)}
    expected = np.ones((300, 3))
    for item, name, label in zip(*columns, strict=True):
        column = NAMES.tolist().index(label)
        expected[item] *= model.known.confusions[order[name], :, column]
    expected /= expected.max(axis=1, keepdims=True)
    weights = model.candidates.weights.toarray()
    mask = model.candidates.to_mask()
    np.testing.assert_allclose(weights[mask], expected[mask], rtol=1e-6)
    named = model.votes > 0
    np.testing.assert_array_equal(mask, expected >= 0.5 / 3)
    np.testing.assert_array_equal(model.said.to_mask(), named)


def test_an_item_without_an_answer_may_have_any_label_and_is_judged_by_its_features():
    X, truth, (items, names, labels) = long_table()
    rest = [row for row, item in enumerate(items) if item >= 100]
    columns = [[column[row] for row in rest] for column in (items, names, labels)]
    alone = weigh_annotators(*columns, order=range(300))
    assert (alone.candidates.sizes[:100] == 3).all()
    assert (alone.said.sizes[:100] == 3).all()
    assert np.unique(alone.candidates.weights.toarray()[:100]).tolist() == [1]
    both = weigh_annotators(*columns, order=range(300), X=X, method=EMClassifier(), random_state=0)
    # As by a model that knows the true labels of all items that somebody was asked about.
    knows = EMClassifier().fit(X[100:], truth[100:]).predict(X[:100])
    right = (both.choose()[:100] == truth[:100]).mean()
    assert right == pytest.approx((knows == truth[:100]).mean(), abs=0.05)


def test_sets_and_unsure_are_answers_too():
    X, truth, (items, names, labels) = long_table(per_item=4)
    random = np.random.default_rng(1)
    vague = []
    for label in labels:
        kind = random.random()
        if kind < 0.15:
            vague.append(None)
        elif kind < 0.5:
            other = random.choice([name for name in NAMES.tolist() if name != label])
            vague.append({label, str(other)})
        else:
            vague.append(label)
    model = weigh_annotators(
        items, names, vague, order=range(300), X=X, method=EMClassifier(), random_state=0
    )
    assert share_right(model, truth) > 0.9
    said = sum(answer is not None for answer in vague)
    assert sum(quality.n_answers for quality in model.quality().values()) == said
    assert model.quality()["Ann"].accuracy.low > 0.85


def test_the_method_is_trained_on_other_items_than_it_judges():
    X, _, columns = long_table(n_items=60)
    rounds = []

    class Watched(PLKNN):
        def _fit(self, X, candidates):
            rounds.append(X)
            return super()._fit(X, candidates)

        def predict_proba(self, X):
            assert len(rounds[-1]) + len(X) == 60
            assert not (rounds[-1][:, None] == X[None]).all(axis=2).any()
            return super().predict_proba(X)

    model = weigh_annotators(
        *columns, order=range(60), X=X, method=Watched(), rounds=3, n_folds=4, random_state=0
    )
    assert len(rounds) == 12
    again = weigh_annotators(
        *columns, order=range(60), X=X, method=PLKNN(), rounds=3, n_folds=4, random_state=0
    )
    np.testing.assert_array_equal(model.known.log_posterior, again.known.log_posterior)


def test_who_agrees_with_whom_is_told_by_number():
    _, _, columns = long_table()
    model = weigh_annotators(*columns)
    pairs = model.agreements()
    assert len(pairs) == 6
    # Whoever guesses agrees with nobody.
    assert "Eve" in (model.annotators[pairs[0].first], model.annotators[pairs[0].second])


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        (([1], ["a"], []), {}, "Got lengths 1, 1 and 0"),
        (([1, None], AB, XY), {}, "Row 1 has no item"),
        (([1, 2], ["a", np.nan], XY), {}, "Row 1 has no annotator"),
        (([1, 2], AB, XY), {"order": [2]}, "must be in 'order'. Item 1 is not"),
        (([1, 2], AB, [None, ()]), {}, "No answer names a label"),
        (([1, 2], AB, ["x", [["y"]]]), {}, "must be a string, a number or a tuple"),
        (([1, 2], AB, XY), {"classes": ["x", "z"]}, "Got 'y'"),
        (([1, 2], AB, XY), {"X": [[0], [1]], "method": PLKNN()}, "at least 5 items. Got 2"),
    ],
)
def test_bad_tables_are_refused(columns, given, message):
    with pytest.raises(CandidateError, match=message):
        weigh_annotators(*columns, **given)


def test_features_need_a_method_and_matrices_must_fit(monkeypatch):
    with pytest.raises(ParameterError, match="needs a 'method'"):
        weigh_annotators([1, 2], AB, XY, X=[[0], [1]])
    monkeypatch.setattr(annotator_model, "_MOST_PROBABILITIES", 7)
    with pytest.raises(ParameterError, match="2 annotators takes a matrix of 2 by 2 labels"):
        weigh_annotators([1, 2], AB, XY)
