"""Record a training step on a CUDA card once, and replay it."""

from collections.abc import Callable

import torch

__all__ = ["CapturedStep"]
