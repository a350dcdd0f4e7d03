"""ALIM, CroSel and conformal cleaning against loops that write their papers down."""

import numpy as np
import pytest
import torch

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.engine.draws import beta_draws
from disambig.engine.rule import TrainingData
from disambig.engine.views import shuffled, tabular_view
from disambig.methods import ALIM, ConformalCleaning, CroSel
from disambig.methods.deep.alim import label_importance
from disambig.methods.deep.conformal_cleaning import kept_candidates, rows_held_out
from disambig.methods.deep.crosel import select_rows
from methods.deep.plain_loops import DATA, EPOCHS, MASK, PlainMethod, assert_agrees, quick, weighted

with_and_without_weights = pytest.mark.parametrize("with_weights", [False, True])


def sets(with_weights):
    """Return sets, their priors, and their weights over the largest of each row."""
    candidates, weights = weighted() if with_weights else (DATA.candidates, MASK.astype(float))
    relative = weights / weights.max(axis=1, keepdims=True)
    return candidates, torch.as_tensor(candidates.prior().toarray()), torch.as_tensor(relative)


def drawn_mixing(concentration, streams, n_rows, n_networks, step):
    """Return, for every network, a share and the partners of rows."""
    of_partners, of_shares = streams
    is_real, steps = torch.ones(1, 1, 1, n_rows, dtype=torch.bool), torch.tensor([step])
    shares = beta_draws(concentration, of_shares, (n_networks, 1, 1), steps).flatten().tolist()
    partners = shuffled(is_real, of_partners, n_networks, steps)[0, 0]
    return [(max(share, 1 - share), order) for share, order in zip(shares, partners, strict=True)]


class PlainALIM(PlainMethod):
    """Xu et al. (2023), on PRODEN with a moving average."""

    def __init__(self, prior, rule, start_epoch, miss_rate):
        self.mask = torch.as_tensor(MASK)
        self.weights = prior.clone()
        self.rule, self.start_epoch, self.miss_rate = rule, start_epoch, miss_rate
        self.step = 0
        self.found = []

    def begin_epoch(self, epoch, networks, X):
        self.importance = 0.0
        self.kept = 0.95 - 0.15 * (epoch - 1) / EPOCHS
        if epoch > self.start_epoch:
            said = networks[0](X).softmax(1).numpy()
            inside = np.where(MASK, said, 0).max(axis=1)
            outside = np.where(MASK, 0, said).max(axis=1)
            ratios = sorted(inside / (outside + 1e-9))
            self.importance = min(1.0, ratios[int(len(X) * self.miss_rate)])
            self.found.append(self.importance)

    def losses(self, rows, networks, X):
        (network,) = networks
        streams = self.rule._streams
        ((share, partners),) = drawn_mixing(4.0, streams, len(rows), 1, self.step)
        self.step += 1
        logits, targets = network(X[rows]), self.weights[rows]
        mixed = network(share * X[rows] + (1 - share) * X[rows][partners])
        mixed_targets = share * targets + (1 - share) * targets[partners]
        losses = -(targets * logits.log_softmax(1)).sum(1)
        losses = losses - (mixed_targets * mixed.log_softmax(1)).sum(1)
        counts = self.mask[rows] + self.importance * ~self.mask[rows]
        new = (logits.detach().softmax(1) * counts) ** 1.5
        new = new / new.sum(1, keepdim=True)
        self.weights[rows] = self.kept * targets + (1 - self.kept) * new
        return [losses]


@with_and_without_weights
@pytest.mark.parametrize("miss_rate", [0.06, 0.0])
def test_alim_agrees_with_a_plain_loop(with_weights, miss_rate):
    candidates, prior, _ = sets(with_weights)
    made = []

    def plain(rule):
        made.append(PlainALIM(prior, rule, 2, miss_rate if miss_rate else None))
        if miss_rate == 0:
            made[0].start_epoch = 100  # labels outside never count
        return made[0]

    # Where a gradient is nearly zero, Adam makes much of how it is rounded.
    parameters = {"start_epoch": 2, "miss_rate": miss_rate, "power": 1.5}
    assert_agrees(ALIM, candidates, plain, atol=1e-7, **parameters)
    assert not miss_rate or 0 < min(made[0].found) < 1
    assert len(made[0].found) == (3 if miss_rate else 0)


def test_the_importance_of_other_labels_is_a_quantile_of_one_at_most():
    inside = torch.tensor([[0.8, 0.2, 0.5, 1.0], [0.4, 0.3, 0.0, 0.0]]).double()
    outside = torch.tensor([[0.1, 0.4, 0.4, 0.0], [0.5, 0.5, 0.0, 0.0]]).double()
    is_real = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]).bool()  # the first problem's last is full
    for miss_rate, expected in ((0.0, [0.5, 0.6]), (0.25, [1, 0.6]), (0.5, [1, 0.8])):
        found = label_importance(inside, outside, is_real, miss_rate)
        np.testing.assert_allclose(found, expected)  # 1.25 is one
    np.testing.assert_array_equal(label_importance(inside, outside, is_real, 0.99)[0], 1)


class PlainCroSel(PlainMethod):
    """Tian et al. (2024): two networks, each with a memory of three epochs."""

    def __init__(self, relative_weights, rule, mixup, threshold):
        self.mask = torch.as_tensor(MASK)
        self.relative = relative_weights
        self.rule, self.mixup, self.threshold = rule, mixup, threshold
        self.memory = [[], []]
        self.step = 0
        self.shares = []

    def begin_epoch(self, epoch, networks, X):
        self.is_warm = epoch > 3
        self.selected = [{}, {}]
        for number, network in enumerate(networks):
            self.memory[number].append(network(X).softmax(1).numpy())
            last = self.memory[number][-3:]
            if self.is_warm:
                for row in range(len(X)):
                    labels = {int(one[row].argmax()) for one in last}
                    mean = np.mean([one[row].max() for one in last])
                    if len(labels) == 1 and mean > self.threshold and MASK[row, min(labels)]:
                        self.selected[1 - number][row] = min(labels)
        share = np.mean([len(one) for one in self.selected]) / len(X)
        self.weight = 2.0 * (1 - share)
        if self.is_warm:
            self.shares.append(share)

    def losses(self, rows, networks, X):
        views = X[rows].expand(1, 1, 2, -1, -1)
        views = tabular_view(views, self.rule._view, torch.tensor([self.step]))[0, 0]
        mixing = drawn_mixing(0.75, self.rule._mixing_streams, len(rows), 2, self.step)
        self.step += 1
        found = []
        for number, network in enumerate(networks):
            logits = network(X[rows])
            if not self.is_warm:
                inside = (logits.softmax(1) * self.relative[rows]).sum(1)
                found.append(-inside.log())
                continue
            losses = torch.zeros(len(rows), dtype=X.dtype)
            selected = self.selected[number]
            known = [n for n, row in enumerate(rows.tolist()) if row in selected]
            if known:
                labels = [selected[row] for row in rows[known].tolist()]
                of_known = -logits.log_softmax(1)[known, labels]
                losses[known] = of_known * len(rows) / len(known)
            noisy = network(views[number])
            said, said_of_view = (
                one.detach().masked_fill(~self.mask[rows], -torch.inf).softmax(1)
                for one in (logits, noisy)
            )
            ways = [(X[rows], said_of_view), (views[number], said)]
            consistency = 0
            for (features, targets), (others, of_others) in (ways, ways[::-1]):
                if self.mixup:
                    share, partners = mixing[number]
                    features = share * features + (1 - share) * others[partners]
                    targets = share * targets + (1 - share) * of_others[partners]
                log_probabilities = network(features).log_softmax(1)
                consistency = consistency - (targets * log_probabilities).sum(1)
            found.append(losses + self.weight * consistency / 2)
        return found


@with_and_without_weights
@pytest.mark.parametrize("mixup", [False, True])
def test_crosel_agrees_with_a_plain_loop(with_weights, mixup):
    candidates, _, relative = sets(with_weights)
    made = []

    def plain(rule):
        made.append(PlainCroSel(relative, rule, mixup, 0.4))
        return made[0]

    parameters = {"warm_up_epochs": 3, "threshold": 0.4, "consistency": 2.0, "mixup": mixup}
    assert_agrees(CroSel, candidates, plain, **parameters)
    assert all(0 < share < 1 for share in made[0].shares)


def test_a_row_is_selected_if_all_three_conditions_hold():
    labels = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 1, 1], [2, 2, 2], [-1, 0, 0], [0, 0, 0]])
    values = torch.tensor(
        [[0.9, 0.95, 1], [1, 1, 1], [0.7, 0.9, 1], [1, 1, 1], [-1, 1, 1], [1, 1, 1]]
    )
    mask = torch.tensor([[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1]]).bool()
    # Sure; another label before; a mean below 0.9; no candidate; no such epoch yet; a full set.
    assert select_rows(labels, values, mask, 0.9).tolist() == [1, -1, -1, -1, -1, 0]


class PlainCleaning(PlainMethod):
    """Fuchs and Kalinke (2025), around PRODEN and CC, with rows that are never learned from."""

    def __init__(self, method, prior, relative_weights, rule):
        self.mask = torch.as_tensor(MASK)
        self.weights = prior.clone()
        self.relative = relative_weights
        self.method = method
        self.is_held = rule._is_held[:-1].clone()
        self.shares = []

    def begin_epoch(self, epoch, networks, X):
        self.kept = self.mask.clone()
        if epoch <= 2:
            return
        said = networks[0](X).softmax(1).numpy()
        held = self.is_held.numpy()
        strange = 1 - np.where(MASK, said, 0)[held].max(axis=1)
        beta = np.where(MASK, 0, said)[~held].sum(axis=1).mean()
        for row in range(len(X)):
            kept = [
                (1 + (strange >= 1 - said[row, label] - 1e-15).sum()) / (1 + len(strange))
                > 0.1 + beta
                for label in np.flatnonzero(MASK[row])
            ]
            if any(kept):
                self.kept[row, np.flatnonzero(MASK[row])] = torch.tensor(kept)
        self.shares.append(float(self.kept.sum() / MASK.sum()))

    def losses(self, rows, networks, X):
        logits, kept = networks[0](X[rows]), self.kept[rows]
        if self.method == "proden":
            weights = self.weights[rows] * kept
            weights = weights / weights.sum(1, keepdim=True)
            losses = -(weights * logits.log_softmax(1)).sum(1)
            inside = logits.detach().masked_fill(~self.mask[rows], -torch.inf)
            self.weights[rows] = inside.softmax(1)
        else:
            losses = -(logits.softmax(1) * self.relative[rows] * kept).sum(1).log()
        learned = ~self.is_held[rows]
        return [losses * learned * len(rows) / learned.sum()]


@with_and_without_weights
@pytest.mark.parametrize("method", ["proden", "cc"])
def test_cleaning_agrees_with_a_plain_loop(with_weights, method):
    candidates, prior, relative = sets(with_weights)
    made = []

    def plain(rule):
        made.append(PlainCleaning(method, prior, relative, rule))
        return made[0]

    parameters = {"method": method, "alpha": 0.1, "warm_up_epochs": 2}
    assert_agrees(ConformalCleaning, candidates, plain, **parameters)
    assert all(0.3 < share < 1 for share in made[0].shares)


def test_candidates_stay_where_their_p_value_is_large_enough():
    said = torch.tensor(
        [[0.5, 0.3, 0.2], [0.6, 0.35, 0], [0.9, 0.1, 0], [0.02, 0.08, 0], [0, 0, 0]]
    )
    # The last row only fills up.
    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 0], [0, 0, 0]]).bool()
    is_held = torch.tensor([True, True, False, False, True])
    # Largest candidates of held-out rows: .5 and .6. Off the sets of the others: (0 + .9) / 2.
    # p-values are 1/3 below .5, 2/3 up to .6, then 1; they must be above alpha + .45.
    found = kept_candidates(said, mask, is_held, 0.0)
    assert found.tolist() == [
        [True, False, False],  # 2/3
        [True, False, False],  # 1
        [True, False, False],  # 1
        [True, True, False],  # 1/3 for both: the set stays whole
        [False, False, False],
    ]
    # Above alpha + beta = 1.05 there is no p-value.
    assert torch.equal(kept_candidates(said, mask, is_held, 0.6), mask)
    # Beside it a problem in which only the second row calibrates: 0.3 lies off the other sets, and
    # p-values are 1/2 below .6, then 1.
    both = (torch.stack([one, one]) for one in (said, mask))
    found = kept_candidates(*both, torch.stack([is_held, is_held & (said[:, 0] > 0.5)]), 0.2)
    assert torch.equal(found[0], kept_candidates(said, mask, is_held, 0.2))
    assert found[1, :4].tolist() == [
        [True, True, True], [True, False, False], [True, False, False], [True, True, False]
    ]  # fmt: skip


def test_rows_are_held_out_by_the_seed_and_in_whole_groups():
    def held(n_rows, seed, share, groups=None):
        prior = CandidateLabels.from_labels(np.arange(n_rows) % 3, classes=range(3)).prior()
        data = TrainingData(np.zeros((n_rows, 1)), prior, seed, groups=groups)
        return rows_held_out(data, share)

    assert held(50, 1, 0.2).sum() == 10
    np.testing.assert_array_equal(held(50, 1, 0.2), held(50, 1, 0.2))
    assert (held(50, 1, 0.2) != held(50, 2, 0.2)).any()
    assert not held(1, 1, 0.9).any()
    assert not held(50, 1, 0.0).any()
    groups = np.arange(50) // 5
    by_group = held(50, 1, 0.2, groups).reshape(10, 5)
    assert by_group.all(axis=1).sum() == 2 == by_group.any(axis=1).sum()


def test_without_held_out_rows_nothing_is_cleaned():
    fitted = quick(ConformalCleaning, calibration=0.0, alpha=0.0, warm_up_epochs=0)
    fitted.fit(DATA.X, DATA.candidates)
    assert (fitted.history_["kept"] == 1).all()


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        (ALIM, {"miss_rate": 1.0}, "'miss_rate' must be"),
        (ALIM, {"power": 0.0}, "'power' must be"),
        (CroSel, {"mixup": 1}, "'mixup' must be"),
        (CroSel, {"threshold": 2.0}, "'threshold' must be"),
        (ConformalCleaning, {"method": "rc"}, "'method' must be"),
        (ConformalCleaning, {"calibration": 1.0}, "'calibration' must be"),
    ],
)
def test_wrong_parameters_are_refused(method, parameters, message):
    with pytest.raises(ParameterError, match=message):
        quick(method, **parameters).fit(DATA.X, DATA.candidates)
