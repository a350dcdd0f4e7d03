"""What the training loop asks of networks, whatever they are made of."""

from typing import Protocol

__all__ = ["Stack"]
