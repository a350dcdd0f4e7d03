"""Free text as numbers: TF-IDF of its words and of pieces of them, learned from training rows."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

import numpy as np
from scipy import sparse

from disambig._core.typing import AnyArray, FloatArray, Sparse

Kind = Literal["words", "pieces"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

# The beginning of a text says what it is about.
MOST_CHARACTERS = 10_000
# Pieces are many: those of the first words do, unless nothing else tells words apart.
_MOST_IN_PIECES, _MOST_IN_PIECES_WITHOUT_SPACES = 300, 1_500
# Terms are learned from so many characters at the most: of rows that are evenly spaced.
_MOST_LEARNED_FROM = 20_000_000
_CHARACTERS_AT_A_TIME = 1_000_000
# The most frequent terms of each kind are kept; those of a single row say nothing about others.
_MOST_TERMS = 30_000
_FEWEST_ROWS = 2
# While they are counted: beyond, the rarer half is forgotten.
_MOST_COUNTED = 2_000_000
# Letters of a piece: pieces do for endings, misspellings, and for scripts without spaces, where a
# sentence looks like one word.
_SIZES, _SIZES_WITHOUT_SPACES = (3, 4), (1, 2, 3)
_WORD = re.compile(r"\w\w+")
# Chinese, Japanese; Thai, Lao, Tibetan, Burmese, Khmer.
_WITHOUT_SPACES = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"
)
# A term that no text has: there must be one.
_NEVER = " "
# Between the terms in a file; in no term, because white space has become single spaces.
_SEPARATOR = "\n"


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one kind, in order, and what each of them weighs: the rarer, the more."""

    kind: Kind
    terms: list[str]
    weights: FloatArray

    @classmethod
    def fit(cls, kind: Kind, texts: Sequence[str]) -> Self:
        """Learn from texts that ``readable`` gave which terms there are and how rare they are."""
        n_rows = _rows_with(kind, texts)
        frequent = [term for term, count in n_rows.items() if count >= _FEWEST_ROWS]
        frequent = frequent or list(n_rows) or [_NEVER]
        # By name where they are equally frequent: the order of rows must not matter.
        frequent.sort(key=lambda term: (-n_rows.get(term, 0), term))
        terms = sorted(frequent[:_MOST_TERMS])
        counts = np.array([n_rows.get(term, 0) for term in terms], dtype=np.float64)
        return cls(kind, terms, 1 + np.log((1 + len(texts)) / (1 + counts)))

    def transform(self, texts: Sequence[str]) -> Sparse:
        """Return a row of length 1 for every text, of length 0 where it has no known term."""
        # slow to import
        from sklearn.preprocessing import normalize

        counter = _counter(self.kind, self.terms)
        parts = [counter.transform(part) for part in _parts(texts)]
        found = sparse.csr_array(sparse.vstack(parts, format="csr", dtype=np.float64))
        found.sort_indices()
        found.data = (1 + np.log(found.data)) * self.weights[found.indices]
        return normalize(found, copy=False)


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Turns the texts of one column into sparse features: all kinds of terms side by side.

    Parameters
    ----------
    kinds : list of Terms
        What was learned, in the order of the features.
    """

    kinds: list[Terms]

    @classmethod
    def fit(cls, texts: Sequence[str]) -> Self:
        """Learn the terms of the texts of training rows."""
        spaced = _spaced(texts)
        return cls([Terms.fit(kind, spaced) for kind in KINDS])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(len(each.terms) for each in self.kinds)

    def transform(self, texts: Sequence[str]) -> Sparse:
        """Return a sparse row of length 1 at most for every text."""
        cleaned = [readable(text) for text in texts]
        parts = [each.transform(cleaned) for each in self.kinds]
        return sparse.csr_array(sparse.hstack(parts, format="csr")) / np.sqrt(len(parts))

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return what was learned as arrays: the terms as text in UTF-8."""
        arrays: dict[str, AnyArray] = {}
        for each in self.kinds:
            text = _SEPARATOR.join(each.terms).encode()
            arrays[each.kind] = np.frombuffer(text, dtype=np.uint8)
            arrays[f"{each.kind}.weights"] = each.weights
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Self:
        """Rebuild what gives the same bits; raise ``ValueError`` if no fit can have learned it."""
        if set(arrays) != {*KINDS, *(f"{kind}.weights" for kind in KINDS)}:
            raise ValueError("a column of text needs terms of every kind, and their weights")
        return cls([_rebuilt(kind, arrays[kind], arrays[f"{kind}.weights"]) for kind in KINDS])


def readable(text: str) -> str:
    """Return the beginning of a text in small letters, with single spaces."""
    cut = unicodedata.normalize("NFKC", text[:MOST_CHARACTERS])[:MOST_CHARACTERS]
    return " ".join(cut.lower().encode("utf-8", "replace").decode().split())


def _spaced(texts: Sequence[str]) -> list[str]:
    """Return texts to learn from, evenly spaced if there are too many of them."""
    lengths = sum(min(len(text), MOST_CHARACTERS) for text in texts)
    step = max(1, -(-lengths // _MOST_LEARNED_FROM))
    return [readable(text) for text in texts[::step]]


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts, so many at a time that what is counted of them fits into memory."""
    part: list[str] = []
    length = 0
    for text in texts:
        part.append(text)
        length += len(text) + 1
        if length >= _CHARACTERS_AT_A_TIME:
            yield part
            part, length = [], 0
    if part or not texts:
        yield part


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _pieces(text: str) -> list[str]:
    """Return the pieces of every word of a text, white space before and after it included."""
    pieces: list[str] = []
    spaced = text.isascii() or not _WITHOUT_SPACES.search(text)
    most = _MOST_IN_PIECES if spaced else _MOST_IN_PIECES_WITHOUT_SPACES
    for word in text[:most].split(" "):
        padded = f" {word} "
        spaced = word.isascii() or not _WITHOUT_SPACES.search(word)
        for size in _SIZES if spaced else _SIZES_WITHOUT_SPACES:
            pieces += [padded[at : at + size] for at in range(len(padded) - size + 1)]
    return pieces


_TERMS_OF: dict[Kind, Callable[[str], list[str]]] = {"words": _words, "pieces": _pieces}


def _counter(kind: Kind, terms: list[str]) -> Any:
    # slow to import
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(analyzer=_TERMS_OF[kind], vocabulary=terms)


def _rows_with(kind: Kind, texts: Sequence[str]) -> dict[str, int]:
    """Return in how many texts every term is."""
    n_rows: dict[str, int] = {}
    for text in texts:
        for term in set(_TERMS_OF[kind](text)):
            n_rows[term] = n_rows.get(term, 0) + 1
        if len(n_rows) > _MOST_COUNTED:
            kept = sorted(n_rows, key=lambda term: (-n_rows[term], term))[: _MOST_COUNTED // 2]
            n_rows = {term: n_rows[term] for term in kept}
    return n_rows


def _rebuilt(kind: Kind, text: AnyArray, weights: AnyArray) -> Terms:
    if text.dtype != np.uint8 or text.ndim != 1 or weights.dtype != np.float64:
        raise ValueError("terms are text, and their weights are numbers")
    terms = bytes(text).decode().split(_SEPARATOR)
    if weights.shape != (len(terms),) or len(terms) > _MOST_TERMS:
        raise ValueError("every term of a text needs a weight, and there is a limit to terms")
    weigh_something = (weights > 0) & np.isfinite(weights)
    # Rising: sorted, and none of them twice.
    if not all(map(str.__lt__, terms, terms[1:])) or not weigh_something.all():
        raise ValueError("the terms of a text must be in order, and weigh something")
    return Terms(kind, terms, np.array(weights))
