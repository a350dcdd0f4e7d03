import numpy as np
import pytest

from disambig.candidates import CandidateLabels
from disambig.solvers import set_model
from disambig.solvers.set_model import fit_set_model


def drawn_sets(rng, truth, joins, rate):
    """Draw sets as the model says they come about; empty ones are drawn again."""
    n_classes = len(joins)
    mask = np.zeros((len(truth), n_classes), dtype=bool)
    missing = np.zeros(len(truth), dtype=bool)
    for row, label in enumerate(truth):
        while not mask[row].any():
            mask[row] = rng.random(n_classes) < joins[label]
            missing[row] = rng.random() < rate
            mask[row, label] = not missing[row]
    return CandidateLabels.from_mask(mask), missing


@pytest.fixture
def example():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 800)
    joins = np.full((4, 4), 0.3)
    joins[0, 1] = 0.9  # 1 nearly always comes with 0
    candidates, missing = drawn_sets(rng, truth, joins, 0.2)
    # A judge who is as often right as he says.
    right = rng.random(800) < 0.94
    believed = np.where(right, truth, (truth + rng.integers(1, 4, 800)) % 4)
    said = np.full((800, 4), 0.02)
    said[np.arange(800), believed] = 0.94
    return said, candidates, missing


def test_rate_and_rows_without_the_truth_are_found(example):
    said, candidates, missing = example
    model = fit_set_model(said, candidates)
    assert model.miss_rate == pytest.approx(missing.mean(), abs=0.03)
    assert 0 < model.standard_error < 0.03
    assert ((model.miss_probability > 0.5) == missing).mean() > 0.95
    assert model.joins[0, 1] == pytest.approx(0.9, abs=0.05)
    assert model.joins[2, 1] == pytest.approx(0.3, abs=0.07)


def test_the_posterior_is_that_of_bayes(example):
    said, candidates, _ = example
    model = fit_set_model(said, candidates, miss_rate=0.2)
    inside = candidates.to_mask()
    for row in range(5):
        joint = np.zeros(4)
        for truth in range(4):
            joint[truth] = said[row, truth] * (0.8 if inside[row, truth] else 0.2)
            for other in range(4):
                if other != truth:
                    share = model.joins[truth, other]
                    joint[truth] *= share if inside[row, other] else 1 - share
        expected = joint / joint.sum()
        # What labels join is from one step later.
        np.testing.assert_allclose(model.posterior[row], expected, atol=0.01)
        assert model.miss_probability[row] == pytest.approx(expected[~inside[row]].sum(), abs=0.01)


def test_a_known_rate_is_kept(example):
    said, candidates, _ = example
    often = fit_set_model(said, candidates, miss_rate=0.4)
    assert (often.miss_rate, often.standard_error) == (0.4, 0)
    never = fit_set_model(said, candidates, miss_rate=0)
    assert never.miss_rate == 0
    assert never.standard_error == 0
    assert (never.miss_probability == 0).all()


def test_a_judge_that_is_too_modest_is_sharpened(example):
    said, candidates, missing = example
    modest = said**0.4 / (said**0.4).sum(axis=1, keepdims=True)
    model = fit_set_model(modest, candidates)
    # Without, hardly any set would be suspected: 0.94 has become 0.60.
    assert modest.max() < 0.61
    assert model.miss_rate > 0.6 * missing.mean()


def test_a_doubted_judge_suspects_fewer_sets(example):
    said, candidates, _ = example
    sure = fit_set_model(said, candidates).miss_rate
    assert fit_set_model(said, candidates, doubt=0.3).miss_rate < sure


def test_weights_make_candidates_more_likely():
    said = np.full((20, 3), 1 / 3)
    mask = np.tile([True, True, False], (20, 1))
    weights = np.tile([3.0, 1.0, 0.0], (20, 1))
    model = fit_set_model(said, CandidateLabels.from_mask(mask, weights=weights), miss_rate=0.1)
    assert (model.posterior[:, 0] > 2 * model.posterior[:, 1]).all()


def test_a_set_of_all_classes_misses_nothing():
    said = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    candidates = CandidateLabels.from_mask([[True, True], [True, True], [True, False]])
    model = fit_set_model(said, candidates, miss_rate=0.5)
    assert (model.miss_probability[:2] == 0).all()
    assert model.miss_probability[2] > 0


def test_where_all_sets_hold_all_classes_no_rate_is_estimated():
    model = fit_set_model(
        np.array([[0.9, 0.1], [0.2, 0.8]]), CandidateLabels.from_mask([[1, 1]] * 2)
    )
    assert (model.miss_rate, model.standard_error) == (0, 0)


def test_rows_that_tell_nothing_leave_the_rate_open():
    assert set_model._standard_error(np.full(3, 0.5), 0.5) == np.inf


def test_it_ends_where_it_does_not_settle(example, monkeypatch):
    said, candidates, _ = example
    settled = fit_set_model(said, candidates)
    monkeypatch.setattr(set_model, "_STEPS", 2)
    cut = fit_set_model(said, candidates)
    np.testing.assert_allclose(cut.posterior.sum(axis=1), 1)
    assert cut.miss_rate != settled.miss_rate
