"""PiCO and PaPi against loops that write their papers down, row by row; queue and prototypes."""

import collections

import numpy as np
import pytest
import torch
from torch.nn import functional

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.engine.batches import Batches
from disambig.engine.draws import beta_draws
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.engine.views import shuffled, streams_of_problems, tabular_view
from disambig.methods import PaPi, PiCO
from disambig.methods.deep.pico import Queue
from disambig.methods.deep.prototypes import kept_share, moved_prototypes
from engine.plain_network import make_stack
from engine.small_problems import make_problem
from methods.deep.plain_loops import DATA, make_network, quick

SETTINGS = TrainingSettings(epochs=4, batch_size=8, learning_rate=0.05)
NOISE, GAPS = 0.3, 0.2
CPU = torch.device("cpu")


def unit(values):
    return values / values.norm(dim=-1, keepdim=True)


class Plain:
    """One problem and one network, by autograd and torch's Adam."""

    def __init__(self, stack, problem, number):
        names = dict(stack.named_parameters())
        self.parameters = {n: v[number].detach().clone().requires_grad_() for n, v in names.items()}
        self.averaged = {n: v.detach().clone() for n, v in self.parameters.items()}
        self.features = torch.as_tensor(problem.features)
        prior = torch.as_tensor(problem.prior.toarray())
        self.mask, self.w = prior > 0, prior.clone()
        self.mu = torch.zeros(prior.shape[1], 3).double()
        self.streams = [streams_of_problems([problem], CPU, purpose) for purpose in range(3)]
        self.adam = torch.optim.Adam(self.parameters.values(), SETTINGS.learning_rate)
        n_rows = len(self.features)
        self.batches = Batches([n_rows], [problem.order_seed], 8, CPU)
        self.losses = []

    def run(self):
        done = 0
        for epoch in range(1, SETTINGS.epochs + 1):
            total = 0.0
            for rows in self.batches.rows_of(epoch)[:, 0]:
                rows = rows[rows < len(self.features)]
                losses = self.loss(rows, epoch, done)
                self.adam.zero_grad()
                losses.mean().backward()
                self.adam.step()
                self.average()
                total += losses.sum().item()
                done += 1
            self.losses.append(total / len(self.features))

    def average(self):
        """Let the other network follow, where there is one."""

    def outputs(self, features, parameters):
        hidden = (features @ parameters["hidden.0.weight"] + parameters["hidden.0.bias"]).relu()
        logits, embedding = (
            hidden @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]
            for name in ("output", "projection")
        )
        return logits, unit(embedding)

    def view(self, features, step):
        features, steps = features[None, None, None], torch.tensor([step])
        return tabular_view(features, self.streams[0], steps, NOISE, GAPS)[0, 0, 0]

    def follow(self, queries, classes, kept):
        for query, label in zip(queries.detach(), classes, strict=True):
            self.mu[label] = kept * self.mu[label] + (1 - kept) * query

    def normalise(self):
        moved = self.mu.abs().sum(1) > 0
        self.mu[moved] = unit(self.mu[moved])

    def taken_for(self, logits, rows):
        return (logits.detach().softmax(1) * self.mask[rows]).argmax(1)


class PlainPiCO(Plain):
    """Wang et al. (2022), without what only images and several cards need."""

    def __init__(self, stack, problem, number, queue):
        super().__init__(stack, problem, number)
        self.queue = collections.deque(maxlen=min(queue, len(self.features)))

    def average(self):
        with torch.no_grad():
            for name, value in self.averaged.items():
                value.copy_(0.9 * value + 0.1 * self.parameters[name])

    def loss(self, rows, epoch, step):
        x = self.features[rows]
        logits, queries = self.outputs(x, self.parameters)
        with torch.no_grad():
            _, keys = self.outputs(self.view(x, step), self.averaged)
        classes = self.taken_for(logits, rows)
        phi = 0.99 if epoch == 1 else 0.95 + (epoch - 2) / SETTINGS.epochs * (0.8 - 0.95)
        if epoch > 1:
            scores = (queries.detach() @ self.mu.T).softmax(1) * self.mask[rows]
            nearest = functional.one_hot(scores.argmax(1), self.w.shape[1])
            self.w[rows] = phi * self.w[rows] + (1 - phi) * nearest
        self.follow(queries, classes, 0.7)
        self.normalise()
        contrasts = []
        for i, query in enumerate(queries):
            others = [(queries[j], classes[j]) for j in range(len(rows)) if j != i]
            others += list(zip(keys, classes, strict=True))
            if epoch == 1:
                others = [(keys[i], classes[i])]
            others += list(self.queue)
            likeness = torch.stack([query @ other / 0.5 for other, _ in others])
            logs = likeness - likeness.logsumexp(0)
            is_same = torch.tensor([bool(label == classes[i]) for _, label in others])
            if epoch == 1:
                is_same = torch.arange(len(others)) == 0
            contrasts.append(-logs[is_same].mean())
        self.queue.extend(zip(keys, classes, strict=True))
        return -(self.w[rows] * logits.log_softmax(1)).sum(1) + 0.4 * torch.stack(contrasts)


class PlainPaPi(Plain):
    """Xia et al. (2023)."""

    def loss(self, rows, epoch, step):
        first = self.features[rows]
        second = self.view(first, step)
        real, steps = torch.ones(1, 1, 1, len(rows), dtype=torch.bool), torch.tensor([step])
        partners = shuffled(real, self.streams[1], 1, steps)[0, 0, 0]
        share = beta_draws(2.0, self.streams[2], (1, 1, 1), steps).item()
        logits, queries = self.outputs(first, self.parameters)
        other_logits, other_queries = self.outputs(second, self.parameters)
        past = 0.99 if epoch == 1 else 0.95 + (epoch - 2) / SETTINGS.epochs * (0.8 - 0.95)
        kept = 0.99 if epoch == 1 else 0.9 + (epoch - 2) / SETTINGS.epochs * (0.5 - 0.9)
        found = logits.detach().softmax(1) * self.mask[rows]
        self.w[rows] = past * self.w[rows] + (1 - past) * found / found.sum(1, keepdim=True)
        w, mu = self.w[rows].clone(), self.mu.clone()
        losses = -(w * logits.log_softmax(1)).sum(1)
        for view in (first, second):
            mixed = share * view + (1 - share) * view[partners]
            _, embedding = self.outputs(mixed, self.parameters)
            logs = (embedding @ mu.T / 0.4).log_softmax(1)
            for part, target in ((share, w), (1 - share, w[partners])):
                divergence = functional.kl_div(logs, target, reduction="none").sum(1)
                losses = losses + (epoch - 1) / 10 * 0.6 * part * divergence
        self.follow(queries, self.taken_for(logits, rows), kept)
        self.follow(other_queries, self.taken_for(other_logits, rows), kept)
        self.normalise()
        return losses


def pico(queue):
    return PiCO(
        epochs=SETTINGS.epochs, embedding_width=3, queue=queue, temperature=0.5, kept_keys=0.9,
        kept_prototypes=0.7, contrast_weight=0.4, noise=NOISE, gaps=GAPS,
    )  # fmt: skip


PAPI = PaPi(
    epochs=SETTINGS.epochs, embedding_width=3, temperature=0.4, mixing=2.0, prototype_weight=0.6,
    noise=NOISE, gaps=GAPS,
)  # fmt: skip


# A queue that is no multiple of a batch, one that is shorter, and one for all rows.
@pytest.mark.parametrize(
    ("method", "plain", "options"),
    [
        (pico(9), PlainPiCO, {"queue": 9}),
        (pico(4), PlainPiCO, {"queue": 4}),
        (pico(100), PlainPiCO, {"queue": 100}),
        (PAPI, PlainPaPi, {}),
    ],
    ids=["pico 9", "pico 4", "pico 100", "papi"],
)
def test_they_agree_with_plain_loops(method, plain, options):
    # With batches of 7 and 6 rows: those of the second problem are filled up.
    problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 19)]
    stack = make_stack(4, 5, seeds=(1, 2), embedding=3)
    plains = [plain(stack, one, number, **options) for number, one in enumerate(problems)]
    rule = method._make_rule()
    training = Training(stack, problems, rule, SETTINGS)
    training.run()
    counts = [int(one.mask.sum()) for one in plains]
    confidences = torch.split(training.state()["rows.confidences"][0][: sum(counts)], counts)
    for number, one in enumerate(plains):
        one.run()
        for name, value in stack.named_parameters():
            expected = one.parameters[name].detach()
            torch.testing.assert_close(value[number].view_as(expected), expected)
        torch.testing.assert_close(rule.prototypes[number, 0], one.mu)
        np.testing.assert_allclose(training.histories[number]["loss"], one.losses, atol=1e-9)
        torch.testing.assert_close(confidences[number], one.w[one.mask])


def test_prototypes_in_one_piece_are_those_row_by_row():
    generator = torch.Generator().manual_seed(0)
    before = unit(torch.rand(2, 1, 4, 3, generator=generator).double())
    before[0, 0, 3] = 0
    embeddings = unit(torch.rand(2, 1, 12, 3, generator=generator).double() - 0.5)
    # Nobody is taken for class 3, and nearly all rows for class 0.
    classes = torch.tensor([[0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]] * 2).unsqueeze(1)
    real = (torch.arange(12) < torch.tensor([[12], [9]])).unsqueeze(1)
    for kept in (0.99, 0.5, torch.tensor([0.25], dtype=torch.float64), 1.0):
        found = moved_prototypes(before, embeddings, classes, real, kept)
        for problem in range(2):
            expected = before[problem, 0].clone()
            for row in range(12):
                if real[problem, 0, row]:
                    label = classes[problem, 0, row]
                    expected[label] *= kept
                    expected[label] += (1 - kept) * embeddings[problem, 0, row]
            expected = functional.normalize(expected)
            torch.testing.assert_close(found[problem, 0], expected)
    assert (found[0, 0, 3] == 0).all()


def test_the_queue_holds_the_last_keys_of_every_problem():
    queue = Queue(5, [9, 3], 1, torch.float64, CPU)
    expected = [collections.deque(maxlen=5), collections.deque(maxlen=3)]
    number = 0
    for counts in [(3, 2), (4, 1), (7, 3), (1, 3), (5, 2)]:
        keys = torch.full((2, 1, 7, 1), -1.0).double()
        real = torch.zeros(2, 1, 7, dtype=torch.bool)
        for problem, count in enumerate(counts):
            for row in range(count):
                number += 1
                keys[problem, 0, row] = number
                real[problem, 0, row] = True
                expected[problem].append(number)
        queue.write(keys, keys[..., 0].long(), real)
        for problem in range(2):
            filled = queue.is_filled()[problem, 0]
            found = sorted(queue.keys[problem, 0, filled, 0].tolist())
            assert found == sorted(expected[problem])
            assert sorted(queue.classes[problem, 0, filled].tolist()) == found


def test_what_is_kept_changes_from_epoch_to_epoch():
    found = [kept_share(epoch, 10, (0.9, 0.5)) for epoch in (1, 2, 3, 10)]
    assert found == pytest.approx([0.99, 0.9, 0.86, 0.58])


@pytest.mark.parametrize("method", [PiCO, PaPi])
def test_sets_of_one_full_sets_and_a_class_of_nobody_train(method):
    mask = np.ones((50, 5), dtype=bool)
    mask[:25] = False
    mask[np.arange(25), np.arange(25) % 3] = True
    mask[:, 4] = False
    y = CandidateLabels.from_mask(mask, classes=[*"abcde"])
    fitted = quick(method, embedding_width=4).fit(DATA.X, y)
    assert np.isfinite(fitted.history_["loss"]).all()
    np.testing.assert_array_equal(fitted.candidate_confidence_.toarray() > 0, mask)


@pytest.mark.parametrize("method", [PiCO, PaPi])
def test_networks_of_ones_own_have_no_embedding(method):
    with pytest.raises(ParameterError, match=r"needs networks with a second output.* leave it out"):
        quick(method, network=make_network).fit(DATA.X, DATA.candidates)


@pytest.mark.parametrize("method", [PiCO, PaPi])
@pytest.mark.parametrize(
    ("name", "value"),
    [("embedding_width", 0), ("temperature", 0), ("kept_confidences", 0.9),
     ("kept_confidences", (0.9, 2)), ("noise", -1), ("gaps", 1.1)],
)  # fmt: skip
def test_parameters_are_checked(method, name, value):
    with pytest.raises(ParameterError, match=f"'{name}' must be"):
        quick(method, **{name: value}).fit(DATA.X, DATA.candidates)


@pytest.mark.parametrize(
    ("name", "value"),
    [("queue", 0), ("kept_keys", 2), ("kept_prototypes", 0), ("contrast_weight", -1),
     ("prototype_start", -1)],
)  # fmt: skip
def test_parameters_of_pico_are_checked(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' must be"):
        quick(PiCO, **{name: value}).fit(DATA.X, DATA.candidates)


@pytest.mark.parametrize(
    ("name", "value"), [("mixing", 0), ("kept_prototypes", 0.9), ("prototype_weight", -1)]
)
def test_parameters_of_papi_are_checked(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' must be"):
        quick(PaPi, **{name: value}).fit(DATA.X, DATA.candidates)
