import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig import CandidateLabels, audit_candidates
from disambig._core.errors import CandidateError, ParameterError
from disambig.candidates import (
    corrupt_by_confusion,
    corrupt_by_flips,
    corrupt_by_instance,
    corrupt_controlled,
    corrupt_coupled,
    corrupt_to_average,
    leave_out_truth,
)
from disambig.candidates.generate import draw_false_labels

LABELS = np.arange(3000) % 6
shares = st.floats(0, 1)
seeds = st.integers(0, 2**31)


@st.composite
def labels_and_classes(draw, min_classes=2):
    n_classes = draw(st.integers(min_classes, 7))
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=30))
    return labels, range(n_classes)


# The (p, r) protocol ------------------------------------------------------------------------------


@given(labels_and_classes(), shares, seeds, st.data())
def test_controlled_sets_have_exactly_the_counts_of_the_protocol(labelled, p, seed, data):
    labels, classes = labelled
    r = data.draw(st.integers(1, len(classes) - 1))
    candidates = corrupt_controlled(labels, p=p, r=r, classes=classes, random_state=seed)
    n_partial = round(p * len(labels))
    assert sorted(candidates.sizes) == [1] * (len(labels) - n_partial) + [r + 1] * n_partial
    assert candidates.contains(labels).all()
    assert candidates.classes.tolist() == list(classes)


@given(labels_and_classes(), seeds)
def test_controlled_sets_follow_the_seed(labelled, seed):
    labels, classes = labelled

    def make():
        return corrupt_controlled(labels, p=0.5, r=1, classes=classes, random_state=seed)

    assert make() == make()


def test_partial_rows_and_false_labels_are_uniform():
    candidates = corrupt_controlled(LABELS, p=0.5, r=2, random_state=0)
    partial = candidates.sizes == 3
    for label in range(6):
        rows = label == LABELS
        # 500 rows of each class, half of them partial: std 11.
        assert abs(partial[rows].sum() - 250) < 50
        false = candidates[rows & partial].to_mask().sum(axis=0)
        expected = 2 * false[label] / 5
        np.testing.assert_allclose(np.delete(false, label), expected, atol=0.3 * expected)


@pytest.mark.parametrize(
    "marked",
    [
        corrupt_controlled(LABELS, p=0.3, r=1, random_state=0).sizes == 2,
        corrupt_coupled(LABELS, p=0.3, epsilon=0.5, random_state=0).sizes == 2,
        corrupt_to_average(LABELS, average_candidates=1.3, random_state=0).sizes == 2,
        ~leave_out_truth(
            CandidateLabels.from_labels(LABELS), LABELS, rate=0.3, random_state=0
        ).contains(LABELS),
    ],
    ids=["controlled", "coupled", "average", "truth left out"],
)
def test_which_rows_are_taken_does_not_depend_on_where_they_stand(marked):
    # 900 of 3000 rows: 300 in each third, with a standard deviation of 12.
    np.testing.assert_allclose(marked.reshape(3, 1000).sum(axis=1), 300, atol=50)


def test_false_labels_need_another_class():
    with pytest.raises(CandidateError, match="at least 2 classes. Got 1"):
        corrupt_controlled(["a"], p=1, r=1)
    with pytest.raises(CandidateError, match="at least 2 classes. Got 1"):
        corrupt_by_confusion(["a"], [[1.0]], rate=1)


@pytest.mark.parametrize(("p", "r"), [(-0.1, 1), (1.1, 1), (0.5, 0), (0.5, 6), (0.5, 1.5)])
def test_controlled_sets_refuse_impossible_settings(p, r):
    with pytest.raises(ParameterError, match="must be"):
        corrupt_controlled(LABELS, p=p, r=r)


def test_false_labels_are_every_subset_equally_often():
    truth = np.zeros(60_000, dtype=int)
    drawn = np.sort(draw_false_labels(np.random.default_rng(0), truth, 2, 5), axis=1)
    subsets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert subsets.tolist() == [[1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]
    np.testing.assert_allclose(counts, 10_000, rtol=0.04)  # 4 standard deviations


# A given average ----------------------------------------------------------------------------------


@given(labels_and_classes(), shares, seeds)
def test_sets_have_the_average_size_asked_for(labelled, share, seed):
    labels, classes = labelled
    average = 1 + share * (len(classes) - 1)
    candidates = corrupt_to_average(
        labels, average_candidates=average, classes=classes, random_state=seed
    )
    assert candidates.sizes.sum() == round(average * len(labels))
    assert candidates.sizes.max() - candidates.sizes.min() <= 1
    assert candidates.contains(labels).all()


@pytest.mark.parametrize("average", [0.9, 6.1])
def test_an_impossible_average_is_refused(average):
    with pytest.raises(ParameterError, match="'average_candidates' must be a number from 1 to 6"):
        corrupt_to_average(LABELS, average_candidates=average)


# Coupled labels -----------------------------------------------------------------------------------


@given(labels_and_classes(min_classes=3), shares, shares, seeds)
def test_coupled_sets_have_one_false_label_in_the_right_number_of_rows(labelled, p, epsilon, seed):
    labels, classes = labelled
    candidates = corrupt_coupled(labels, p=p, epsilon=epsilon, classes=classes, random_state=seed)
    n_partial = round(p * len(labels))
    assert sorted(candidates.sizes) == [1] * (len(labels) - n_partial) + [2] * n_partial
    assert candidates.contains(labels).all()


def test_epsilon_is_the_share_of_the_coupled_label():
    coupling = {label: (label + 1) % 6 for label in range(6)}
    candidates = corrupt_coupled(LABELS, p=1, epsilon=0.4, coupling=coupling, random_state=0)
    coupled = candidates.contains((LABELS + 1) % 6)
    assert abs(coupled.mean() - 0.4) < 0.04  # 4 standard deviations
    # The others share the rest equally: 4 labels, 0.15 each.
    others = [candidates.contains((LABELS + step) % 6).mean() for step in (2, 3, 4, 5)]
    np.testing.assert_allclose(others, 0.15, atol=0.03)


@pytest.mark.parametrize("epsilon", [0, 1])
def test_epsilon_of_zero_and_one_are_never_and_always(epsilon):
    coupling = {label: (label + 1) % 6 for label in range(6)}
    candidates = corrupt_coupled(LABELS, p=1, epsilon=epsilon, coupling=coupling, random_state=0)
    assert (candidates.contains((LABELS + 1) % 6) == bool(epsilon)).all()


@given(seeds)
def test_by_default_every_class_is_coupled_with_one_other(seed):
    candidates = corrupt_coupled(LABELS, p=1, epsilon=1, random_state=seed)
    together = np.array([candidates.to_mask()[label == LABELS].any(axis=0) for label in range(6)])
    partners = [np.flatnonzero(row).tolist() for row in together & ~np.eye(6, dtype=bool)]
    assert sorted(partners) == [[label] for label in range(6)]


def test_two_classes_can_only_be_coupled_with_each_other():
    candidates = corrupt_coupled([0, 1, 1], p=1, epsilon=1, random_state=0)
    assert candidates.to_sets() == [{0, 1}] * 3
    with pytest.raises(CandidateError, match="at least 3 classes .* Got 2 classes"):
        corrupt_coupled([0, 1], p=1, epsilon=0.5)
    with pytest.raises(CandidateError, match="Got 1 classes"):
        corrupt_coupled([0], p=1, epsilon=1)


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        ({0: 1, 1: 2}, "2 has none"),
        ({0: 1, 1: 1, 2: 0}, "1 is with itself"),
        ({0: 1, 1: 2, 2: 7}, "Got 7"),
    ],
)
def test_a_coupling_needs_another_class_for_every_class(coupling, message):
    with pytest.raises(CandidateError, match=message):
        corrupt_coupled([0, 1, 2], p=1, epsilon=0.5, coupling=coupling)


# Flips --------------------------------------------------------------------------------------------


@given(labels_and_classes(), shares, seeds)
def test_flips_keep_the_truth_and_follow_the_seed(labelled, q, seed):
    labels, classes = labelled
    candidates = corrupt_by_flips(labels, q=q, classes=classes, random_state=seed)
    assert candidates.contains(labels).all()
    assert candidates == corrupt_by_flips(labels, q=q, classes=classes, random_state=seed)


@pytest.mark.parametrize("q", [0, 0.3, 1])
def test_false_labels_flip_in_with_probability_q(q):
    candidates = corrupt_by_flips(LABELS, q=q, random_state=0)
    for step in range(1, 6):
        rate = candidates.contains((LABELS + step) % 6).mean()
        assert abs(rate - q) < 0.035  # 4 standard deviations


# Confusion ----------------------------------------------------------------------------------------


@given(labels_and_classes(), shares, seeds, st.data())
def test_confusion_keeps_the_truth_and_follows_the_seed(labelled, rate, seed, data):
    labels, classes = labelled
    rows = st.lists(shares, min_size=len(classes), max_size=len(classes))
    probabilities = [data.draw(rows) for _ in labels]

    def make():
        return corrupt_by_confusion(
            labels, probabilities, rate=rate, classes=classes, random_state=seed
        )

    assert make().contains(labels).all()
    assert make() == make()


def test_labels_enter_in_proportion_to_the_confusion():
    probabilities = np.tile([0.6, 0.3, 0.1, 0.0], (4000, 1))
    candidates = corrupt_by_confusion(
        np.zeros(4000, dtype=int), probabilities, rate=0.2, classes=range(4), random_state=0
    )
    # 0.2 * 3 = 0.6 false labels on average, shared 3 to 1 to 0.
    np.testing.assert_allclose(candidates.to_mask().mean(axis=0), [1, 0.45, 0.15, 0], atol=0.03)


def test_a_probability_of_entering_stops_at_one():
    candidates = corrupt_by_confusion(
        [0] * 50, [[0.0, 1.0, 0.0]] * 50, rate=1, classes=range(3), random_state=0
    )
    assert candidates.to_sets() == [{0, 1}] * 50


def test_a_certain_classifier_confuses_all_labels_alike():
    candidates = corrupt_by_confusion(
        [0] * 4000, [[1.0, 0.0, 0.0]] * 4000, rate=0.3, classes=range(3), random_state=0
    )
    np.testing.assert_allclose(candidates.to_mask().mean(axis=0), [1, 0.3, 0.3], atol=0.03)


def test_confusion_needs_probabilities_of_every_class():
    with pytest.raises(CandidateError, match=r"class, \(1, 2\). Got the shape \(1, 3\)"):
        corrupt_by_confusion([0], [[0.5, 0.5, 0]], rate=0.5, classes=range(2))


@pytest.mark.parametrize("bad", [[[0.5, 0.5], [1]], [["a", "b"], ["c", "d"]]])
def test_confusion_needs_a_matrix_of_numbers(bad):
    with pytest.raises(CandidateError, match="Probabilities are a matrix of numbers"):
        corrupt_by_confusion([0, 1], bad, rate=0.5)


@pytest.mark.parametrize("bad", [[np.nan, 1], [-0.5, 1.5], [np.inf, 0]])
def test_confusion_refuses_what_is_no_probability(bad):
    with pytest.raises(CandidateError, match="not negative. This is not so for 1 sample, at row 1"):
        corrupt_by_confusion([0, 0], [[0.5, 0.5], bad], rate=0.5, classes=range(2))


# Unreliable sets ----------------------------------------------------------------------------------


@given(labels_and_classes(), shares, shares, seeds)
def test_the_truth_is_left_out_of_exactly_the_share_asked_for(labelled, p, rate, seed):
    labels, classes = labelled
    reliable = corrupt_controlled(labels, p=p, r=1, classes=classes, random_state=seed)
    candidates = leave_out_truth(reliable, labels, rate=rate, random_state=seed)
    wrong = ~candidates.contains(labels)
    assert wrong.sum() == round(rate * len(labels))
    assert candidates[~wrong] == reliable[~wrong]
    assert (candidates.sizes >= 1).all()
    many = wrong & (reliable.sizes > 1)
    assert (candidates.sizes[many] == reliable.sizes[many] - 1).all()
    assert (candidates.sizes[wrong & ~many] == 1).all()


def test_leaving_the_truth_out_needs_it_to_be_in():
    candidates = CandidateLabels.from_sets([["a"], ["a"]], classes=["a", "b"])
    with pytest.raises(CandidateError, match="It is not for 1 sample, at row 1"):
        leave_out_truth(candidates, ["a", "b"], rate=0.5)


def test_leaving_the_truth_out_needs_another_class():
    with pytest.raises(CandidateError, match="False labels need at least 2 classes. Got 1"):
        leave_out_truth(CandidateLabels.from_labels(["a"]), ["a"], rate=1)


def test_where_the_truth_was_alone_any_other_label_takes_its_place():
    singletons = CandidateLabels.from_labels(LABELS)
    candidates = leave_out_truth(singletons, LABELS, rate=1, random_state=0)
    steps = (candidates.pairs()[1] - LABELS) % 6
    np.testing.assert_allclose(np.bincount(steps, minlength=6), [0, *[600] * 5], atol=90)


def test_leaving_the_truth_out_refuses_weights():
    weighted = CandidateLabels.from_sets([{"a": 1, "b": 1}])
    with pytest.raises(
        CandidateError, match="only be left out of sets without weights. To drop the weights"
    ):
        leave_out_truth(weighted, ["a"], rate=1)


# All of them --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda labels: corrupt_controlled(labels, p=1, r=1),
        lambda labels: corrupt_to_average(labels, average_candidates=2),
        lambda labels: corrupt_coupled(labels, p=1, epsilon=0.5),
        lambda labels: corrupt_by_flips(labels, q=0.5),
        lambda labels: corrupt_by_confusion(labels, np.full((3000, 6), 1 / 6), rate=0.5),
    ],
)
def test_without_a_seed_sets_differ_and_the_global_state_is_untouched(make):
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    assert make(LABELS) != make(LABELS)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_text_labels_are_corrupted_too():
    labels = ["cat", "dog", "cow"] * 10
    candidates = corrupt_controlled(labels, p=1, r=2, random_state=0)
    assert candidates.to_sets() == [{"cat", "cow", "dog"}] * 30
    assert audit_candidates(candidates).inseparable == [("cat", "cow", "dog")]


# By instance --------------------------------------------------------------------------------------


@given(labels_and_classes(), shares, seeds, st.data())
def test_sets_by_instance_hold_the_truth_and_follow_the_seed(labelled, rate, seed, data):
    labels, classes = labelled
    generator = np.random.default_rng(data.draw(seeds))
    probabilities = generator.dirichlet(np.full(len(classes), 0.3), len(labels))
    made, again = (
        corrupt_by_instance(labels, probabilities, rate=rate, classes=classes, random_state=seed)
        for _ in range(2)
    )
    assert made == again
    assert made.contains(labels).all()
    if rate == 0:
        assert (made.sizes == 1).all()


@given(labels_and_classes(), seeds, st.data())
def test_the_likeliest_false_label_is_always_in_a_set_by_instance(labelled, seed, data):
    labels, classes = labelled
    generator = np.random.default_rng(data.draw(seeds))
    probabilities = generator.dirichlet(np.full(len(classes), 0.3), len(labels))
    made = corrupt_by_instance(labels, probabilities, classes=classes, random_state=seed)
    probabilities[np.arange(len(labels)), labels] = -1
    assert made.contains(probabilities.argmax(axis=1)).all()


def test_false_labels_by_instance_enter_as_often_as_they_are_confused():
    said = np.array([[0.5, 0.3, 0.15, 0.05, 0.0]])
    truth = np.zeros(20_000, dtype=int)
    made = corrupt_by_instance(
        truth, np.repeat(said, 20_000, axis=0), rate=0.8, classes=range(5), random_state=0
    )
    shares = made.to_mask().mean(axis=0)
    # Of the likeliest false label 0.8, of others in proportion; four standard errors.
    np.testing.assert_allclose(shares, [1, 0.8, 0.4, 0.8 / 6, 0], atol=0.015)


def test_where_the_classifier_is_certain_all_false_labels_are_alike_by_instance():
    made = corrupt_by_instance([0], [[1.0, 0.0, 0.0]], classes=range(3), random_state=0)
    assert made.to_sets() == [{0, 1, 2}]
    with pytest.raises(CandidateError, match="at least 2 classes. Got 1"):
        corrupt_by_instance(["a"], [[1.0]])
    with pytest.raises(CandidateError, match="Got the shape"):
        corrupt_by_instance(["a", "b"], [[1.0, 0.0]])
