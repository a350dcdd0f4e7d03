"""The training of one problem as a textbook writes it: what the training loop must equal."""

import numpy as np
import torch

from disambig.engine.batches import Batches


class PlainTraining:
    """Networks one by one, rows one by one, gradients by autograd, Adam by torch.

    Parameters
    ----------
    networks : list
        Each with ``parameters``, a dict of tensors, and ``logits(features, step=...)``.
    problem : TrainingData
        What to learn from.
    believe : callable
        From log-probabilities, a mask of the candidates and their prior, all of shape
        (rows, classes) and the first for every network, and the share of the epoch to the weights
        and whether a row is simple, for every network.
    share : callable
        From an epoch to its share.
    """

    def __init__(self, networks, problem, believe, share, batch_size, learning_rate):
        self.networks = networks
        self.features = torch.as_tensor(problem.features)
        self.prior = torch.as_tensor(problem.prior.toarray())
        self.believe = believe
        self.share = share
        n_rows = len(self.features)
        self.batches = Batches([n_rows], [problem.order_seed], batch_size, torch.device("cpu"))
        parameters = [value for network in networks for value in network.parameters.values()]
        self.optimizer = torch.optim.Adam(parameters, learning_rate, foreach=False, fused=False)
        self.chosen = {}
        self.n_steps = 0
        self.measures = []

    def run(self, epochs):
        for epoch in range(1, epochs + 1):
            seen = [
                row
                for rows, real in zip(
                    self.batches.rows_of(epoch)[:, 0], self.batches.real[:, 0], strict=True
                )
                for row in self._step(rows[real], self.share(epoch))
            ]
            means = {name: float(np.mean([row[name] for row in seen])) for name in seen[0]}
            self.measures.append({"T": self.share(epoch), **means})

    def _step(self, rows, share):
        prior, mask = self.prior[rows], self.prior[rows] > 0
        logits = [n.logits(self.features[rows], step=self.n_steps) for n in self.networks]
        log_probabilities = [values.log_softmax(1) for values in logits]
        weights, simple = self.believe([v.detach() for v in log_probabilities], mask, prior, share)
        losses = [-(w * v).sum(1) for w, v in zip(weights, log_probabilities, strict=True)]
        learned = [values.log_softmax(1) for values in self._learned_logits(rows, logits)]
        self.optimizer.zero_grad()
        sum(-(w * v).sum(1).mean() for w, v in zip(weights, learned, strict=True)).backward()
        self.optimizer.step()
        self.n_steps += 1
        for place, row in enumerate(rows.tolist()):
            predicted = [int(values[place].argmax()) for values in logits]
            total = sum(-values[place].detach() for values in log_probabilities)
            chosen = min(mask[place].nonzero().flatten().tolist(), key=lambda c: total[c].item())
            changed = self.chosen.get(row) != chosen
            self.chosen[row] = chosen
            yield {
                "simple": np.mean([bool(values[place]) for values in simple]),
                "agreement": len(set(predicted)) == 1,
                "loss": np.mean([loss[place].item() for loss in losses]),
                "covering_rate": np.mean([bool(mask[place, label]) for label in predicted]),
                "changed": changed,
            }

    def _learned_logits(self, rows, logits):
        """Return the logits whose loss is learned from: those that were believed in."""
        return logits


def believe_prior(log_probabilities, mask, prior, share):
    """What ``BelievePrior`` does."""
    return [prior] * len(log_probabilities), [torch.zeros(len(mask))] * len(log_probabilities)


def believe_others(log_probabilities, mask, prior, share):
    """What ``BelieveOthers`` does."""
    found, simple = [], []
    for values in log_probabilities:
        is_simple = mask[torch.arange(len(mask)), values.argmax(1)]
        if share < 1:
            best = torch.where(mask, values, -torch.inf).amax(1)
            is_simple = is_simple & (-best < 3 * share)
        inside = values.exp() * mask
        own = inside / inside.sum(1, keepdim=True)
        found.append(torch.where(is_simple.unsqueeze(1), own, prior))
        simple.append(is_simple)
    return found[::-1], simple


class PlainModule:
    """A module of torch, as ``PlainTraining`` wants it."""

    def __init__(self, module):
        self.module = module
        self.parameters = dict(module.named_parameters())

    def logits(self, features, step):
        return self.module(features)
