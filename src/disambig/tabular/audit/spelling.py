"""Labels that look like others: spelled alike, misspelled, or several in one."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_LONGEST_LABEL = 80  # longer ones are whole sentences
_MOST_LABELS = 50_000
# A slip is rare beside the label that was meant.
_ROWS_BESIDE_ONE = 3
_TIMES_AS_OFTEN = 50
_MOST_SHARING = 8  # labels kept for each shortened form, the most frequent ones
# From here on a character is a syllable or a word, so that another one has another meaning.
_FIRST_SYLLABLE = "\u2e80"

# In a shorter word, another letter makes another word or code.
_WORD = re.compile(r"[^\W\d_]{4,}")
_SPACE_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d) | (?!\d)")
# Some characters stay, because 'A+' and 'A-', '<50' and '>50' are different labels.
_PUNCTUATION = re.compile(r"(?<=\w)(?:[^\w+#*&%<>=]|_)+(?=\w)|[\s.,:;!?)\]}]+$")
_OTHER_SEPARATORS = (";", ",", "|", "/", "&", "+", "\t", "\n", " or ")


class Slip(NamedTuple):
    """A rare label, and the frequent one that may have been meant."""

    rare: str
    meant: str


class JoinedLabels(NamedTuple):
    """Labels that look like several, and the separator between them."""

    separator: str
    labels: list[str]


def find_spelling_variants(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of labels that differ only in case, spaces and invisible characters."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        groups[_without_case_and_spaces(label)].append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def find_slips(counts: Mapping[str, int]) -> list[Slip]:
    """Return rare labels that may be slips of frequent ones, given how many rows have each.

    A slip changes punctuation, or one letter, which is replaced, missing, added or moved. It
    changes neither a digit nor the first letter, because ``class 1`` and ``class 2``, ``typical``
    and ``atypical`` are different things. What ``find_spelling_variants`` finds is left out.
    """
    by_frequency = sorted(
        (label for label, count in counts.items() if count and _can_hold_a_slip(label)),
        key=lambda label: (-counts[label], label),
    )
    if not 1 < len(by_frequency) <= _MOST_LABELS:
        return []
    # Two labels that differ by a slip share a form without the letter in question.
    forms = {label: _shortened_forms(label) for label in by_frequency}
    sharing: dict[str, list[str]] = defaultdict(list)
    for label in by_frequency:
        for form in forms[label]:
            if len(sharing[form]) < _MOST_SHARING:
                sharing[form].append(label)
    slips = []
    for label in by_frequency:
        if not _is_rare_beside(counts[label], counts[by_frequency[0]]):
            continue
        close = {
            other
            for form in forms[label]
            for other in sharing[form]
            if _is_rare_beside(counts[label], counts[other])
            and _without_case_and_spaces(other) != _without_case_and_spaces(label)
        }
        if close:
            slips.append(Slip(label, min(close, key=lambda other: (-counts[other], other))))
    return sorted(slips, key=lambda slip: (-counts[slip.meant], slip))


def find_joined_labels(counts: Mapping[str, int]) -> JoinedLabels | None:
    """Return labels that look like several, such as ``cat;dog`` beside ``cat`` and ``bird;dog``.

    That is where most of their pieces are found in other labels too. ``counts`` says how many rows
    have each label.
    """
    joined = [
        JoinedLabels(separator, [label for label in counts if separator in label])
        for separator in _OTHER_SEPARATORS
    ]
    return max(
        (each for each in joined if _pieces_recur(each, counts)),
        key=lambda each: sum(counts[label] for label in each.labels),
        default=None,
    )


def _pieces_recur(joined: JoinedLabels, counts: Mapping[str, int]) -> bool:
    labels_with: dict[str, set[str]] = defaultdict(set)
    for label in joined.labels:
        for piece in label.split(joined.separator):
            if piece.strip():
                labels_with[piece.strip()].add(label)
    recurring = sum(len(labels) > 1 or piece in counts for piece, labels in labels_with.items())
    return len(labels_with) > 1 and 2 * recurring > len(labels_with)


def _without_case_and_spaces(label: str) -> str:
    # Spaces between digits stay: '1 1' is not '11'.
    return _SPACE_NOT_BETWEEN_DIGITS.sub("", _fold(label))


def _fold(label: str) -> str:
    text = unicodedata.normalize("NFKC", label).casefold()
    if not text.isascii():  # invisible characters, such as joiners
        text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return " ".join(text.split())


def _can_hold_a_slip(label: str) -> bool:
    # Numbers are not spelled.
    return len(label) <= _LONGEST_LABEL and any(map(str.isalpha, label))


def _shortened_forms(label: str) -> set[str]:
    """Return a label without punctuation, and that without each of its letters in turn."""
    text = _PUNCTUATION.sub(
        lambda found: " " if found.end() < len(found.string) else "", _fold(label)
    )
    forms = {text}
    for word in _WORD.finditer(text):
        forms |= {
            text[:place] + text[place + 1 :]
            for place in range(max(1, word.start()), word.end())
            if text[place] < _FIRST_SYLLABLE
        }
    return {_SPACE_NOT_BETWEEN_DIGITS.sub("", form) for form in forms}


def _is_rare_beside(count: int, other: int) -> bool:
    return (count == 1 and other >= _ROWS_BESIDE_ONE) or count * _TIMES_AS_OFTEN <= other
