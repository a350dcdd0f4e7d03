import numpy as np
import pytest
import torch
from scipy import sparse

from disambig.engine.rule import TrainingData
from disambig.methods.ncpd_plus.class_shares import ClassShares

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
