"""What an image looks like, without weights: its edges by direction, its shades, its colours.

Histograms of oriented gradients after Dalal and Triggs (2005), a small picture in shades of grey,
and colours: their average by place and how often each occurs. Good enough to sort shapes, digits
and textures; what a photo shows takes a pretrained network.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from disambig._core.typing import AnyArray
from disambig.tabular.described.describers import UnreadableCellError
from disambig.tabular.described.image_files import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 48  # pixels, to which every image is brought
_CELLS, _DIRECTIONS = 6, 9
_SHADES = 8  # of the small picture, on each side
_PLACES, _LEVELS = 4, 4  # of colours: places on each side, levels of red, green and blue
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_EDGES = _CELLS**2 * _DIRECTIONS
_LARGEST_SHARE = 0.2  # of one direction in a block, so that no edge outweighs all others
_NOISE = 0.1  # below which contrast is not made stronger


class BuiltInDescriptor:
    """Describes images by numbers that are computed in NumPy; a ``Describer``."""

    name = "built-in"
    width = _EDGES + _SHADES**2 + 2 * _PLACES**2 + _LEVELS**3
    fingerprint = "1"  # to be counted up where the numbers change

    def describe(self, contents: Sequence[bytes]) -> list[AnyArray | str]:
        """Return the numbers of every image, or why it cannot be read."""
        return [_describe(content) for content in contents]


def _describe(content: bytes) -> AnyArray | str:
    try:
        pixels = _pixels(open_image(content, smallest=_SIDE))
    except UnreadableCellError as error:
        return str(error)
    grey = pixels @ _GREY
    parts = (_edges(grey), _averages(grey, _SHADES), _colours(pixels, grey))
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def _pixels(image: "Image") -> AnyArray:
    """Return red, green and blue from 0 to 1, of shape (side, side, 3)."""
    from PIL.Image import Resampling  # an extra

    small = image.resize((_SIDE, _SIDE), Resampling.BILINEAR)  # takes all pixels into account
    return np.asarray(small, dtype=np.float32) / 255


def _edges(grey: AnyArray) -> AnyArray:
    """Return how strong edges of every direction are in every cell, beside those around it."""
    down, right = np.gradient(np.pad(grey, 1, mode="edge"))
    down, right = down[1:-1, 1:-1], right[1:-1, 1:-1]
    strength = np.hypot(down, right)
    # Opposite directions are the same edge; each counts for the two bins that it lies between.
    turn = (np.arctan2(down, right) % np.pi) / np.pi * _DIRECTIONS
    lower = np.floor(turn)
    votes = np.zeros((_SIDE, _SIDE, _DIRECTIONS), dtype=np.float32)
    rows, columns = np.indices(grey.shape)
    for bins, share in ((lower, 1 - (turn - lower)), (lower + 1, turn - lower)):
        votes[rows, columns, bins.astype(int) % _DIRECTIONS] += strength * share
    cells = _averages(votes, _CELLS)
    # Blocks of 2 x 2 cells: a cell is compared with those of the four blocks that it is part of.
    energy = np.pad((cells**2).sum(axis=2), 1)
    blocks = energy[:-1, :-1] + energy[1:, :-1] + energy[:-1, 1:] + energy[1:, 1:]
    scales = 1 / np.sqrt(blocks + (_NOISE / _CELLS) ** 2)
    around = (scales[:-1, :-1], scales[1:, :-1], scales[:-1, 1:], scales[1:, 1:])
    shares = [np.minimum(cells * scale[..., np.newaxis], _LARGEST_SHARE) for scale in around]
    said: AnyArray = np.mean(shares, axis=0)
    return said


def _colours(pixels: AnyArray, grey: AnyArray) -> AnyArray:
    """Return how far red and blue are from grey by place, and how often colours occur."""
    chroma = np.stack([pixels[..., 0] - grey, pixels[..., 2] - grey], axis=-1)
    levels = np.minimum((pixels * _LEVELS).astype(int), _LEVELS - 1)
    codes = levels @ np.array([_LEVELS**2, _LEVELS, 1])
    counts = np.bincount(codes.ravel(), minlength=_LEVELS**3)
    # Roots, because whether a colour is there at all says more than how much of it.
    often = np.sqrt(counts / codes.size)
    return np.concatenate([_averages(chroma, _PLACES).ravel(), often])


def _averages(values: AnyArray, n_places: int) -> AnyArray:
    """Return averages over a grid of so many places on each side."""
    size = _SIDE // n_places
    shape = (n_places, size, n_places, size, *values.shape[2:])
    averages: AnyArray = values.reshape(shape).mean(axis=(1, 3))
    return averages
