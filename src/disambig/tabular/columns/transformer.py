"""Columns become features: gaps filled, clipped to the range seen in training, scaled, encoded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import sparse

from disambig._core.array_file import take_part
from disambig._core.typing import AnyArray, BoolArray, Features, FloatArray, IntArray, Sparse
from disambig.methods.feature_scales import FeatureScale
from disambig.solvers.reduction import Reduction
from disambig.tabular.columns.text_features import TextFeatures
from disambig.tabular.columns.values import CategoryCodes, ColumnPlan, Record, ValueNames
from disambig.tabular.columns.values_on_disk import Values, ValuesOnDisk

_SCALER = "scaler."
_RANKS = "ranks."
# A rank that nobody has reached would be infinitely far away, and the last ones are luck.
LARGEST_SCORE = 3.0
# Most parts of a date say little, and what says nothing must not outweigh the rest where rows are
# compared by their distance.
_WEIGHT_OF_REPEATING = 0.5
# A column of fewer values has no tail, and nothing that one value stands out from.
_FEWEST_VALUES = 20
# A value that stands out: in this share of the cells, and so many times as often as any other.
_SMALLEST_SPIKE = 0.1
_TIMES_THE_NEXT = 5
# The skewness of an exponential distribution; that of the normal one is 0.
_HEAVY_TAIL = 2.0
_MOST_QUANTILES = 1000
_COLUMNS_AT_A_TIME = 128
# The length of the row of a text, where that of a number is about 1: a text tells as much as many
# numbers, and linear methods with their usual penalties learn the most from it. The many numbers of
# an image or an embedding have this length at most, or they would drown the columns beside them.
_LENGTH = 8.0
_TEXT, _REDUCTION = "text", "reduction"


class TransformerState(Record):
    """What is not a number of what a transformer has learned, as JSON takes it."""

    scaling: Literal["standard", "none"]
    gaps: list[str]  # numbers with a column of 0 and 1 for their gaps
    categories: dict[str, CategoryCodes]
    # Models of version 0.2.0 have neither.
    tails: list[str] = Field(default_factory=list)  # numbers with a normal score beside them
    spikes: dict[str, float] = Field(default_factory=dict)  # numbers with a mark for this value
    # Models before texts were read have none.
    texts: list[str] = Field(default_factory=list)
    sparse: bool = False  # whether words stay features, as methods for sparse features take them


@dataclass(frozen=True, eq=False)
class FeatureTransformer:
    """Turns what ``column_values`` returns for a plan into features.

    Numbers, booleans and parts of dates have their median in place of what is missing, stay within
    what the rows of the fit held, and are scaled to mean 0 and variance 1, unless the method scales
    features itself; the parts of a date that begin again, such as the weekday, then count half, and
    the numbers of an image or an embedding as much as a text. A number with a heavy tail has the
    normal score of its rank beside it. Columns of 0 and 1 say where a number has the one value that
    stands out in the rows of the fit, such as 0, and what was missing, if anything was there.
    Categories are columns of 0 and 1, what is missing being a category too; the rarer of more than
    ``MOST_CATEGORIES`` share a column. Texts are TF-IDF of words and pieces of words, which are
    sparse, or their main directions.

    Networks, kernels and linear models see how far a number is from the mean: not that it did not
    rain at all, and hardly that a small company is ten times as large as another.

    What a model does beyond the range that it has seen is anybody's guess; and a column that was
    constant, such as the hour of dates without a time, has no scale to measure another value by.
    """

    numbers: list[str]  # the names of values that are numbers
    medians: FloatArray  # of every number: what fills gaps
    low: FloatArray  # of every number: its range
    high: FloatArray
    scale: FeatureScale | None  # of the numbers, where there are any
    ranks: FeatureScale | None  # of the numbers with heavy tails, where there are any
    state: TransformerState
    texts: dict[str, TextFeatures] = field(default_factory=dict)  # by column
    reduction: Reduction | None = None  # of all texts, where features must be dense

    @classmethod
    def fit(
        cls,
        values: Values,
        plan: ColumnPlan,
        *,
        scaling: Literal["standard", "none"],
        sparse: bool = False,
        n_embeddings: int | None = None,
    ) -> Self:
        """Learn from what ``column_values`` returned for a plan; ``scaling`` is that of numbers.

        With ``sparse``, features are sparse if there are texts among them. Of values on disk one
        column is in memory at a time, all rows of it. ``n_embeddings`` is how many there are, if
        these values hold but some of them.
        """
        if isinstance(values, ValuesOnDisk):
            parts = [
                cls.fit(of_column, part, scaling=scaling, n_embeddings=plan.embeddings)
                for part, of_column in values.by_column()
            ]
            return cls._joined(parts, plan, scaling, sparse=sparse)
        names = ValueNames.of(plan)
        learned = _learn_numbers(values, names.numbers, scaling)
        have_gaps = set(compress(names.numbers, learned["gaps"].tolist()))
        with_gaps = values[names.amounts].to_numpy(np.float64)
        middle = learned["medians"][names.places(names.amounts)]
        tails = _heavy_tails(with_gaps, np.where(np.isnan(with_gaps), middle, with_gaps))
        spikes = _spikes(with_gaps)
        state = TransformerState(
            scaling=scaling,
            # One column for a date: its parts are missing together.
            gaps=[name for name in names.marked if name in have_gaps],
            categories={
                name: CategoryCodes.seen(cells)
                for name, cells in zip(
                    names.categories, _cells(values, names.categories), strict=True
                )
            },
            tails=[names.amounts[place] for place in tails],
            spikes={names.amounts[place]: value for place, value in spikes.items()},
            texts=names.texts,
            sparse=sparse,
        )
        scale = FeatureScale(scaling, _prefixed(learned, _SCALER)) if names.numbers else None
        if scale is not None and scaling == "standard":
            scale.learned["scale_"][names.places(names.repeating)] /= _WEIGHT_OF_REPEATING
            for block in names.blocks:
                length = n_embeddings if n_embeddings and not plan.columns else len(block)
                longer = np.sqrt(length) / _LENGTH
                scale.learned["scale_"][names.places(block)] *= max(1.0, longer)
        ranks = None
        if tails:
            quantiles = _quantiles(with_gaps[:, tails])
            ranks = FeatureScale("quantile", {"quantiles_": quantiles})
        texts = {name: TextFeatures.fit(values[name].tolist()) for name in names.texts}
        medians, low, high = learned["medians"], learned["low"], learned["high"]
        made = cls(names.numbers, medians, low, high, scale, ranks, state, texts)
        if not texts or sparse:
            return made
        return replace(made, reduction=Reduction.fit(made._of_texts(values)))

    @classmethod
    def _joined(
        cls,
        parts: Sequence[Self],
        plan: ColumnPlan,
        scaling: Literal["standard", "none"],
        *,
        sparse: bool,
    ) -> Self:
        """Return what was learned of every column of a plan by itself as one transformer."""
        numbers = ValueNames.of(plan).numbers
        # Parts of a date may be called otherwise where another column has that name.
        name_of = dict(zip(chain.from_iterable(p.numbers for p in parts), numbers, strict=True))
        spikes, categories = (
            dict(chain.from_iterable(getattr(part.state, name).items() for part in parts))
            for name in ("spikes", "categories")
        )
        state = TransformerState(
            scaling=scaling,
            gaps=[name_of[name] for part in parts for name in part.state.gaps],
            categories=categories,
            tails=[name for part in parts for name in part.state.tails],
            spikes=spikes,
            sparse=sparse,
        )
        medians, low, high = (
            np.concatenate([np.zeros(0), *[getattr(part, name) for part in parts]])
            for name in ("medians", "low", "high")
        )
        scales = [part.scale for part in parts if part.scale is not None]
        ranks = [part.ranks for part in parts if part.ranks is not None]
        return cls(
            numbers,
            medians,
            low,
            high,
            _side_by_side(scales) if scales else None,
            _side_by_side(ranks) if ranks else None,
            state,
        )

    @property
    def categories(self) -> list[str]:
        """The names of values that are categories."""
        return list(self.state.categories)

    @property
    def n_features(self) -> int:
        """Number of features."""
        if self.reduction is not None:
            return self._n_beside_texts + self.reduction.width
        return self._n_beside_texts + sum(texts.n_features for texts in self.texts.values())

    @property
    def _n_beside_texts(self) -> int:
        state = self.state
        of_numbers = len(self.numbers) + len(state.tails)
        of_marks = len(state.spikes) + len(state.gaps)
        of_categories = sum(codes.width for codes in state.categories.values())
        return of_numbers + of_marks + of_categories

    def transform(self, values: pd.DataFrame) -> Features:
        """Return the features of rows: numbers, scores, marks, categories, texts.

        An array of doubles; in CSR if there are texts, and the fit was told that it may be sparse.
        """
        dense = self._without_texts(values)
        if not self.texts:
            return dense
        texts = self._of_texts(values)
        if self.reduction is not None:
            return np.hstack([dense, self.reduction.apply(texts)])
        return sparse.csr_array(sparse.hstack([sparse.csr_array(dense), texts], format="csr"))

    def _of_texts(self, values: pd.DataFrame) -> Sparse:
        parts = [texts.transform(values[name].tolist()) for name, texts in self.texts.items()]
        return sparse.csr_array(sparse.hstack(parts, format="csr")) * _LENGTH

    def _without_texts(self, values: pd.DataFrame) -> FloatArray:
        features = np.zeros((len(values), self._n_beside_texts))
        column = 0
        for part in self._of_numbers(values) if self.numbers else ():
            features[:, column : column + part.shape[1]] = part
            column += part.shape[1]
        for codes, cells in self._categories_with_cells(values):
            places = codes.places(cells)
            rows = np.flatnonzero(places >= 0)
            features[rows, column + places[rows]] = 1
            column += codes.width
        return features

    def _of_numbers(self, values: pd.DataFrame) -> Iterator[AnyArray]:
        """Yield the features that are made of numbers, a few columns at a time."""
        state = self.state
        place_of = {name: place for place, name in enumerate(self.numbers)}
        for places in _blocks(len(self.numbers)):
            X, _ = self._filled(values, places)
            if self.scale is not None:
                learned = {name: array[places] for name, array in self.scale.learned.items()}
                X = FeatureScale(self.scale.kind, learned).apply(X)
            yield X
        if self.ranks is not None:
            X, _ = self._filled(values, [place_of[name] for name in state.tails])
            yield np.clip(self.ranks.apply(X), -LARGEST_SCORE, LARGEST_SCORE)
        # Marks are not scaled: what is rare would outweigh everything else.
        X, missing = self._filled(values, [place_of[name] for name in state.spikes])
        marked = np.array(list(state.spikes.values()))
        yield (marked == X) & ~missing
        yield np.isnan(values[state.gaps].to_numpy(np.float64))

    def _filled(self, values: pd.DataFrame, places: list[int]) -> tuple[FloatArray, BoolArray]:
        """Return numbers within what the fit has seen, gaps filled, and where these were."""
        X = values[[self.numbers[place] for place in places]].to_numpy(np.float64)
        missing = np.isnan(X)
        filled = np.where(missing, self.medians[places], X)
        return np.clip(filled, self.low[places], self.high[places]), missing

    def unseen_categories(self, values: pd.DataFrame) -> dict[str, list[str]]:
        """Return the categories that were not seen in training, by column, sorted."""
        unseen = [codes.unseen(cells) for codes, cells in self._categories_with_cells(values)]
        return {name: new for name, new in zip(self.categories, unseen, strict=True) if new}

    def _categories_with_cells(
        self, values: pd.DataFrame
    ) -> Iterator[tuple[CategoryCodes, list[str | None]]]:
        codes = self.state.categories.values()
        return zip(codes, _cells(values, self.categories), strict=True)

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return the numbers that were learned, by name; ``state`` is the rest."""
        arrays = {"medians": self.medians, "low": self.low, "high": self.high}
        for prefix, scale in ((_SCALER, self.scale), (_RANKS, self.ranks)):
            if scale is not None:
                arrays |= {prefix + name: array for name, array in scale.learned.items()}
        parts: dict[str, TextFeatures | Reduction] = {
            f"{_TEXT}{n}": texts for n, texts in enumerate(self.texts.values())
        }
        if self.reduction is not None:
            parts[_REDUCTION] = self.reduction
        for part, learned in parts.items():
            arrays |= {f"{part}.{name}": array for name, array in learned.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, plan: ColumnPlan, state: TransformerState, arrays: Mapping[str, AnyArray]
    ) -> Self:
        """Rebuild a transformer that gives the same bits; raise ``ValueError`` if it does not fit.

        ``plan`` is what it was fitted for; ``state`` and ``to_arrays`` gave the rest.
        """
        names = ValueNames.of(plan)
        _check_state(state, names)
        arrays = dict(arrays)
        texts = {
            name: TextFeatures.from_arrays(take_part(arrays, f"{_TEXT}{n}"))
            for n, name in enumerate(names.texts)
        }
        reduction = None
        if texts and not state.sparse:
            n_terms = sum(each.n_features for each in texts.values())
            reduction = Reduction.from_arrays(n_terms, take_part(arrays, _REDUCTION))
        ranges = [arrays.get(name) for name in ("medians", "low", "high")]
        if any(
            array is None or array.dtype != np.float64 or array.shape != (len(names.numbers),)
            for array in ranges
        ):
            raise ValueError("every number needs a median and a range")
        medians, low, high = (np.array(array) for array in ranges)
        if not ((low <= medians) & (medians <= high)).all():
            raise ValueError("the range of a number does not hold its median")
        of_scaler, of_ranks = (_prefixed(arrays, prefix) for prefix in (_SCALER, _RANKS))
        if len(arrays) != len(ranges) + len(of_scaler) + len(of_ranks):
            raise ValueError("it has arrays that do not belong to a transformer")
        scale = _rebuilt(state.scaling, of_scaler, len(names.numbers), "number")
        ranks = _rebuilt("quantile", of_ranks, len(state.tails), "number with a heavy tail")
        return cls(names.numbers, medians, low, high, scale, ranks, state, texts, reduction)


def _learn_numbers(
    values: pd.DataFrame, names: list[str], scaling: Literal["standard", "none"]
) -> dict[str, AnyArray]:
    """Return medians, ranges, gaps and the scale of numbers, by name.

    Some columns at a time: embeddings may be mapped from a file, and doubles are not.
    """
    parts = []
    for places in _blocks(len(names)):
        with_gaps = values[[names[place] for place in places]].to_numpy(np.float64)
        missing = np.isnan(with_gaps)
        medians = _medians(with_gaps, missing)
        X = np.where(missing, medians, with_gaps)
        learned = FeatureScale.fit(scaling, X).learned
        part = {"medians": medians, "low": X.min(axis=0), "high": X.max(axis=0)}
        part |= {"gaps": missing.any(axis=0)}
        parts.append(part | {_SCALER + name: array for name, array in learned.items()})
    if not parts:
        return dict.fromkeys(("medians", "low", "high", "gaps"), np.zeros(0))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _medians(X: FloatArray, missing: BoolArray) -> FloatArray:
    """Return the median of every column, 0 where it is empty; NaN is a gap."""
    medians = np.zeros(X.shape[1])
    whole, empty = ~missing.any(axis=0), missing.all(axis=0)
    # Many times faster than to look for gaps in every column.
    medians[whole] = np.median(np.ascontiguousarray(X.T[whole]), axis=1, overwrite_input=True)
    holed = ~whole & ~empty
    medians[holed] = np.nanmedian(X[:, holed], axis=0)
    return medians


def _blocks(count: int) -> list[list[int]]:
    """Return the places of some columns at a time, all together if they are few."""
    n_blocks = max(1, count // _COLUMNS_AT_A_TIME)
    return [part.tolist() for part in np.array_split(np.arange(count), n_blocks) if len(part)]


def _check_state(state: TransformerState, names: ValueNames) -> None:
    """Raise ``ValueError`` if a state does not belong to a plan."""
    for some, known, what in (
        (state.gaps, names.marked, "gaps are marked of columns that are not numbers of the plan"),
        (state.tails, names.amounts, "a heavy tail is that of a column that is not a number"),
        (list(state.spikes), names.amounts, "a value stands out in a column that is not a number"),
    ):
        if not set(some) <= set(known) or len(set(some)) < len(some):
            raise ValueError(what)
    if state.texts != names.texts:
        raise ValueError("its texts are not those of its plan")
    if list(state.categories) != names.categories:
        raise ValueError("its categories are not those of its plan")
    for codes in state.categories.values():
        known_categories = [*codes.frequent, *codes.rare]
        if len(set(known_categories)) < len(known_categories):
            raise ValueError("a category is there twice")


def _rebuilt(
    kind: str, arrays: Mapping[str, AnyArray], n_columns: int, what: str
) -> FeatureScale | None:
    if not n_columns:
        if arrays:
            raise ValueError("nothing is to be scaled")
        return None
    scale = FeatureScale.from_arrays(kind, arrays)
    if scale.n_features != n_columns:
        raise ValueError(f"every {what} needs a scale")
    return scale


def _side_by_side(scales: Sequence[FeatureScale]) -> FeatureScale:
    """Return one scale of all columns that several have learned."""
    names = scales[0].learned
    learned = {
        name: np.concatenate([scale.learned[name] for scale in scales], axis=-1) for name in names
    }
    return FeatureScale(scales[0].kind, learned)


def _prefixed(arrays: Mapping[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def _cells(values: pd.DataFrame, names: list[str]) -> Iterator[list[str | None]]:
    """Yield the cells of columns of strings; all together, as pandas is slow with each."""
    return map(list, values[names].to_numpy(dtype=object).T)


def _spikes(X: FloatArray) -> dict[int, float]:
    """Return the columns with a value that stands out, such as 0 millimetres of rain; NaN is a gap.

    It has a tenth of the cells, and five times as many as any other value.
    """
    n_present, n_distinct = _counts(X)
    n_repeated = n_present - n_distinct
    # Most columns are out already: a value that stands out is a repeated one.
    hopeful = (n_distinct >= _FEWEST_VALUES) & (n_repeated + 1 >= _SMALLEST_SPIKE * n_present)
    spikes = {}
    for column in np.flatnonzero(hopeful).tolist():
        present = X[~np.isnan(X[:, column]), column]
        values, counts = np.unique(present, return_counts=True)
        most = int(counts.argmax())
        next_most = np.delete(counts, most).max()
        enough = max(_SMALLEST_SPIKE * len(present), _TIMES_THE_NEXT * next_most)
        if counts[most] >= enough:
            spikes[column] = float(values[most])
    return spikes


def _heavy_tails(X: FloatArray, filled: FloatArray) -> list[int]:
    """Return the columns whose tail is as heavy as that of an exponential distribution, or heavier.

    ``X`` has NaN for gaps, ``filled`` has them filled.
    """
    if not X.size:
        return []
    # The cubes of standardised numbers cannot overflow.
    skewness = np.abs((FeatureScale.fit("standard", filled).apply(filled) ** 3).mean(axis=0))
    _, n_distinct = _counts(X)
    columns: list[int] = np.flatnonzero(
        (skewness > _HEAVY_TAIL) & (n_distinct >= _FEWEST_VALUES)
    ).tolist()
    return columns


def _quantiles(X: FloatArray) -> FloatArray:
    """Return the values of every column at evenly spaced ranks, those of gaps (NaN) left out."""
    ranks = np.linspace(0, 1, min(len(X), _MOST_QUANTILES))
    # A mean of equals may be off by a rounding, where quantiles must not fall.
    rising: FloatArray = np.maximum.accumulate(np.nanquantile(X, ranks, axis=0), axis=0)
    return rising


def _counts(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return how many cells of every column are there, and how many different values."""
    in_order = np.sort(X, axis=0)  # gaps last
    n_present = (~np.isnan(in_order)).sum(axis=0)
    n_distinct = (in_order[1:] > in_order[:-1]).sum(axis=0) + (n_present > 0)
    return n_present, n_distinct
