import numpy as np
import pytest
from sklearn.svm import LinearSVC

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.candidates import corrupt_controlled
from disambig.datasets import make_partial_label_dataset
from disambig.methods.classical import m3pl
from disambig.methods.classical.m3pl import M3PL
from disambig.solvers.crammer_singer import fit_margin_machine


def plain(**parameters):
    return M3PL(scaling="none", unit_rows=False, **parameters)


def choices_of(candidates, *, with_counts=True):
    return m3pl._Choices.of(candidates, with_counts=with_counts)


def hinge_losses(scores, labels):
    """The loss of every row by its definition."""
    return [
        max(0, 1 - (row[label] - max(np.delete(row, label))))
        for row, label in zip(scores, labels, strict=True)
    ]


def objective(machine, X, labels, C):
    return machine.penalty + C * sum(hinge_losses(machine.scores(X), labels))


def small_data(seed=0, overlap=0.8):
    return make_partial_label_dataset(
        60, 3, 4, average_candidates=2, overlap=overlap, random_state=seed
    )


# How often every class is chosen -----------------------------------------------------------------


def test_counts_are_rounded_up_where_the_fraction_is_largest():
    # Expected are 2.25, 0.25, 0.5: the one unit left goes to c.
    sets = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1, "c": 1}, {"a": 1}])
    assert m3pl._class_counts(sets.prior()).tolist() == [2, 0, 1]


@pytest.mark.parametrize("step", [1, -1])  # sums in another order end in other digits
def test_of_equal_fractions_the_smaller_classes_are_rounded_up(step):
    # Expected are 2.67, 0.67, 0.67: two units are left.
    sets = CandidateLabels.from_sets([["a"], ["a"], ["a", "b", "c"], ["a", "b", "c"]])[::step]
    assert m3pl._class_counts(sets.prior()).tolist() == [2, 1, 1]


def test_a_class_that_is_nobodys_candidate_is_chosen_by_nobody():
    sets = CandidateLabels.from_sets([["a", "b"], ["b", "c"]], classes=["nobody", "a", "b", "c"])
    counts = m3pl._class_counts(sets.prior())
    assert counts[0] == 0
    assert counts.sum() == 2


def test_labels_are_assigned_as_often_as_counted():
    data = small_data()
    choices = choices_of(data.candidates)
    labels = choices.assign(np.random.default_rng(0).random(len(choices.rows)))
    assert np.bincount(labels, minlength=4).tolist() == choices.counts.tolist()


def test_without_counts_every_row_takes_its_cheapest_candidate():
    sets = CandidateLabels.from_sets([["a", "b"], ["a", "b"], ["b", "c"]])
    labels = choices_of(sets, with_counts=False).assign(np.array([2.0, 1.0, 3.0, 2.0, 0.0, 4.0]))
    assert labels.tolist() == [1, 1, 1]


# The steps ---------------------------------------------------------------------------------------


def test_first_costs_by_hand():
    # Means: a has row 0 and half of row 1, (0 + 1/2 * 3) / 1.5 = 1; b (1/2 * 3 + 9) / 1.5 = 7.
    # Squared distances of the pairs are 1, 4, 16, 4; on average 6.25.
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["b"]])
    costs = m3pl._start_costs(np.array([[0.0], [3.0], [9.0]]), sets, choices_of(sets))
    np.testing.assert_allclose(costs, np.array([1, 4, 16, 4]) / 6.25)


def test_first_costs_count_weights():
    sets = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1, "b": 1}])
    costs = m3pl._start_costs(np.zeros((2, 1)), sets, choices_of(sets))
    np.testing.assert_allclose(costs, [0, np.log(3), 0, 0], atol=1e-12)


def test_margins_by_hand():
    sets = CandidateLabels.from_sets([["a", "b", "c"], ["a", "b"]])
    scores = np.array([[1.0, 3.0, 0.5], [2.0, 2.0, -1.0]])
    # The best class of a row has the second for its rival; two best ones have each other.
    np.testing.assert_allclose(choices_of(sets).margins(scores), [-2, 2, -2.5, 0, 0])


def test_a_fit_by_hand():
    # The nearest class mean gives the third row to b, and its margin there is beyond one already:
    # the machine is that of the first two rows, f = -x/2 and x/2.
    sets = CandidateLabels.from_sets([["a"], ["b"], ["a", "b"]])
    fitted = plain(C=10.0, class_counts=False).fit([[-1.0], [1.0], [2.0]], sets)
    expected = 1 / (1 + np.exp([1.0, -1.0, -2.0]))
    np.testing.assert_allclose(
        fitted.predict_proba([[-1.0], [1.0], [2.0]])[:, 1], expected, atol=1e-3
    )
    np.testing.assert_allclose(
        fitted.candidate_confidence_.toarray()[2], [1 - expected[2], expected[2]], atol=1e-3
    )


@pytest.mark.parametrize("with_counts", [True, False])
@pytest.mark.parametrize(("C", "left"), [(0.01, 1.0), (1.0, 0.9)])
def test_no_step_raises_the_objective(C, left, with_counts):
    data = small_data()
    choices = choices_of(data.candidates, with_counts=with_counts)
    # A poor start, so that there is something to lower.
    labels = choices.assign(np.random.default_rng(0).random(len(choices.rows)))
    seen = []
    for _ in range(6):
        machine = fit_margin_machine(data.X, labels, 4, C=C, tol=1e-4)
        seen.append(objective(machine, data.X, labels, C))
        labels = choices.assign(np.maximum(0, 1 - choices.margins(machine.scores(data.X))))
        seen.append(objective(machine, data.X, labels, C))
    assert (np.diff(seen) <= 1e-4 * seen[0]).all()
    assert seen[-1] < left * seen[0]


def test_turns_end_where_labels_are_settled():
    data = small_data()
    choices = choices_of(data.candidates)
    start = choices.assign(np.random.default_rng(0).random(len(choices.rows)))
    machine, labels, fits = m3pl._in_turns(data.X, start, choices, 1.0, max_iter=50, tol=0)
    assert 1 < fits < 50
    costs = np.maximum(0, 1 - choices.margins(machine.scores(data.X)))
    again = choices.assign(costs)
    assert choices.of_labels(costs, labels).sum() == pytest.approx(
        choices.of_labels(costs, again).sum()
    )


def test_turns_are_cut_short_with_a_machine_of_the_last_labels():
    data = small_data()
    choices = choices_of(data.candidates)
    start = choices.assign(np.random.default_rng(0).random(len(choices.rows)))
    machine, labels, fits = m3pl._in_turns(data.X, start, choices, 1.0, max_iter=1, tol=0)
    assert fits == 2
    assert (labels != start).any()
    expected = fit_margin_machine(data.X, labels, 4, C=1.0, tol=m3pl._TOLERANCE_OF_TURNS)
    np.testing.assert_array_equal(machine.weights, expected.weights)


def test_the_values_of_c_grow_from_a_small_share_to_the_last():
    values = np.array(m3pl._growing_values(2.0, 0.5))
    assert len(values) == 29
    np.testing.assert_allclose(values[0], 2e-5 * 1.5)
    np.testing.assert_allclose(values[1:-1] / values[:-2], 1.5)
    assert values[-1] == 2.0
    assert 1 < values[-1] / values[-2] <= 1.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_iter", [1, 20])  # labels are not settled after one
def test_values_of_c_are_left_out_only_where_nothing_changes(seed, max_iter):
    data = small_data(seed)
    X = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    choices = choices_of(data.candidates)
    start = choices.assign(m3pl._start_costs(X, data.candidates, choices))
    labels, all_fits = start, 1
    for C in m3pl._growing_values(1.0, 0.5):
        _, labels, fits = m3pl._in_turns(X, labels, choices, C, max_iter=max_iter, tol=1e-3)
        all_fits += fits
    expected = fit_margin_machine(X, labels, 4, C=1.0, tol=1e-4)
    found, fits = m3pl._learn(X, start, choices, C=1.0, growth=0.5, max_iter=max_iter, tol=1e-3)
    np.testing.assert_allclose(found.scores(X), expected.scores(X), atol=1e-3)
    assert fits < 0.7 * all_fits


# What users see ----------------------------------------------------------------------------------


def test_sets_of_one_make_it_a_plain_support_vector_machine():
    data = small_data()
    machine = LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-6, max_iter=10_000)
    scores = machine.fit(data.X, data.true_labels).decision_function(data.X)
    fitted = plain(C=0.5).fit(data.X, data.true_labels)
    assert fitted.n_iter_ == 1
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(data.X), expected, atol=2e-3)
    assert fitted.disambiguate().tolist() == data.true_labels.tolist()


def test_separated_classes_are_told_apart_and_counts_are_what_does_it():
    data = make_partial_label_dataset(
        120, 4, 4, average_candidates=2.5, overlap=0.2, random_state=0
    )
    right = {
        class_counts: np.mean(
            M3PL(class_counts=class_counts).fit(data.X, data.candidates).disambiguate()
            == data.true_labels
        )
        for class_counts in (True, False)
    }
    assert right[True] > 0.95
    assert right[False] < 0.9


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_the_order_of_rows_does_not_matter_where_classes_overlap(seed):
    data = make_partial_label_dataset(
        160, 6, 5, average_candidates=2.5, overlap=0.7, random_state=seed
    )
    order = np.random.default_rng(seed).permutation(len(data.X))
    expected = M3PL().fit(data.X, data.candidates).predict_proba(data.X)
    found = M3PL().fit(data.X[order], data.candidates[order]).predict_proba(data.X)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_full_sets_teach_nothing_and_break_nothing():
    X = np.random.default_rng(0).normal(size=(30, 3))
    fitted = M3PL().fit(X, np.ones((30, 4), dtype=bool))
    probabilities = fitted.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), probabilities)


def test_features_that_say_nothing_do_not_keep_it_turning():
    # No machine beats the one of zeros then: what a turn gains is below the error of the solver.
    generator = np.random.default_rng(0)
    X, labels = generator.normal(size=(200, 2)), generator.integers(10, size=200)
    method = M3PL().fit(X, corrupt_controlled(labels, p=0.7, r=2, random_state=0))
    assert method.n_iter_ < 20


def test_labels_that_all_fall_on_one_class_give_a_constant_prediction():
    # Without counts the weights leave a alone.
    sets = CandidateLabels.from_sets([{"a": 1, "b": 0}] * 3)
    fitted = M3PL(class_counts=False).fit([[0.0], [1.0], [2.0]], sets)
    np.testing.assert_allclose(fitted.predict_proba([[9.0]]), [[1, 0]], atol=1e-12)


def test_constant_features_alone_give_one_prediction_for_all():
    sets = CandidateLabels.from_sets([["a", "b"], ["a"], ["a", "c"], ["b"]] * 3)
    probabilities = M3PL().fit(np.ones((12, 2)), sets).predict_proba([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(probabilities[0], probabilities[1])
    assert probabilities[0].argmax() == 0


def test_an_unlikely_candidate_costs_the_logarithm_of_its_odds():
    sets = CandidateLabels.from_sets([{"a": 6, "b": 2}, {"a": 1, "b": 1}])
    np.testing.assert_allclose(choices_of(sets).surprise, [0, np.log(3), 0, 0], atol=1e-12)


def test_unit_rows_compare_directions():
    data = small_data()
    fitted = M3PL(scaling="none").fit(data.X, data.candidates)
    np.testing.assert_allclose(fitted.predict_proba(5 * data.X), fitted.predict_proba(data.X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "'C' must be a number from 1e-06 to 1000000.0. Got 0"),
        ({"growth": 0.0}, "'growth' must be a number >= 0.01. Got 0.0"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"tol": -1.0}, "'tol' must be a number >= 0. Got -1.0"),
        ({"class_counts": "yes"}, "'class_counts' must be True or False. Got 'yes'"),
        ({"scaling": "max"}, "'scaling' must be one of"),
        ({"unit_rows": 1}, "'unit_rows' must be True or False. Got 1"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    data = small_data()
    with pytest.raises(ParameterError, match=message):
        M3PL(**parameters).fit(data.X, data.candidates)


def test_weights_that_are_rounded_to_nothing_are_fitted():
    mask = np.ones((6, 3), dtype=bool)
    sets = CandidateLabels.from_mask(mask, weights=np.tile([5e-324, 1.0, 1.0], (6, 1)))
    fitted = M3PL().fit(np.arange(12.0).reshape(6, 2), sets)
    assert np.isfinite(fitted.candidate_confidence_.toarray()).all()
