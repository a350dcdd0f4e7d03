"""
A column of images
==================

A table whose rows are image files, some with several candidate labels. disambig turns the files
into numbers, learns from them, and chooses a label for every image.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image
from sklearn.datasets import load_digits

from disambig import clean_table
from disambig.candidates import corrupt_controlled
from disambig.tabular import DescribedColumns

# %%
# Digits, written as PNG files. Two thirds of the rows get three false labels beside the right one.

digits = load_digits()
folder = Path(tempfile.mkdtemp())
chosen = np.random.default_rng(0).permutation(len(digits.images))[:600]
for number in chosen:
    pixels = (digits.images[number] * 255 / 16).astype(np.uint8)
    Image.fromarray(pixels).save(folder / f"{number}.png")

truth = digits.target[chosen].astype(str)
sets = corrupt_controlled(truth, p=0.67, r=3, random_state=0)
table = pd.DataFrame(
    {
        "image": [f"{number}.png" for number in chosen],
        "label": ["|".join(sets.classes[row]) for row in sets.to_mask()],
    }
)
print(table.head())

# %%
# The column is recognised as one of images. The numbers are kept in ``cache``, so that nothing is
# computed twice.

cleaned = clean_table(
    table,
    described=DescribedColumns(folder=folder, cache=folder / "numbers"),
    method="em",
    n_folds=3,
)
right = cleaned["chosen_label"].to_numpy() == truth
print(f"{right.mean():.1%} of the images got the right label.")

# %%
# The least sure choices, with the candidates that each image had.

least_sure = np.argsort(cleaned["confidence"].to_numpy(), kind="stable")[:10]
figure, axes = plt.subplots(2, 5, figsize=(7, 4.2), layout="constrained")
for row, axis in zip(least_sure, axes.flat, strict=True):
    axis.imshow(plt.imread(folder / table["image"][row]), cmap="gray_r")
    axis.set_title(cleaned["chosen_label"][row], color="C2" if right[row] else "C3")
    axis.set_xlabel(f"of {table['label'][row].replace('|', ', ')}")
    axis.set(xticks=[], yticks=[])
figure.suptitle("The ten least sure choices (red: wrong)")
plt.show()
