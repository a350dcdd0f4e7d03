"""Free wordings matched to a list of labels: "I think it's a Cat." is cat, "NYC" is not a label."""

import difflib
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from disambig._core.errors import ParameterError
from disambig._core.messages import plural, quote_value, row_name
from disambig._core.parsing import read_small_file

# Closer than this is a slip, if nothing else is as close; "house" is not "horse".
_SAME_WORD = 0.85
_SHORTEST_SLIP = 5
_LONGEST_SLIP = 60
_LIKE = 0.6
# Nobody writes a longer answer about one label; the rest is not looked at.
_LONGEST = 2_000
_NEGATIONS = frozenset(
    ["not", "no", "never", "nor", "neither", "except", "isnt", "cannot", "doesnt", "without"]
)
# These say that there is no answer, unless a list of labels has them.
_REFUSALS = frozenset({
    *("i dont know", "dont know", "i cant say", "i cant tell", "cannot tell", "not sure"),
    *("im not sure", "unsure", "unknown", "unclear", "none", "na", "n a", "null", "no answer"),
})  # fmt: skip
# By default, what at least so many answers, and such a share of them, say is a label.
_FEWEST_ANSWERS = 2
_LEAST_SHARE = 0.01
_MOST_WORDS = 4
_LARGEST_LIST = 10_000_000
_NAMED = 5


@dataclass(frozen=True)
class UnmatchedWording:
    """An answer that fits no label."""

    wording: str
    count: int
    first_row: int  # from 0
    suggestion: str | None  # the label that may have been meant

    def __str__(self) -> str:
        meant = "" if self.suggestion is None else f"; did you mean {self.suggestion!r}?"
        return (
            f"{quote_value(self.wording)} ({plural(self.count, 'time')}, first in "
            f"{row_name(self.first_row)}{meant})"
        )


@dataclass(frozen=True)
class MatchedWordings:
    """What answers mean."""

    labels: tuple[str | None, ...]  # of every answer, None where it fits none
    names: tuple[str, ...]  # the label list
    unmatched: tuple[UnmatchedWording, ...] = field(repr=False)  # the most frequent first

    def notices(self) -> tuple[str, ...]:
        """Return what a person should know, a sentence each."""
        if not self.unmatched:
            return ()
        count = sum(each.count for each in self.unmatched)
        named = "; ".join(str(each) for each in self.unmatched[:_NAMED])
        more = len(self.unmatched) - _NAMED
        others = f"; and {plural(more, 'other wording')}" if more > 0 else ""
        return (
            f"Left out {plural(count, 'answer')} that {'fits' if count == 1 else 'fit'} no label: "
            f"{named}{others}. If one is another word for a label, say so in the label list, as in "
            "New York: NYC.",
        )


def match_wordings(
    answers: Sequence[str],
    labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
    *,
    rows: Sequence[int] | None = None,
) -> MatchedWordings:
    """Match free wordings to a list of labels.

    A wording is a label if it is the same but for capitals, punctuation and a plural; if exactly
    one label is in it (and no "not"); or if it is spelled much like one label and no other.
    Anything else is reported, and never taken for a new label.

    Parameters
    ----------
    answers : sequence of str
        What was answered.
    labels : sequence of str, or mapping from str to other words, optional
        The labels. A mapping also gives other words for them, as from ``read_label_list``. By
        default short wordings that at least two answers, and one in a hundred, agree on.
    rows : sequence of int, optional
        The row, from 0, of every answer, for the report; by default its place.

    See Also
    --------
    read_llm_answers : Reads a file of answers, and matches them.

    Examples
    --------
    >>> from disambig.tabular import match_wordings
    >>> answers = ["Cat.", "I think it is a cat", "dogs", "doggg", "NYC"]
    >>> matched = match_wordings(answers, ["cat", "dog", "New York City"])
    >>> matched.labels
    ('cat', 'cat', 'dog', None, None)
    >>> print(matched.unmatched[0])
    'NYC' (1 time, first in row 5; did you mean 'New York City'?)
    """
    vocabulary = _Vocabulary.of(usual_wordings(answers) if labels is None else labels)
    meant = {wording: vocabulary.label_of(wording) for wording in set(answers)}
    counts: Counter[str] = Counter()
    first_rows: dict[str, int] = {}
    for place, wording in enumerate(answers):
        if meant[wording] is None:
            counts[wording] += 1
            first_rows.setdefault(wording, place if rows is None else rows[place])
    unmatched = tuple(
        UnmatchedWording(wording, count, first_rows[wording], vocabulary.suggestion(wording))
        for wording, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    return MatchedWordings(
        tuple(meant[wording] for wording in answers), vocabulary.names, unmatched
    )


def usual_wordings(answers: Iterable[str]) -> list[str]:
    """Return short wordings that many answers agree on, each as it is spelled most often."""
    spellings: dict[str, Counter[str]] = {}
    n_answers = 0
    for answer in answers:
        n_answers += 1
        folded = _fold(answer)
        if folded and folded not in _REFUSALS and folded.count(" ") < _MOST_WORDS:
            spellings.setdefault(_singular(folded), Counter())[answer.strip(" .!\"'`*\n")] += 1
    least = max(_FEWEST_ANSWERS, _LEAST_SHARE * n_answers)
    return sorted(
        counts.most_common(1)[0][0] for counts in spellings.values() if counts.total() >= least
    )


def read_label_list(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    r"""Read labels, one a line; other words for one may follow: ``New York: NYC, new york city``.

    Parameters
    ----------
    path : str or path
        A text file in UTF-8.

    See Also
    --------
    match_wordings : Takes what this returns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig.tabular import read_label_list
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.txt")
    ...     _ = path.write_text("New York: NYC, new york city\nRome\n")
    ...     read_label_list(path)
    {'New York': ('NYC', 'new york city'), 'Rome': ()}
    """
    content = read_small_file(path, ParameterError, largest=_LARGEST_LIST)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParameterError(
            f"A label list is text in UTF-8. {Path(path)} is not: {error}. Save it as UTF-8."
        ) from error
    labels: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, others = line.partition(":")
        if not name.strip():
            if others.strip():
                raise ParameterError(
                    f"Line {number:,} of {Path(path)} has no label before the ':'. Write it as in "
                    "New York: NYC, new york city."
                )
            continue
        if name.strip() in labels:
            raise ParameterError(
                f"The label {quote_value(name.strip())} is in {Path(path)} twice, the second time "
                f"in line {number:,}. Keep one of them."
            )
        labels[name.strip()] = tuple(word.strip() for word in others.split(",") if word.strip())
    if not labels:
        raise ParameterError(f"{Path(path)} names no label. Write one a line.")
    return labels


@dataclass(frozen=True)
class _Vocabulary:
    """Labels and other words for them, without capitals and punctuation."""

    names: tuple[str, ...]
    label_by_words: Mapping[str, str]
    by_singular: Mapping[str, frozenset[str]]
    most_words: int
    negations: frozenset[str]

    @classmethod
    def of(cls, labels: Mapping[str, Iterable[str]] | Iterable[str]) -> "_Vocabulary":
        given = labels if isinstance(labels, Mapping) else dict.fromkeys(labels, ())
        label_by_words: dict[str, str] = {}
        by_singular: dict[str, frozenset[str]] = {}
        for name, others in given.items():
            for wording in (name, *others):
                folded = _fold(wording)
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
                single = _singular(folded)
                by_singular[single] = by_singular.get(single, frozenset()) | {name}
        if not label_by_words:
            raise ParameterError(
                "No label is known: no wording is there often enough. Give a list of the labels "
                "(--label-list, in Python labels=)."
            )
        most_words = max(words.count(" ") for words in label_by_words) + 1
        negations = _NEGATIONS.difference(*(words.split() for words in label_by_words))
        return cls(tuple(given), label_by_words, by_singular, most_words, negations)

    def label_of(self, wording: str) -> str | None:
        """Return the label that a wording means, if it is clear."""
        folded = _fold(wording)
        if folded in self.label_by_words:
            return self.label_by_words[folded]
        same = self.by_singular.get(_singular(folded), frozenset())
        inside = same if same else self._inside(folded.split())
        if inside:
            return next(iter(inside)) if len(inside) == 1 else None
        return self._close_to(folded)

    def _inside(self, words: list[str]) -> frozenset[str]:
        """Return the labels in a sentence; none if it says what is not the case."""
        if not self.negations.isdisjoint(words):
            return frozenset(self.names) if len(self.names) > 1 else frozenset()
        found: set[str] = set()
        place = 0
        while place < len(words):
            # The longest one: "New York" is not "York".
            for size in range(min(self.most_words, len(words) - place), 0, -1):
                labels = self.by_singular.get(_singular(" ".join(words[place : place + size])))
                if labels:
                    found |= labels
                    place += size
                    break
            else:
                place += 1
        return frozenset(found)

    def _close_to(self, folded: str) -> str | None:
        if not _SHORTEST_SLIP <= len(folded) <= _LONGEST_SLIP:
            return None
        close = difflib.get_close_matches(folded, self.label_by_words, n=5, cutoff=_SAME_WORD)
        labels = {self.label_by_words[words] for words in close}
        return labels.pop() if len(labels) == 1 else None

    def suggestion(self, wording: str) -> str | None:
        """Return the label that may have been meant."""
        folded = _fold(wording)[:_LONGEST_SLIP]
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


def _fold(text: str) -> str:
    """Return words of letters and digits, in lower case, one space between them."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
    plain = plain.replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "")
    signs = {character for character in plain if not character.isalnum()}
    # A language such as C++ or C# is more than its letters.
    for sign in signs - {"+", "#"}:
        plain = plain.replace(sign, " ")
    return " ".join(plain.split())


def _singular(folded: str) -> str:
    """Return words whose last one has lost the ending of a plural."""
    for plural_ending, singular_ending in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if folded.endswith(plural_ending) and not folded.endswith(("ss", "us", "is")):
            shortened = folded[: -len(plural_ending)] + singular_ending
            return shortened if len(shortened) > 2 else folded
    return folded
