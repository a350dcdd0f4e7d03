"""CAVL, CRDPLL and DIRK against loops that write their papers down."""

import copy

import numpy as np
import pytest
import torch

from disambig._core.errors import ParameterError
from disambig.engine.views import tabular_view
from disambig.methods import CAVL, CRDPLL, DIRK
from engine.small_problems import make_problem
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, quick, weighted

with_and_without_weights = pytest.mark.parametrize("with_weights", [False, True])


def sets(with_weights):
    """Return candidate sets, and the weight of every candidate over the largest of its row."""
    candidates, weights = weighted() if with_weights else (DATA.candidates, MASK.astype(float))
    return candidates, torch.as_tensor(weights / weights.max(1, keepdims=True))


class PlainCAVL(PlainMethod):
    """Zhang et al. (2022): the candidate with the largest activation value after the step."""

    def __init__(self, relative):
        self.relative = relative
        self.weights = relative / relative.sum(1, keepdim=True)

    def losses(self, rows, networks, X):
        return [-(self.weights[rows] * networks[0](X[rows]).log_softmax(1)).sum(1)]

    def after_step(self, rows, networks, X):
        logits = networks[0](X[rows]) + self.relative[rows].clamp(min=1e-300).log()
        for row, z in zip(rows.tolist(), logits.tolist(), strict=True):
            candidates = np.flatnonzero(MASK[row])
            best = max(candidates, key=lambda j: z[j] * abs(1 - z[j]))
            self.weights[row] = torch.eye(4)[best]


@with_and_without_weights
def test_cavl_agrees_with_a_plain_loop(with_weights):
    candidates, relative = sets(with_weights)
    assert_agrees(CAVL, candidates, PlainCAVL(relative))


def test_cavl_never_chooses_a_label_that_is_no_candidate():
    # All logits below zero: a value of zero would win over those of candidates.
    def network(n_features, n_classes):
        linear = torch.nn.Linear(n_features, n_classes)
        torch.nn.init.constant_(linear.bias, -5.0)
        return linear

    class Watches:
        def on_fit_end(self, training):
            self.table = training._row_state["confidences"][0].clone()

    watches = Watches()
    quick(CAVL, network=network, callbacks=[watches]).fit(DATA.X, DATA.candidates)
    chosen = np.split(watches.table[: MASK.sum()].numpy(), np.cumsum(MASK.sum(1))[:-1])
    assert all(sorted(row) == [0.0] * (len(row) - 1) + [1.0] for row in chosen)


class PlainCRDPLL(PlainMethod):
    """Wu et al. (2022): views learn what they said together; other labels are punished."""

    n_views = 2

    def __init__(self, relative, rule, ramp_epochs=4, strength=0.7, noise=0.2, gaps=0.3):
        self.relative, self.mask = relative, torch.as_tensor(MASK)
        self.weights = relative / relative.sum(1, keepdim=True)
        self.rule, self.step, self.ramp_epochs = rule, 0, ramp_epochs
        self.strength, self.noise, self.gaps = strength, noise, gaps

    def begin_epoch(self, epoch, networks, X):
        self.now = self.strength * min(epoch / self.ramp_epochs, 1)

    def losses(self, rows, networks, X):
        # The draws are those of the rule: what is done with them is not.
        views = [X[rows]] + [
            tabular_view(X[rows][None, None], streams, self.step, self.noise, self.gaps)[0, 0]
            for streams in self.rule._streams
        ]
        self.step += 1
        probabilities = [networks[0](view).softmax(1) for view in views]
        weights = self.weights[rows]
        losses = -((1 - probabilities[0]).log() * ~self.mask[rows]).sum(1)
        for one in probabilities:
            ratio = torch.where(weights > 0, weights / one, 1)
            losses = losses + self.now * (weights * ratio.log()).sum(1)
        together = torch.stack(probabilities).detach().prod(0) ** (1 / len(views))
        together = together * self.relative[rows]
        self.weights[rows] = together / together.sum(1, keepdim=True)
        return [losses]


@with_and_without_weights
def test_crdpll_agrees_with_a_plain_loop(with_weights):
    candidates, relative = sets(with_weights)
    parameters = {"consistency": 0.7, "ramp_epochs": 4, "noise": 0.2, "gaps": 0.3}
    assert_agrees(CRDPLL, candidates, lambda rule: PlainCRDPLL(relative, rule), **parameters)


def test_views_of_crdpll_differ_from_each_other_and_from_step_to_step():
    class Watches:
        def on_fit_start(self, training):
            self.rule = training.rule

    watches = Watches()
    quick(CRDPLL, callbacks=[watches]).fit(DATA.X, DATA.candidates)
    features, is_real = torch.zeros(1, 1, 8, 4), torch.ones(1, 1, 8, dtype=torch.bool)
    views = [*watches.rule.views(features, is_real, 0), *watches.rule.views(features, is_real, 1)]
    assert len({tuple(view.flatten().tolist()) for view in views}) == 4


class PlainDIRK(PlainMethod):
    """Wu et al. (2024): an averaged teacher, in whose targets candidates come first."""

    def __init__(self, relative, average):
        self.relative, self.mask = relative, torch.as_tensor(MASK)
        self.average, self.teacher = average, None

    def losses(self, rows, networks, X):
        if self.teacher is None:
            self.teacher = copy.deepcopy(networks[0])
        with torch.no_grad():
            said = self.teacher(X[rows]).softmax(1)
        targets = torch.stack([self.target(*row) for row in zip(rows, said, strict=True)])
        return [-(targets * networks[0](X[rows]).log_softmax(1)).sum(1)]

    def target(self, row, q):
        mask = self.mask[row]
        inside, outside = q * self.relative[row], q * ~mask
        inside = inside / inside.sum()
        if mask.all():
            return inside
        outside = outside / outside.sum()
        factor = 1 / q[mask].sum()
        least, most = inside[mask].min(), factor * outside.max()
        share = most / (most + least)
        return share * inside + (1 - share) * outside

    def after_step(self, rows, networks, X):
        for ours, theirs in zip(self.teacher.parameters(), networks[0].parameters(), strict=True):
            ours.mul_(self.average).add_((1 - self.average) * theirs)


@with_and_without_weights
@pytest.mark.parametrize("average", [0.8, 0.99])
def test_dirk_agrees_with_a_plain_loop(average, with_weights):
    candidates, relative = sets(with_weights)
    assert_agrees(DIRK, candidates, PlainDIRK(relative, average), average=average)


def test_the_teacher_of_dirk_looks_back_over_half_an_epoch_by_default():
    # Four mini-batches an epoch.
    found, given = (
        quick(DIRK, average=average).fit(DATA.X, DATA.candidates) for average in (None, 0.5)
    )
    np.testing.assert_array_equal(found.predict_proba(DATA.X), given.predict_proba(DATA.X))


@pytest.mark.parametrize(("n_rows", "expected"), [(16, 0), (32, 0), (160, 0.8), (16000, 0.99)])
def test_the_teacher_of_dirk_looks_back_over_no_more_steps_than_in_the_paper(n_rows, expected):
    rule = quick(DIRK)._make_rule()
    rule.start([make_problem(n_rows)], torch.device("cpu"))
    assert rule.average == pytest.approx(expected)


def test_no_label_outside_of_the_set_overtakes_a_candidate_in_the_targets_of_dirk():
    targets = []

    class Watches:
        def on_fit_start(self, training):
            rule = training.rule
            loss_of = rule.loss

            def loss(batch):
                leaf = batch.seen.logits
                found = loss_of(batch)
                # The gradient of the loss is p * sum(t) - t.
                (gradient,) = torch.autograd.grad(found.rows.sum(), leaf, retain_graph=True)
                target = (leaf.softmax(-1) - gradient).detach()
                real = batch.is_real
                targets.append((target[real], batch.is_candidate[real]))
                return found

            rule.loss = loss

    quick(DIRK, average=0.5, epochs=30, callbacks=[Watches()]).fit(DATA.X, DATA.candidates)
    assert targets
    for target, is_candidate in targets:
        torch.testing.assert_close(target.sum(-1), torch.ones(len(target)))
        least = target.masked_fill(~is_candidate, 1).amin(-1)
        most = target.masked_fill(is_candidate, 0).amax(-1)
        assert (least >= most - 1e-5).all()


@pytest.mark.parametrize(
    ("method", "name", "value", "message"),
    [
        (CRDPLL, "consistency", -1, "a number >= 0"),
        (CRDPLL, "ramp_epochs", 0, "an integer >= 1"),
        (CRDPLL, "n_views", 0, "an integer >= 1"),
        (CRDPLL, "noise", -0.1, "a number >= 0"),
        (CRDPLL, "gaps", 1.5, "a number from 0 to 1"),
        (DIRK, "average", 1.5, "a number from 0 to 1"),
    ],
)
def test_wrong_parameters_are_refused(method, name, value, message):
    with pytest.raises(ParameterError, match=f"'{name}' must be {message}"):
        quick(method, **{name: value}).fit(DATA.X, DATA.candidates)
