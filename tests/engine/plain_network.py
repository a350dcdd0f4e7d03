"""A perceptron as a textbook writes it, for autograd to differentiate: what stacks must equal."""

import torch
from torch.nn import functional

from disambig.engine.fast.random import Dropout
from disambig.engine.fast.stack import NetworkStack
from disambig.engine.fast.step import RowsInBatch

FUNCTIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
    "mish": functional.mish,
    "silu": functional.silu,
}


def make_stack(n_inputs=4, n_outputs=3, **changes):
    """A stack in double precision, as plain as can be unless told otherwise."""
    settings = {
        "hidden": (6,),
        "seeds": (11,),
        "activation": "relu",
        "dropout": 0.0,
        "batch_norm": False,
        "dtype": torch.float64,
    }
    return NetworkStack(n_inputs, n_outputs, **(settings | changes))


def rows_of_batch(counts, n_rows, dtype=torch.float64):
    """What a stack must know of a batch whose first rows are real."""
    real = torch.arange(n_rows) < torch.tensor(counts).unsqueeze(1)
    return RowsInBatch.from_real(real, dtype)


def train_forward(stack, features, counts=None, step=0):
    """Logits of a training batch: features as (networks, rows, features)."""
    counts = [features.shape[1]] * len(features) if counts is None else counts
    rows = rows_of_batch(counts, features.shape[1], features.dtype)
    with torch.no_grad():
        return stack(stack.prepare(features, rows), rows, torch.tensor([step]))


def train_backward(stack, gradient):
    """Gradients of every parameter by name, copied."""
    with torch.no_grad():
        stack.backward(gradient.clone())
    return {name: value.grad.clone() for name, value in stack.named_parameters()}


def dropout_masks(seed, step, n_rows, units, dropout):
    """Zeros and ones for every hidden layer of the network with this seed."""
    masks = []
    for layer, n_units in enumerate(units):
        drawn = Dropout(dropout, n_units, [seed], layer)(n_rows, torch.tensor([step]))
        masks.append((drawn[0] >= 0).double())
    return masks


def kept_share(dropout):
    """The share of units that is really kept, which is one part in 256 or a multiple."""
    return round((1 - dropout) * 256) / 256


def parameters_of(stack, network):
    """Copies of one network's parameters by name, to differentiate with respect to."""
    return {
        name: value[network].detach().clone().requires_grad_()
        for name, value in stack.named_parameters()
    }


class PlainNetwork:
    """One perceptron out of single operations: linear, batch norm, activation, dropout."""

    def __init__(self, parameters, activation, batch_norm, dropout=0.0, seed=None):
        self.parameters = parameters
        self.activation = FUNCTIONS[activation]
        self.batch_norm = batch_norm
        self.dropout = dropout
        self.seed = seed
        n_hidden = sum(name.endswith("weight") for name in parameters) - 1
        self.hidden = [
            [parameters.get(f"hidden.{layer}.{name}") for name in ("weight", "bias", "gamma")]
            for layer in range(n_hidden)
        ]
        # Mean and variance for inference, of every hidden layer.
        self.running = [
            (torch.zeros(weight.shape[1]).double(), torch.ones(weight.shape[1]).double())
            for weight, _, _ in self.hidden
        ]

    def logits(self, features, *, training=True, step=0):
        units = [weight.shape[1] for weight, _, _ in self.hidden]
        dropped = training and self.dropout > 0
        masks = (
            dropout_masks(self.seed, step, len(features), units, self.dropout)
            if dropped
            else [None] * len(units)
        )
        value = features
        layers = zip(self.hidden, self.running, masks, strict=True)
        for (weight, bias, gamma), (mean, variance), mask in layers:
            value = value @ weight
            if self.batch_norm:
                value = functional.batch_norm(
                    value, mean, variance, gamma[0], bias[0], training, momentum=0.1, eps=1e-5
                )
            else:
                value = value + bias
            value = self.activation(value)
            if dropped:
                value = value * mask / kept_share(self.dropout)
        return value @ self.parameters["output.weight"] + self.parameters["output.bias"]


def plain_copies(stack, activation="relu", batch_norm=False, dropout=0.0):
    """The networks of a stack, one by one."""
    return [
        PlainNetwork(parameters_of(stack, network), activation, batch_norm, dropout, seed)
        for network, seed in enumerate(stack.seeds)
    ]


def normal(*shape, seed=0, dtype=torch.float64):
    """Normally distributed numbers from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)
