import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from disambig import PLKNN, CandidateLabels
from disambig.datasets import make_partial_label_dataset
from disambig.metrics import (
    approximated_accuracy,
    approximated_accuracy_scorer,
    covering_rate,
    covering_rate_scorer,
)


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(90, 3, 4, average_candidates=1.8, random_state=0)


def test_scorers_are_the_metrics_on_held_out_sets(data):
    method = PLKNN().fit(data.X[:60], data.candidates[:60])
    X, y = data.X[60:], data.candidates[60:]
    assert covering_rate_scorer(method, X, y) == covering_rate(y, method.predict(X))
    expected = approximated_accuracy(y, method.predict_proba(X))
    assert approximated_accuracy_scorer(method, X, y) == expected


def test_scorers_name_the_columns_of_a_mask_as_the_method_does(data):
    names = ["wolf", "cat", "dog", "cow"]
    sets = CandidateLabels.from_mask(data.candidates.to_mask(), names)
    method = PLKNN().fit(data.X, sets)
    for scorer in (covering_rate_scorer, approximated_accuracy_scorer):
        expected = scorer(method, data.X, sets)
        assert expected > 0.5
        assert scorer(method, data.X, sets.to_mask()) == expected
        assert scorer(method, data.X, sets.to_sparse()) == expected


def test_scorers_take_plain_labels_the_method_never_saw(data):
    method = PLKNN().fit(data.X[:60], data.candidates[:60])
    labels = data.true_labels[60:].copy()
    labels[0] = 99
    assert 0 < approximated_accuracy_scorer(method, data.X[60:], labels) < 1


@pytest.mark.parametrize("scorer", [covering_rate_scorer, approximated_accuracy_scorer])
def test_scorers_choose_in_a_grid_search_without_true_labels(data, scorer):
    search = GridSearchCV(
        PLKNN(),
        {"n_neighbors": [1, 5, 60]},
        scoring=scorer,
        cv=KFold(3, shuffle=True, random_state=0),
    )
    search.fit(data.X, data.candidates)
    scores = cross_val_score(
        PLKNN(n_neighbors=5),
        data.X,
        data.candidates,
        scoring=scorer,
        cv=KFold(3, shuffle=True, random_state=0),
    )
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(scores.mean())
    assert search.best_params_["n_neighbors"] in (1, 5)
