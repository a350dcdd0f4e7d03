import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, ParameterGrid

from disambig import PLKNN, CandidateLabels
from disambig._core.errors import ParameterError
from disambig.bench.trial import GridSelection, Split, choose_parameters, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.datasets import make_partial_label_dataset
from disambig.methods import OracleClassifier, RandomCandidateClassifier

GRID = {"n_neighbors": [1, 8, 25], "weights": ["distance", "uniform"]}
SPLIT = Split(seed=2, fold=1, n_folds=3)


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(
        120, 3, 4, average_candidates=2.2, overlap=0.9, random_state=1
    )


def covering_rate(sets, probabilities, _):
    return np.mean(
        [row in one for row, one in zip(probabilities.argmax(axis=1), sets, strict=True)]
    )


def approximated_accuracy(sets, probabilities, _):
    shares = []
    for row, one in zip(probabilities, sets, strict=True):
        inside = row.argmax() in one
        shares.append(row.max() / sum(row[column] for column in one) if inside else 0)
    return np.mean(shares)


def oracle(_, probabilities, truth):
    return accuracy_score(truth, probabilities.argmax(axis=1))


CRITERIA = {
    "covering_rate": covering_rate,
    "approximated_accuracy": approximated_accuracy,
    "oracle": oracle,
}


def with_truth(data, labels):
    return PartialLabelDataset("relabelled", data.X, data.candidates, labels, data.feature_names)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_choice_is_that_of_a_loop_over_inner_folds(data, criterion):
    trial = make_trial(data, SPLIT)
    found = choose_parameters(PLKNN(), GRID, trial, GridSelection(criterion, 4))
    rows, expected = trial.train.numbers, []
    for parameters in ParameterGrid(GRID):
        scores = []
        folds = KFold(4, shuffle=True, random_state=trial.selection_seed)
        for inner_train, inner_test in folds.split(rows):
            train, test = rows[inner_train], rows[inner_test]
            method = PLKNN(**parameters).fit(data.X[train], data.candidates[train])
            probabilities = method.predict_proba(data.X[test])
            sets = data.candidates[test].to_sets()
            scores.append(CRITERIA[criterion](sets, probabilities, data.true_labels[test]))
        expected.append((parameters, np.mean(scores)))
    assert [parameters for parameters, _ in found.scores] == [one for one, _ in expected]
    np.testing.assert_allclose([s for _, s in found.scores], [s for _, s in expected], rtol=1e-12)
    best = int(np.argmax([score for _, score in expected]))
    assert found.parameters == expected[best][0]


def test_the_criteria_do_not_agree_by_chance(data):
    trial = make_trial(data, SPLIT)
    choices = [choose_parameters(PLKNN(), GRID, trial, GridSelection(name, 2)) for name in CRITERIA]
    tables = [tuple(score for _, score in choice.scores) for choice in choices]
    assert len(set(tables)) == 3


def test_of_equal_combinations_the_first_is_chosen(data):
    # More neighbours than rows are all rows: the combinations are the same method.
    grid = {"n_neighbors": [500, 400, 300]}
    found = choose_parameters(PLKNN(), grid, make_trial(data, SPLIT), GridSelection())
    assert len({score for _, score in found.scores}) == 1
    assert found.parameters == {"n_neighbors": 500}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_labels_and_sets_of_held_out_rows_change_nothing(data, criterion):
    _, test = SPLIT.rows(120)
    labels, mask = data.true_labels.copy(), data.candidates.to_mask()
    labels[test] = (labels[test] + 1) % 4
    mask[test] = ~mask[test] | (np.arange(4) == labels[test, None])
    X = data.X.copy()
    X[test] += 100
    changed = PartialLabelDataset(
        "changed", X, CandidateLabels.from_mask(mask), labels, data.feature_names
    )
    before, after = (
        choose_parameters(PLKNN(), GRID, make_trial(one, SPLIT), GridSelection(criterion, 2))
        for one in (data, changed)
    )
    assert before == after


@pytest.mark.parametrize("criterion", ["covering_rate", "approximated_accuracy"])
def test_criteria_without_true_labels_do_not_see_them(data, criterion):
    shuffled = np.random.default_rng(0).permutation(data.true_labels)
    before, after = (
        choose_parameters(PLKNN(), GRID, make_trial(one, SPLIT), GridSelection(criterion, 2))
        for one in (data, with_truth(data, shuffled))
    )
    assert before == after


def test_the_oracle_criterion_does_see_them(data):
    shuffled = np.random.default_rng(0).permutation(data.true_labels)
    before, after = (
        choose_parameters(PLKNN(), GRID, make_trial(one, SPLIT), GridSelection("oracle", 2))
        for one in (data, with_truth(data, shuffled))
    )
    assert before.scores != after.scores


def test_a_method_with_a_seed_has_that_of_the_trial(data):
    grid = {"scaling": ["standard", "none"]}
    trial = make_trial(data, SPLIT)
    choices = [
        choose_parameters(
            RandomCandidateClassifier(random_state=seed), grid, trial, GridSelection()
        )
        for seed in (1, 2)
    ]
    assert choices[0] == choices[1]


def test_the_oracle_is_chosen_on_the_true_labels_it_is_trained_on(data):
    grid = {"scaling": ["none", "standard"]}
    trial = make_trial(data, SPLIT)
    by_sets, by_truth = (
        choose_parameters(OracleClassifier(), grid, trial, GridSelection(criterion))
        for criterion in ("covering_rate", "oracle")
    )
    assert by_sets == by_truth


def test_the_method_itself_is_left_as_it_is(data):
    method = PLKNN(n_neighbors=7)
    choose_parameters(method, {"n_neighbors": [3]}, make_trial(data, SPLIT), GridSelection())
    assert method.n_neighbors == 7
    assert not hasattr(method, "classes_")


def test_more_inner_folds_than_rows_are_refused(data):
    with pytest.raises(ParameterError, match="'n_folds' must be an integer from 2 to 80. Got 81"):
        choose_parameters(PLKNN(), GRID, make_trial(data, SPLIT), GridSelection(n_folds=81))
