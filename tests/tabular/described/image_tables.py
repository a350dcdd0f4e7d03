"""Tables of images that tests write: a sign for every label, in any colour."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

SIGNS = ("bar", "cross", "disc")


def draw(sign: str, seed: int, side: int = 40) -> Image.Image:
    """Return a sign in light colours on a dark ground."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 60, (side, side, 3), dtype=np.uint8)
    down, right = np.indices((side, side)) - side // 2 + random.integers(-3, 4, (2, 1, 1))
    inside = {
        "bar": np.abs(down) < side // 8,
        "cross": np.abs(np.abs(down) - np.abs(right)) < side // 10,
        "disc": np.hypot(down, right) < side // 3,
    }[sign]
    pixels[inside] = random.integers(150, 256, 3)
    return Image.fromarray(pixels)


def write_signs(folder: Path, n_rows: int = 60, first: int = 0) -> pd.DataFrame:
    """Write images into ``folder/signs`` and return their table: a photo, its candidates."""
    (folder / "signs").mkdir(exist_ok=True)
    rows = []
    for number in range(first, first + n_rows):
        sign = SIGNS[number % len(SIGNS)]
        draw(sign, seed=number).save(folder / "signs" / f"{number}.png")
        other = SIGNS[(number // 3) % len(SIGNS)]
        labels = sorted({sign, other})
        rows.append((f"signs/{number}.png", "|".join(labels), sign))
    return pd.DataFrame(rows, columns=["photo", "label", "truth"])
