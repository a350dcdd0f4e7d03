"""The one door to what makes training fast: nobody who changes a method opens it.

Written-out layers, batch norm, dropout, Adam, random bits and graph replay. The engine and the base
class of network methods import from here; nothing else does.
"""

from disambig.engine.fast.adam import Adam
from disambig.engine.fast.layers import ACTIVATIONS, log_softmax
from disambig.engine.fast.random import SwapNoise, positions_of, random_words, streams_of
from disambig.engine.fast.stack import NetworkStack, Stack
from disambig.engine.fast.step import Clock, ReplayedStep, RowsInBatch

__all__ = [
    "ACTIVATIONS",
    "Adam",
    "Clock",
    "NetworkStack",
    "ReplayedStep",
    "RowsInBatch",
    "Stack",
    "SwapNoise",
    "log_softmax",
    "positions_of",
    "random_words",
    "streams_of",
]
