"""Labels and other words for them, and what a wording means: spelling, plurals, sentences."""

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from disambig._core.errors import ParameterError
from disambig._core.messages import quote_value

# Letters of a word that may have one missing or too many; and of one that may have a wrong one, or
# two swapped: "house" is not "horse".
_SHORTEST_SLIP, _SHORTEST_WITH_WRONG_LETTER = 5, 7
_LIKE = 0.6
_LONGEST_LIKE = 60
# Nobody writes a longer answer about one label, and its end may take back what it says before.
_LONGEST = 2_000
# A sentence with one of these may say what is not the case. Those of other languages count too.
_NEGATIONS = frozenset({
    *("not", "no", "non", "never", "nor", "neither", "none", "nothing", "cannot", "cant", "aint"),
    *("arent", "couldnt", "didnt", "doesnt", "dont", "hasnt", "isnt", "shouldnt", "wasnt", "wont"),
    *("wouldnt", "but", "except", "excluding", "excluded", "excludes", "rule", "rules", "ruled"),
    *("without", "lacks", "hardly", "barely", "unlikely", "doubt", "doubtful", "far", "impossible"),
    *("unable", "unsure", "uncertain", "unclear", "whether"),
    # German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian
    *("nicht", "kein", "keine", "keinen", "keiner", "weder", "pas", "aucun", "aucune", "jamais"),
    *("sans", "ni", "ning\u00fan", "ninguna", "nunca", "sin", "nessun", "nessuna", "senza"),
    *("n\u00e3o", "nem", "nenhum", "nenhuma", "sem", "niet", "geen", "ikke", "ingen", "inte"),
})  # fmt: skip
# These belong to a number only if they are in it, or before it: 3.5, -1, <50, >=50.
_OUTSIDE_NUMBERS = re.compile(
    r"(?<!\d)[.,]|[.,](?!\d)|(?<=\w)-|-(?!\d)|[<>\u2264\u2265](?!=?\d)|(?<![<>])="
)
# Between labels one of which is meant; "2/3" is a number, or a mark out of three.
_OR = re.compile(r"(?<!\d)[,;/|\n]|[,;/|\n](?!\d)|\bor\b", re.IGNORECASE)
_BEFORE_A_LABEL = re.compile(
    r"\s*(?:(?:an?|the|maybe|perhaps|possibly|probably|rather|even)\s+)*", re.IGNORECASE
)
# A language such as C++ or C# is more than its letters.
_KEPT = frozenset("+#.,-<>=\u2264\u2265")


class Meaning(NamedTuple):
    """What a wording means."""

    labels: tuple[str, ...] = ()  # one of these; nearly always it is one, none if it is not clear
    is_misspelled: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """Labels and other words for them, without capitals and punctuation."""

    names: tuple[str, ...]
    label_by_words: Mapping[str, str]
    by_singular: Mapping[str, frozenset[str]]
    # What labels begin with, and how long they are: of a slip, this is nearly the same.
    by_beginning: Mapping[tuple[str, int], Sequence[str]]
    most_words: int

    @classmethod
    def of(cls, labels: Mapping[str, Iterable[str]] | Iterable[str]) -> "Vocabulary":
        """Return the vocabulary of labels, or of labels with other words for each."""
        given = labels if isinstance(labels, Mapping) else dict.fromkeys(labels, ())
        label_by_words: dict[str, str] = {}
        by_singular: dict[str, frozenset[str]] = {}
        for name, others in given.items():
            for wording in (name, *others):
                folded = fold(wording)
                known = label_by_words.setdefault(folded, name)
                if not folded or known != name:
                    problem = (
                        f"has no letters or digits ({quote_value(name)})"
                        if not folded
                        else f"stands for both {known!r} and {name!r}"
                    )
                    raise ParameterError(
                        f"Labels must differ in more than capitals and punctuation. "
                        f"{quote_value(wording)} {problem}. Correct the label list."
                    )
                single = singular(folded)
                by_singular[single] = by_singular.get(single, frozenset()) | {name}
        if not label_by_words:
            raise ParameterError(
                "Labels are the wordings that many answers agree on, and there are none. Give a "
                "list of the labels (--label-list of 'disambig import', in Python labels=)."
            )
        by_beginning: dict[tuple[str, int], list[str]] = {}
        for words in label_by_words:
            by_beginning.setdefault((words[0], len(words)), []).append(words)
        most_words = max(words.count(" ") for words in label_by_words) + 1
        return cls(tuple(given), label_by_words, by_singular, by_beginning, most_words)

    def meaning_of(self, wording: str) -> Meaning:
        """Return the label that a wording means, or several if it lists them."""
        if len(wording) > _LONGEST:
            return Meaning()
        folded = fold(wording)
        same = self._labels_of(folded)
        if same:
            return Meaning(_only_one(same))
        slips = self._one_letter_off(folded)
        if slips:
            return Meaning(_only_one(slips), is_misspelled=True)
        return Meaning(_only_one(self._inside(folded.split())) or self.listed_in(wording))

    def listed_in(self, wording: str) -> tuple[str, ...]:
        """Return the labels of "It is a cat or a dog"; none if it is not a list of labels.

        Only before the first there may be other words: "a cat, as dogs are larger" lists nothing.
        """
        parts = [part for part in _OR.split(wording) if part.strip()]
        if len(parts) < 2:
            return ()
        found = [
            self._labels_of(fold(part)) or self._labels_of(fold(_BEFORE_A_LABEL.sub("", part, 1)))
            for part in parts
        ]
        found[0] = found[0] or self._inside(fold(parts[0]).split())
        labels = dict.fromkeys(label for each in found for label in each)
        return tuple(labels) if all(len(each) == 1 for each in found) else ()

    def _labels_of(self, folded: str) -> Collection[str]:
        """Return the labels that words are, but for a plural."""
        if folded in self.label_by_words:
            return (self.label_by_words[folded],)
        return self.by_singular.get(singular(folded), ())

    def _inside(self, words: list[str]) -> set[str]:
        """Return the labels in a sentence; none if it may say what is not the case."""
        found: set[str] = set()
        place = 0
        while place < len(words):
            # The longest one: "New York" is not "York".
            for size in range(min(self.most_words, len(words) - place), 0, -1):
                label = self._label_in_sentence(" ".join(words[place : place + size]))
                if label is not None:
                    found.add(label)
                    place += size
                    break
            else:
                if words[place] in _NEGATIONS:
                    return set()
                place += 1
        return found

    def _label_in_sentence(self, words: str) -> str | None:
        """Return the label of words that are not all of an answer."""
        if len(words) == 1 and words.isalpha():
            return None  # "a" is seldom a label there
        # A plural may stand for a label, but no singular: what is new is not news.
        return self.label_by_words.get(words) or self.label_by_words.get(singular(words))

    def _one_letter_off(self, folded: str) -> set[str]:
        """Return the labels that a wording is a slip of."""
        if len(folded) < _SHORTEST_SLIP:
            return set()
        return {
            self.label_by_words[words]
            for length in (len(folded) - 1, len(folded), len(folded) + 1)
            for words in self.by_beginning.get((folded[0], length), ())
            if _is_slip(folded, words)
        }

    def suggestion(self, wording: str) -> str | None:
        """Return the label that may have been meant."""
        folded = fold(wording)[:_LONGEST_LIKE]
        if not any(map(str.isalpha, folded)):
            return None  # a number is not meant by another
        close = difflib.get_close_matches(folded, self.label_by_words, n=1, cutoff=_LIKE)
        if close:
            return self.label_by_words[close[0]]
        letters = folded.replace(" ", "")
        by_initials = [
            label
            for words, label in self.label_by_words.items()
            if letters and "".join(word[0] for word in words.split()) == letters
        ]
        return by_initials[0] if by_initials else None


def _only_one(labels: Collection[str]) -> tuple[str, ...]:
    return tuple(labels) if len(labels) == 1 else ()


def _is_slip(one: str, other: str) -> bool:
    """Tell whether a letter is missing, wrong or too many, or two neighbours are swapped.

    Not the first letter: "atypical" is not a slip of "typical". And no digit.
    """
    may_be_wrong = min(len(one), len(other)) >= _SHORTEST_WITH_WRONG_LETTER
    start = _n_alike(one, other)
    one, other = one[start:], other[start:]
    end = _n_alike(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    if not start or any(map(str.isdigit, one + other)):
        return False
    if len(one) != len(other):
        return len(one) + len(other) == 1
    is_swapped = len(one) == 2 and one == other[::-1]
    return may_be_wrong and (len(one) == 1 or is_swapped)


def _n_alike(one: str, other: str) -> int:
    """Return how many letters two words begin with in common."""
    places = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(places, min(len(one), len(other)))


def fold(text: str) -> str:
    """Return words of letters and digits, in lower case, one space between them."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
    plain = plain.replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "")
    plain = _OUTSIDE_NUMBERS.sub(" ", plain.replace("\N{MINUS SIGN}", "-"))
    for sign in {character for character in plain if not _is_of_word(character)}:
        plain = plain.replace(sign, " ")
    return " ".join(plain.replace(",", ".").split())


def _is_of_word(character: str) -> bool:
    """Tell whether a character is one of a word or a number; vowels may be marks above letters."""
    is_known = character.isalnum() or character in _KEPT
    return is_known or unicodedata.category(character).startswith("M")


def singular(folded: str) -> str:
    """Return words whose last one has lost the ending of a plural."""
    for plural_ending, singular_ending in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if folded.endswith(plural_ending) and not folded.endswith(("ss", "us", "is")):
            shortened = folded[: -len(plural_ending)] + singular_ending
            return shortened if len(shortened) > 2 else folded
    return folded
