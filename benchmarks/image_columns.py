"""Columns of images: the built-in descriptor beside raw pixels, and a convolutional network.

    python benchmarks/image_columns.py

Candidate sets are made from true labels, which only judge held-out images. Writes
docs/results/image_columns.md.
"""

import io
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images
from sklearn.model_selection import train_test_split
from torch import nn

from disambig import EMClassifier, NCPDClassifier
from disambig.candidates import corrupt_controlled
from disambig.tabular.described.image_descriptor import BuiltInDescriptor
from results_page import markdown_table, write_page

SEEDS = range(3)
_SIDE = 32  # pixels of a patch of a photo


class Pictures(NamedTuple):
    """Small images, and what they show."""

    title: str
    images: np.ndarray  # of bytes: (n, height, width) in shades of grey, or (n, height, width, 3)
    labels: np.ndarray

    def contents(self) -> list[bytes]:
        """Return the images as PNG files."""
        found = []
        for image in self.images:
            stream = io.BytesIO()
            Image.fromarray(image).save(stream, "PNG")
            found.append(stream.getvalue())
        return found


def digits() -> Pictures:
    """Return scikit-learn's digits."""
    found = load_digits()
    return Pictures("digits", (found.images * 255 / 16).astype(np.uint8), found.target)


def patches() -> Pictures:
    """Return patches of scikit-learn's two photos; the label is the quarter of which photo."""
    images, labels = [], []
    for photo, pixels in enumerate(load_sample_images().images):
        n_down, n_right = (size // _SIDE for size in pixels.shape[:2])
        for down, right in np.ndindex(n_down, n_right):
            top, left = down * _SIDE, right * _SIDE
            images.append(pixels[top : top + _SIDE, left : left + _SIDE])
            labels.append(4 * photo + 2 * (2 * down // n_down) + 2 * right // n_right)
    return Pictures("patches of two photos", np.array(images), np.array(labels))


def convolutional(shape: tuple[int, int, int], n_classes: int) -> nn.Module:
    """Return a small network for images."""
    n_channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(n_channels, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(32 * (height // 2) * (width // 2), n_classes),
    )


def tensors(images: np.ndarray) -> np.ndarray:
    """Return images as tensors: their channels first."""
    return images[:, np.newaxis] if images.ndim == 3 else np.moveaxis(images, -1, 1)


def trials(
    pictures: Pictures, described: np.ndarray
) -> Iterator[tuple[str, str, np.ndarray, Callable[[int], Any]]]:
    """Yield what is compared: features and method by name, the features, the method by seed."""
    pixels = pictures.images.reshape(len(pictures.images), -1)
    for name, X in (("pixels", pixels), ("built-in descriptor", described)):
        yield name, "EM", X, lambda _: EMClassifier(scaling="standard")
        yield (
            name,
            "NCPD",
            X,
            lambda seed: NCPDClassifier(epochs=50, ramp_epochs=25, hidden=256, random_state=seed),
        )
    if pictures.title == "digits":
        yield (
            "images",
            "NCPD, convolutional",
            tensors(pictures.images),
            lambda seed: NCPDClassifier(
                network=convolutional, epochs=20, ramp_epochs=10, random_state=seed
            ),
        )


def main() -> None:
    """Measure, and write the page."""
    rows = []
    speeds = []
    for pictures in (digits(), patches()):
        contents = pictures.contents()
        start = time.process_time()
        described = np.array(BuiltInDescriptor().describe(contents))
        each = (time.process_time() - start) / len(contents)
        size = " x ".join(map(str, pictures.images.shape[1:3]))
        speeds.append([f"{pictures.title}, {size}", f"{len(contents):,}", f"{each * 1000:.1f}"])
        for features, title, X, make in trials(pictures, described):
            right = []
            for seed in SEEDS:
                train, test = train_test_split(
                    np.arange(len(X)), test_size=0.4, random_state=seed, stratify=pictures.labels
                )
                sets = corrupt_controlled(pictures.labels[train], p=0.67, r=3, random_state=seed)
                method = make(seed).fit(X[train], sets)
                right.append(method.score(X[test], pictures.labels[test]))
            rows.append([pictures.title, features, title, f"{np.mean(right):.3f}"])
            print(*rows[-1])
    photo = Image.fromarray(np.tile(patches().images[0], (96, 128, 1)))
    stream = io.BytesIO()
    photo.save(stream, "JPEG")
    start = time.process_time()
    BuiltInDescriptor().describe([stream.getvalue()] * 5)
    each = (time.process_time() - start) / 5
    speeds.append([f"a JPEG, {photo.height:,} x {photo.width:,}", "5", f"{each * 1000:.1f}"])
    write_page(
        "image_columns",
        "benchmarks/image_columns.py",
        f"Accuracy on held-out images, the mean over {len(SEEDS)} splits; three false labels in "
        "67 % of the training sets. Patches of scikit-learn's two photos are 32 x 32 pixels and do "
        "not overlap; the label is the quarter of the photo that they are from. NCPD trains 50 "
        "epochs with 256 hidden units, and 20 where its network is convolutional:",
        markdown_table(["images", "features", "method", "accuracy"], rows),
        f"Milliseconds of processor for an image, read and described by {BuiltInDescriptor.width} "
        "numbers:",
        markdown_table(["images", "count", "ms each"], speeds),
        real_data=False,
    )


if __name__ == "__main__":
    main()
