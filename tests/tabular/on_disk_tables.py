"""Tables with columns of many kinds, in memory and in Parquet."""

from pathlib import Path

import numpy as np
import pandas as pd

LABELS = np.array(list("wxyz"))


def many_kinds(n_rows: int = 600) -> pd.DataFrame:
    """Return a table with gaps, tails, spikes, categories, dates and a column of identifiers."""
    generator = np.random.default_rng(1)
    truth, other = generator.integers(4, size=(2, n_rows))
    seconds = generator.integers(0, 10**8, size=n_rows)
    numbers = np.where(generator.random(n_rows) < 0.2, -1, generator.integers(0, 9, n_rows))
    whole = pd.array(numbers, dtype="Int64")
    whole[numbers == -1] = pd.NA
    categories = np.array(["u", "v", "w", None], dtype=object)
    return pd.DataFrame(
        {
            "mean": generator.normal(size=n_rows) + truth,
            "tail": np.exp(1.5 * generator.normal(size=n_rows)) + truth,
            "zero": np.where(generator.random(n_rows) < 0.3, 0, generator.gamma(2, size=n_rows)),
            "gap": np.where(
                generator.random(n_rows) < 0.1, np.nan, generator.normal(size=n_rows) - truth
            ),
            "whole": whole,
            "few": categories[generator.integers(4, size=n_rows)],
            "many": [f"k{number}" for number in generator.geometric(0.02, size=n_rows)],
            "when": pd.Timestamp("2021-01-01") + pd.to_timedelta(seconds, unit="s"),
            "flag": generator.random(n_rows) < 0.5,
            "id": [f"R{row:05}" for row in range(n_rows)],
            "label": [
                "|".join(sorted({LABELS[one], LABELS[two]}))
                for one, two in zip(truth, other, strict=True)
            ],
            "truth": LABELS[truth],
        }
    )


def write_parts(frame: pd.DataFrame, folder: Path, n_parts: int = 3) -> Path:
    """Write a table as files of small row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    length = -(-len(frame) // n_parts)
    for number in range(n_parts):
        part = frame.iloc[length * number : length * (number + 1)]
        part.to_parquet(folder / f"{number}.parquet", row_group_size=50, index=False)
    return folder
