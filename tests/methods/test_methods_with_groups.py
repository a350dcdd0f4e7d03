"""Rows that come together: what every method, NCPD and NCPD+ make of them."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

from disambig import CandidateLabels, NCPDPlusClassifier, find_misses
from disambig._core.errors import CandidateError, ModelFileError, ParameterError
from disambig.candidates import Promise
from disambig.engine.rule import TrainingData
from disambig.methods import PLKNN, EMClassifier, fit_many
from disambig.methods.base import keep_promise
from disambig.methods.ncpd import ProgressiveCooperation
from disambig.methods.ncpd_plus.members import _dealt
from disambig.methods.networks.together import TogetherRows, design_weights
from disambig.methods.networks.validation import split_rows
from disambig.solvers.group_marginals import GroupMarginals
from methods.instances import INSTANCES
from methods.ncpd.examples import assert_same_bits, quick

CPU = torch.device("cpu")


def photos(n_photos=40, n_people=5, seed=0, noise=0.7):
    """Return faces, captions and names: in a photo of two or three nobody is there twice."""
    generator = np.random.default_rng(seed)
    people = generator.normal(size=(n_people, 4))
    names = [generator.permutation(n_people)[: generator.integers(2, 4)] for _ in range(n_photos)]
    truth = np.concatenate(names)
    groups = np.repeat(np.arange(n_photos), [len(own) for own in names])
    mask = np.zeros((len(truth), n_people), dtype=bool)
    for photo, own in enumerate(names):
        mask[np.ix_(groups == photo, own)] = True
    X = people[truth] + noise * generator.normal(size=(len(truth), 4))
    return X, CandidateLabels.from_mask(mask).with_groups(groups), truth


X, Y, TRUTH = photos()
COVER = Y.with_groups(Y.groups, promise="cover", strength=1.0)


# Of the oracle every set has one label, which a promise says nothing about.
LAST_STEP = [name for name in INSTANCES if name not in ("ncpd", "ncpd_plus", "oracle")]


@pytest.mark.parametrize("name", LAST_STEP)
def test_a_promise_is_the_last_step_on_the_confidences_of_other_methods(name):
    free, promised = clone(INSTANCES[name]).fit(X, Y), clone(INSTANCES[name]).fit(X, COVER)
    wanted = keep_promise(COVER, free.candidate_confidence_)
    assert abs(wanted - free.candidate_confidence_).max() > 0.01
    np.testing.assert_array_equal(promised.candidate_confidence_.toarray(), wanted.toarray())
    np.testing.assert_array_equal(promised.predict_proba(X), free.predict_proba(X))


@pytest.mark.parametrize("name", ["em", "ncpd", "proden"])
def test_groups_that_promise_nothing_change_nothing(name):
    grouped = clone(INSTANCES[name]).fit(X, Y)
    alone = clone(INSTANCES[name]).fit(X, Y.with_groups(None))
    np.testing.assert_array_equal(grouped.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(
        grouped.candidate_confidence_.toarray(), alone.candidate_confidence_.toarray()
    )


def test_groups_can_be_given_to_fit():
    plain = COVER.with_groups(None)
    fitted = PLKNN().fit(X, plain, groups=COVER.groups)
    np.testing.assert_array_equal(
        fitted.candidate_confidence_.toarray(), PLKNN().fit(X, Y).candidate_confidence_.toarray()
    )
    # What the sets promise stays; groups given to fit are the ones that count.
    others = np.arange(len(X))
    fitted = PLKNN().fit(X, COVER, groups=others)
    np.testing.assert_allclose(
        fitted.candidate_confidence_.toarray(),
        PLKNN().fit(X, plain).candidate_confidence_.toarray(),
        atol=1e-5,
    )
    with pytest.raises(CandidateError, match="requires y"):
        PLKNN().fit(X, None, groups=others)


def test_rows_of_new_groups_get_the_marginals_of_their_probabilities():
    fitted = EMClassifier().fit(X, Y)
    new_X, new_y, _ = photos(6, seed=1)
    weights = new_y.to_mask() * np.arange(1.0, 6)
    new_y = CandidateLabels(new_y.to_mask(), weights=weights).with_groups(
        new_y.groups, promise="exclusive", strength=1.0
    )
    scores = fitted.predict_proba(new_X) * weights
    free = sparse.csr_array(scores / scores.sum(axis=1, keepdims=True))
    wanted = keep_promise(new_y, free)
    found = fitted.candidate_confidences(new_X, new_y)
    np.testing.assert_allclose(found.toarray(), wanted.toarray(), atol=1e-12)
    np.testing.assert_array_equal(
        fitted.disambiguate(new_X, new_y), np.asarray(wanted.argmax(axis=1)).ravel()
    )
    with pytest.raises(CandidateError, match="same number of samples"):
        fitted.candidate_confidences(new_X[1:], new_y)
    with pytest.raises(CandidateError, match="Give 'y'"):
        fitted.disambiguate(new_X)
    with pytest.raises(CandidateError, match="one of the 5 classes. Got 'nobody'"):
        fitted.candidate_confidences(new_X[:1], CandidateLabels.from_labels(["nobody"]))


# NCPD ------------------------------------------------------------------------------------------


def test_eq_1_hears_what_the_other_rows_change():
    rule = ProgressiveCooperation(ramp_epochs=1, cooperation=False, progressive=True)
    problem = TrainingData(X, COVER.prior(), 0, COVER.groups, COVER.promise)
    rule.start([problem], CPU)
    assert set(rule.row_state()) == {"together"}
    # What two networks found of every candidate, and a few numbers that belong to no row.
    generator = np.random.default_rng(0)
    found = np.stack([own_confidences(generator) for _ in range(2)])
    table = torch.as_tensor(np.hstack([found, np.full((2, 3), 7.0)]))
    rule.between_epochs({"together": table})
    marginals = GroupMarginals(COVER.prior(), COVER.groups, COVER.promise)
    for of_network, own in zip(table.numpy(), found, strict=True):
        shares = own * np.exp(of_network[:-3])
        np.testing.assert_allclose(shares, marginals(own), atol=1e-5)
    np.testing.assert_array_equal(table[:, -3:], 7.0)


def own_confidences(generator):
    prior = COVER.prior()
    values = generator.random(prior.nnz)
    return values / np.repeat(np.add.reduceat(values, prior.indptr[:-1]), np.diff(prior.indptr))


def test_problems_side_by_side_do_not_hear_each_other():
    promise = Promise("cover", 1.0)
    problem = TrainingData(X, COVER.prior(), 0, COVER.groups, promise)
    other = TrainingData(X[5:], COVER[5:].prior(), 0, COVER[5:].groups, promise)
    own = own_confidences(np.random.default_rng(1))
    n_other = other.prior.nnz
    both = torch.as_tensor(np.concatenate([own, own[-n_other:]])[np.newaxis])
    TogetherRows([problem, other], promise, CPU).exchange(both)
    alone = torch.as_tensor(own[-n_other:][np.newaxis])
    TogetherRows([other], promise, CPU).exchange(alone)
    np.testing.assert_allclose(both[:, -n_other:], alone)


def test_rows_of_a_large_group_count_less_each_and_the_group_more():
    groups = np.repeat([0, 1, 2], [1, 10, 101])
    weights = design_weights(groups)
    assert weights.mean() == pytest.approx(1)
    # 1 / (1 + (n - 1) / 100): one row, ten rows, a hundred and one.
    np.testing.assert_allclose(weights[[1, 11]] / weights[0], [1 / 1.09, 1 / 2])


class Overhears:
    """Keeps what the rule sees of every batch, and what it returns."""

    def on_fit_start(self, training):
        self.steps = []
        targets = training.rule.targets

        def overheard(batch):
            # Rows lie where those of the next epoch will.
            self.steps.append((batch._replace(rows=batch.rows.clone()), targets(batch)))
            return self.steps[-1][1]

        training.rule.targets = overheard


def test_every_batch_is_taught_what_groups_say_and_counts_rows_by_their_groups():
    # A large group, so that weights differ, and batches that are filled up with a row of none.
    groups = np.where(COVER.groups < 12, 0, COVER.groups)
    y = COVER.with_groups(groups, promise=COVER.promise)
    overhears = Overhears()
    quick(epochs=2, progressive=False, callbacks=[overhears]).fit(X, y)
    weights = np.append(design_weights(y.groups), 0)
    assert weights[0] < 0.9 * weights[-2]
    rows = np.concatenate([batch.rows[0] for batch, _ in overhears.steps])
    assert (rows == len(X)).any()
    assert np.bincount(rows)[:-1].tolist() == [2] * len(X)
    heard = 0.0
    for batch, targets in overhears.steps:
        of_rows = np.broadcast_to(weights[batch.rows[0]], (2, batch.rows.shape[1]))
        np.testing.assert_allclose(targets.row_weights[0], of_rows, rtol=1e-6)
        is_real = batch.rows[0] < len(X)
        powers = torch.exp(batch.state["together"] - batch.losses)[0][:, is_real]
        found = powers / powers.sum(-1, keepdim=True)
        np.testing.assert_allclose(targets.slots[0][:, is_real], found.flip(0), atol=1e-5)
        heard = max(heard, float(batch.state["together"].abs().max()))
    assert heard > 0.1


def test_without_a_promise_that_is_believed_ncpd_keeps_nothing_of_groups():
    rule = ProgressiveCooperation(ramp_epochs=1, cooperation=True, progressive=True)
    for promise in (None, Promise("cover", 0.0)):
        rule.start([TrainingData(X, Y.prior(), 0, Y.groups, promise)], CPU)
        assert rule.row_state() == {}


def test_a_promise_sets_more_training_rows_right():
    methods = {"none": Y, "cover": COVER}
    right = {
        name: np.mean(quick(epochs=30, ramp_epochs=10).fit(X, y).disambiguate() == TRUTH)
        for name, y in methods.items()
    }
    assert right["cover"] > right["none"] + 0.05


def test_a_training_that_hears_groups_is_resumed_to_the_same_bits(tmp_path):
    class Stop:
        def on_epoch_end(self, training):
            if training.epoch == 4:
                raise KeyboardInterrupt

    path = tmp_path / "training.safetensors"
    kept = {"checkpoint": path, "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        quick(**kept, callbacks=[Stop()]).fit(X, COVER)
    assert_same_bits(quick(**kept).fit(X, COVER), quick().fit(X, COVER), X)
    with pytest.raises(ModelFileError, match="other data"):
        quick(**kept).fit(X, Y.with_groups(Y.groups, promise="exclusive"))


def test_fits_side_by_side_hear_their_own_groups():
    tasks = [(X, COVER, 0), (X[7:], COVER[7:], 1)]
    method = quick(epochs=4, hidden=8)
    together = list(fit_many(method, tasks, at_once=2))
    alone = list(fit_many(method, tasks, at_once=1))
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            one.candidate_confidence_.toarray(), other.candidate_confidence_.toarray(), atol=1e-4
        )


def test_networks_of_double_precision_hear_groups():
    def network(n_features, n_classes):
        return torch.nn.Linear(n_features, n_classes, dtype=torch.float64)

    fitted = quick(network=network, epochs=4).fit(X, COVER)
    np.testing.assert_allclose(fitted.candidate_confidence_.sum(axis=1), 1)


# Rows that methods hold out by themselves --------------------------------------------------------


def test_scouts_of_ncpd_plus_are_compared_on_whole_groups():
    held_out, trained = _dealt(Y, seed=3)
    assert sorted([*held_out, *trained]) == list(range(len(X)))
    assert not set(Y.groups[held_out]) & set(Y.groups[trained])
    assert 0.1 < len(held_out) / len(X) < 0.3
    # All in one group: rows are dealt, as without groups.
    one = Y.with_groups(np.zeros(len(X)))
    rows = [part.tolist() for part in _dealt(one, 3)]
    assert rows == [part.tolist() for part in _dealt(Y.with_groups(None), 3)]


def test_a_mix_keeps_the_promise_once():
    method = NCPDPlusClassifier(hidden=16, epochs=6, random_state=0, device="cpu")
    fitted = method.fit(X, COVER)
    weights = fitted.selection_.weights
    free = sum(weights[name] * one.candidate_confidence_ for name, one in fitted.members_.items())
    np.testing.assert_allclose(
        fitted.candidate_confidence_.toarray(),
        keep_promise(COVER, free / sum(weights.values())).toarray(),
        atol=1e-12,
    )


def test_validation_rows_are_whole_groups():
    trained, watched = split_rows(quick(), 0.3, X, Y, seed=0)
    assert sorted([*trained[1].groups, *watched[1].groups]) == Y.groups.tolist()
    assert not set(trained[1].groups) & set(watched[1].groups)
    assert 0.25 < len(watched[0]) / len(X) < 0.35
    with pytest.raises(ParameterError, match="two groups"):
        quick(validation=0.3).fit(X, Y.with_groups(np.zeros(len(X))))


def test_misses_are_judged_by_whole_groups_and_added_labels_promise_nothing():
    seen = []

    class Sees(PLKNN):
        def _fit(self, X, candidates):
            seen.append(candidates)
            return super()._fit(X, candidates)

    found = find_misses(Sees(), X, COVER, miss_rate=0.2, n_folds=3, random_state=0)
    every = set(Y.groups.tolist())
    for candidates in seen:
        held_out = every - set(candidates.groups.tolist())
        assert held_out
        assert len(candidates) == len(X) - np.isin(Y.groups, list(held_out)).sum()
    assert found.candidates.sizes.sum() > COVER.sizes.sum()
    assert found.candidates.promise is None
    np.testing.assert_array_equal(found.candidates.groups, COVER.groups)


def test_labels_that_may_be_missing_leave_rows_as_different_as_they_are():
    exclusive = COVER.with_groups(COVER.groups, promise="exclusive")
    found = find_misses(PLKNN(), X, exclusive, miss_rate=0.2, n_folds=3, random_state=0)
    assert found.candidates.sizes.sum() > exclusive.sizes.sum()
    assert found.candidates.promise == exclusive.promise
