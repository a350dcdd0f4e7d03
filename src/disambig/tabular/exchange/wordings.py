"""Free wordings matched to a list of labels: "I think it's a Cat." is cat, "NYC" is not a label."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from disambig._core.errors import ParameterError
from disambig._core.messages import plural, quote_value, row_name
from disambig._core.parsing import read_small_file
from disambig.tabular.exchange.vocabulary import Vocabulary, fold, singular

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
# Wordings that a label is suggested for.
_MOST_SUGGESTED = 100


@dataclass(frozen=True)
class UnmatchedWording:
    """An answer that does not mean a label."""

    wording: str
    count: int
    first_row: int  # from 0
    suggestion: str | None  # the label that may have been meant; of the most frequent ones

    def __str__(self) -> str:
        meant = "" if self.suggestion is None else f"; did you mean {self.suggestion!r}?"
        return (
            f"{quote_value(self.wording)} ({plural(self.count, 'time')}, first in "
            f"{row_name(self.first_row)}{meant})"
        )


@dataclass(frozen=True)
class MatchedWordings:
    """What answers mean."""

    # Of every answer the labels of which it means one: nearly always one, none if it is not clear.
    candidates: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]  # the label list
    # The most frequent first.
    unmatched: tuple[UnmatchedWording, ...] = field(repr=False)
    misspelled: tuple[tuple[str, str, int], ...] = field(repr=False)  # wording, label, how often

    def notices(self) -> tuple[str, ...]:
        """Return what a person should know, a sentence each."""
        notices = []
        if self.misspelled:
            count = sum(times for _, _, times in self.misspelled)
            named = [
                f"{quote_value(wording)} as {label!r} ({plural(times, 'time')})"
                for wording, label, times in self.misspelled
            ]
            notices.append(f"Read {plural(count, 'answer')} as misspelled: {_some_of(named)}.")
        if self.unmatched:
            count = sum(each.count for each in self.unmatched)
            notices.append(
                f"Left out {plural(count, 'answer')} that {'is' if count == 1 else 'are'} not "
                f"{'a label' if count == 1 else 'labels'}: {_some_of(self.unmatched)}. If one is "
                "another word for a label, say so in the label list, as in New York: NYC."
            )
        return tuple(notices)


def _some_of(named: Sequence[object]) -> str:
    more = len(named) - _NAMED
    others = [f"and {plural(more, 'other wording')}"] if more > 0 else []
    return "; ".join([*map(str, named[:_NAMED]), *others])


def match_wordings(
    answers: Sequence[str],
    labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
    *,
    rows: Sequence[int] | None = None,
) -> MatchedWordings:
    """Match free wordings to a list of labels.

    A wording is a label if it is the same but for capitals, punctuation and a plural; if it is one
    letter off one label and no other; or if exactly one label is in it, and no word such as "not"
    beside it. "A cat or a dog" means one of two labels. Anything else is reported, and never taken
    for a new label.

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
    >>> answers = ["Cat.", "I think it is a cat", "dogs or a cat", "doggg", "NYC"]
    >>> matched = match_wordings(answers, ["cat", "dog", "New York City"])
    >>> matched.candidates
    (('cat',), ('cat',), ('dog', 'cat'), (), ())
    >>> print(matched.unmatched[0])
    'NYC' (1 time, first in row 5; did you mean 'New York City'?)
    """
    vocabulary = Vocabulary.of(usual_wordings(answers) if labels is None else labels)
    counts = Counter(answers)
    meant = {wording: vocabulary.meaning_of(wording) for wording in counts}
    first_rows: dict[str, int] = {}
    for place, wording in enumerate(answers):
        first_rows.setdefault(wording, place if rows is None else rows[place])
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    unmatched = [(wording, count) for wording, count in by_count if not meant[wording].labels]
    return MatchedWordings(
        tuple(meant[wording].labels for wording in answers),
        vocabulary.names,
        tuple(
            UnmatchedWording(
                wording,
                count,
                first_rows[wording],
                vocabulary.suggestion(wording) if place < _MOST_SUGGESTED else None,
            )
            for place, (wording, count) in enumerate(unmatched)
        ),
        tuple(
            (wording, label, count)
            for wording, count in by_count
            for labels_meant, is_misspelled in [meant[wording]]
            for label in labels_meant
            if is_misspelled
        ),
    )


def usual_wordings(answers: Iterable[str]) -> list[str]:
    """Return short wordings that many answers agree on, each as it is spelled most often."""
    spellings: dict[str, Counter[str]] = {}
    n_answers = 0
    for answer in answers:
        n_answers += 1
        folded = fold(answer)
        if folded and folded not in _REFUSALS and folded.count(" ") < _MOST_WORDS:
            spellings.setdefault(singular(folded), Counter())[answer.strip(" .!?\"'`*\n")] += 1
    least = max(_FEWEST_ANSWERS, _LEAST_SHARE * n_answers)
    usual = sorted(
        counts.most_common(1)[0][0] for counts in spellings.values() if counts.total() >= least
    )
    vocabulary = Vocabulary.of(usual)
    return [wording for wording in usual if not vocabulary.listed_in(wording)]


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
