"""Class shares, and the rule that holds them in place."""

import numpy as np
import pytest
import torch
from scipy import sparse

from disambig.engine.rule import TrainingData, TrainingSettings
from disambig.engine.training import Training
from disambig.methods.ncpd import ProgressiveCooperation
from disambig.methods.ncpd_plus.class_shares import BalancedCooperation, ClassShares
from engine.small_problems import make_problem, networks_of
from methods.ncpd.both_ways import groups_of, losses_and_predictions, random_sets, taught
from methods.ncpd.examples import X, Y
from methods.ncpd_plus.plus_examples import quick_single

# ---- class shares


CPU = torch.device("cpu")
# Class 0 has half of row 0 and all of row 1: 1.5 of 4. The others have 1.25 each.
PRIOR = [[0.5, 0.25, 0.25], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
IMPLIED = np.array([1.5, 1.25, 1.25]) / 4


def problem_of(prior):
    return TrainingData(np.zeros((len(prior), 1)), sparse.csr_array(prior), 0)


def shares_of(*priors, strength=1.0):
    return ClassShares([problem_of(prior) for prior in priors], strength, CPU)


def add(shares, columns, confidences):
    """Count a batch of one problem and one network."""
    shares.add(torch.tensor(columns)[None, None], torch.tensor(confidences)[None, None])


def corrections(shares, n_classes=3):
    """What every class is corrected by, for every problem."""
    n_problems = len(shares.state()["corrections"])
    columns = torch.arange(n_classes).expand(n_problems, 1, 1, -1)
    return shares.corrections_of(columns)[:, 0, 0].numpy()


def test_nothing_is_corrected_in_the_first_epoch():
    shares = shares_of(PRIOR)
    shares.begin_epoch(1)
    np.testing.assert_array_equal(corrections(shares), [[0, 0, 0]])


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0, 2.0])
def test_corrections_by_hand(strength):
    shares = shares_of(PRIOR, strength=strength)
    shares.begin_epoch(1)
    add(shares, [[0, 1], [0, 2]], [[0.75, 0.25], [1.0, 0.0]])
    add(shares, [[2, 0], [1, 0]], [[0.25, 0.75], [1.0, 0.0]])
    shares.begin_epoch(2)
    # Found: 2.5 of class 0, 1.25 of class 1 and 0.25 of class 2, of 4 rows.
    found = np.array([2.5, 1.25, 0.25]) / 4
    np.testing.assert_allclose(
        corrections(shares)[0], strength * np.log(IMPLIED / found), rtol=1e-5
    )


def test_a_class_that_is_believed_too_much_is_believed_less():
    shares = shares_of(PRIOR)
    add(shares, [[0, 1], [0, 2]], [[1.0, 0.0], [0.9, 0.1]])
    shares.begin_epoch(2)
    found = corrections(shares)[0]
    assert found[0] < 0 < found[1]


def test_only_the_last_epoch_counts():
    twice, once = shares_of(PRIOR), shares_of(PRIOR)
    add(twice, [[0, 1]], [[0.9, 0.1]])
    twice.begin_epoch(2)
    for shares in (twice, once):
        add(shares, [[1, 2]], [[0.3, 0.7]])
        shares.begin_epoch(3)
    np.testing.assert_array_equal(corrections(twice), corrections(once))


def test_corrections_do_not_move_within_an_epoch():
    shares = shares_of(PRIOR)
    add(shares, [[0, 1]], [[0.9, 0.1]])
    shares.begin_epoch(2)
    before = corrections(shares)
    add(shares, [[1, 2]], [[0.3, 0.7]])
    np.testing.assert_array_equal(corrections(shares), before)


@pytest.mark.parametrize(
    ("implied", "found", "expected"),
    [
        # What is nowhere a candidate and nowhere found is left alone.
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0, 0, 0]),
        # Below one in a thousand a share counts as one in a thousand, on either side.
        ([0.5, 0.5, 0.0], [0.5, 0.4, 0.1], [0, np.log(5 / 4), np.log(0.001 / 0.1)]),
        ([0.5, 0.4, 0.1], [0.5, 0.5, 0.0], [0, np.log(4 / 5), np.log(0.1 / 0.001)]),
        ([0.5, 0.4998, 0.0002], [0.5, 0.4995, 0.0005], [0, np.log(0.4998 / 0.4995), 0]),
    ],
    ids=["never", "not implied", "not found", "both small"],
)
def test_a_share_below_the_smallest_counts_as_the_smallest(implied, found, expected):
    shares = shares_of([implied])
    add(shares, [[0, 1, 2]], [found])
    shares.begin_epoch(2)
    np.testing.assert_allclose(corrections(shares)[0], expected, atol=1e-5)


def test_every_place_of_a_batch_gets_the_correction_of_its_class():
    shares = shares_of(PRIOR, [[0, 0, 1.0]])
    table = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    shares.state()["corrections"].copy_(table)
    columns = torch.tensor([[[[0, 2], [1, 1]]], [[[2, 0], [1, 0]]]])
    expected = [[[[1, 3], [2, 2]]], [[[6, 4], [5, 4]]]]
    assert shares.corrections_of(columns).tolist() == expected


def test_problems_side_by_side_have_shares_of_their_own_and_networks_are_added_up():
    shares = shares_of(PRIOR, [[0.2, 0.3, 0.5]])
    columns = torch.tensor([[[[0, 1]]], [[[1, 2]]]])
    # (problems, networks, rows, places)
    confidences = torch.tensor([[[[1.0, 0.0]], [[0.5, 0.5]]], [[[0.1, 0.9]], [[0.3, 0.7]]]])
    shares.add(columns, confidences)
    assert shares.state()["found"].tolist() == pytest.approx(
        np.array([[1.5, 0.5, 0], [0, 0.4, 1.6]]), abs=1e-6
    )
    shares.begin_epoch(2)
    found = np.array([[0.75, 0.25, 0.001], [0.001, 0.2, 0.8]])
    expected = np.log([IMPLIED, [0.2, 0.3, 0.5]]) - np.log(found)
    np.testing.assert_allclose(corrections(shares), expected, atol=1e-5)


def test_a_row_that_only_fills_up_a_batch_counts_for_nothing():
    filled, plain = shares_of(PRIOR), shares_of(PRIOR)
    add(filled, [[0, 1], [0, 0]], [[0.6, 0.4], [0.0, 0.0]])
    add(plain, [[0, 1]], [[0.6, 0.4]])
    assert torch.equal(filled.state()["found"], plain.state()["found"])


def test_the_state_stays_in_its_place_and_says_all():
    shares, other = shares_of(PRIOR), shares_of(PRIOR)
    state = shares.state()
    add(shares, [[0, 1]], [[0.9, 0.1]])
    shares.begin_epoch(2)
    add(shares, [[1, 2]], [[0.3, 0.7]])
    for name, value in other.state().items():
        value.copy_(state[name])  # a recorded step writes to the same memory always
    np.testing.assert_array_equal(corrections(other), corrections(shares))
    for one in (shares, other):
        one.begin_epoch(3)
    np.testing.assert_array_equal(corrections(other), corrections(shares))
    assert np.abs(corrections(other)).max() > 0.1


# ---- balanced cooperation


N_CLASSES = 5


def balanced(problems, strength, **changes):
    usual = {"ramp_epochs": 3, "cooperation": True, "progressive": True}
    rule = BalancedCooperation(**(usual | changes), strength=strength)
    rule.start(problems, CPU)
    return rule


def believed(rule, logits, groups, share=None):
    losses, predicted = losses_and_predictions(logits, groups)
    return taught(rule, losses, predicted, groups, share)


@pytest.fixture
def filled():
    """Twelve rows and two that fill up: the logits of two networks, the groups, the problem."""
    generator = np.random.default_rng(0)
    sets = random_sets(generator, 12, N_CLASSES)
    logits = torch.as_tensor(generator.normal(size=(1, 2, 14, N_CLASSES)))
    return logits, groups_of(sets, n_filler=2), make_problem(12, n_classes=N_CLASSES)


@pytest.mark.parametrize("share", [None, 0.4])
@pytest.mark.parametrize("changes", [{}, {"cooperation": False}, {"progressive": False}], ids=str)
def test_without_a_correction_it_is_the_rule_of_ncpd(filled, share, changes):
    logits, groups, problem = filled
    share = None if share is None else torch.tensor([share], dtype=torch.float64)
    rule = balanced([problem], 0.7, **changes)
    expected_rule = ProgressiveCooperation(rule.ramp_epochs, rule.cooperation, rule.progressive)
    expected = believed(expected_rule, logits, groups, share)
    found = believed(rule, logits, groups, share)
    assert torch.equal(found.simple, expected.simple)
    torch.testing.assert_close(found.weights, expected.weights)
    for epoch in range(1, 6):
        assert rule.begin_epoch(epoch) == expected_rule.begin_epoch(epoch)
        assert rule.measures() == expected_rule.measures()


def test_a_correction_is_added_to_the_log_probabilities_of_simple_rows(filled):
    logits, groups, problem = filled
    rule = balanced([problem], 1.0, cooperation=False)
    corrections = np.array([1.5, -1.0, 0.3, 0.0, 2.0])
    rule.state()["corrections"].copy_(torch.as_tensor(corrections)[None])
    found = believed(rule, logits, groups)
    n_simple = 0
    for network in range(2):
        for row in range(12):
            inside = groups.mask[0, 0, row]
            columns = groups.columns[0, 0, row][inside].numpy()
            own = logits[0, network, row].softmax(-1).numpy()
            weights = own[columns] * np.exp(corrections[columns])
            # What is predicted, without any correction, decides whether a row is simple.
            is_simple = own.argmax() in columns
            expected = weights / weights.sum() if is_simple else np.ones(len(columns))
            expected = expected / expected.sum()
            np.testing.assert_allclose(found.weights[0, network, row][inside], expected, rtol=1e-5)
            assert bool(found.simple[0, network, row]) == is_simple
            n_simple += is_simple
    assert 0 < n_simple < 24
    assert not found.weights[:, :, 12:].any()


def test_weights_of_candidates_count_in_simple_rows_too():
    # Both rows predict class 0, which is a candidate of the first only: 0.6 * 3 to 0.3 * 1, and
    # in the second what the weights say.
    logits = torch.tensor([[[[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]]], dtype=torch.float64).log()
    groups = groups_of([[0, 1], [1, 2]], [[3.0, 1.0], [1.0, 4.0]], n_filler=1)
    filler = torch.zeros(1, 1, 1, 3, dtype=torch.float64)
    rule = balanced([make_problem(2, n_classes=3)], 1.0, cooperation=False)
    found = believed(rule, torch.cat([logits, filler], 2), groups)
    assert found.simple.tolist() == [[[True, False, False]]]
    expected = [[1.8 / 2.1, 0.3 / 2.1], [0.2, 0.8], [0, 0]]
    np.testing.assert_allclose(found.weights[0, 0], expected, atol=1e-7)


def test_what_was_found_is_counted_before_networks_exchange_it(filled):
    logits, groups, problem = filled
    rule = balanced([problem], 1.0)
    found = believed(rule, logits, groups)
    by_class = np.zeros(N_CLASSES)
    np.add.at(
        by_class,
        groups.columns[0, 0].flatten().numpy(),
        found.weights[0].sum(0).flatten().numpy(),
    )
    np.testing.assert_allclose(rule.state()["found"][0], by_class, rtol=1e-5)
    assert by_class.sum() == pytest.approx(24)
    # A network is taught what the other one found.
    alone = believed(balanced([problem], 1.0, cooperation=False), logits, groups)
    assert torch.equal(found.weights, alone.weights.flip(1))


def test_the_next_epoch_is_corrected_by_what_was_found(filled):
    logits, groups, problem = filled
    rule = balanced([problem], 0.5)
    rule.begin_epoch(1)
    believed(rule, logits, groups)
    shares = rule.state()["found"][0].numpy() / 24
    rule.begin_epoch(2)
    implied = problem.prior.toarray().mean(axis=0)
    expected = 0.5 * (np.log(implied) - np.log(shares))
    np.testing.assert_allclose(rule.state()["corrections"][0], expected, rtol=1e-4)


def trained_by(rule, problem):
    networks = networks_of(1, 2, hidden=(8,), dropout=0)
    training = Training(networks, [problem], rule, TrainingSettings(6, 20, 0.02))
    training.run()
    return networks


def without_weights(problem):
    """The same problem with candidates that weigh the same."""
    mask = (problem.prior.toarray() > 0).astype(float)
    prior = sparse.csr_array(mask / mask.sum(axis=1, keepdims=True))
    return TrainingData(problem.features, prior, problem.order_seed)


def test_a_training_with_strength_zero_is_that_of_ncpd_to_the_bit():
    problem = without_weights(make_problem(40))
    found = trained_by(balanced([problem], 0.0), problem).state_dict()
    expected = trained_by(ProgressiveCooperation(3, True, True), problem).state_dict()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_shares_found_in_a_training_come_nearer_to_the_implied_ones():
    # Class 0 is a candidate of every row, and more often than implied it is what is learned.
    generator = np.random.default_rng(0)
    labels = generator.integers(1, 5, size=100)
    features = np.eye(5)[labels] + 0.8 * generator.normal(size=(100, 5))
    candidates = np.eye(5)[labels] + np.eye(5)[0]
    problem = TrainingData(features[:, :4], sparse.csr_array(candidates / 2), 0)
    implied = problem.prior.toarray().mean(axis=0)
    distances = []
    for strength in (1e-9, 1.0):
        rule = balanced([problem], strength)
        trained_by(rule, problem)
        found = rule.state()["found"][0].numpy() / 200
        distances.append(np.abs(found - implied).sum())
    assert distances[1] < 0.7 * distances[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_networks_of_another_precision_are_corrected_too(dtype):
    def network(n_features, n_classes):
        return torch.nn.Linear(n_features, n_classes).to(dtype)

    fitted = quick_single(network=network, prior_correction=0.5, swap_noise=0.2).fit(X, Y)
    assert np.isfinite(fitted.history_["loss"]).all()
