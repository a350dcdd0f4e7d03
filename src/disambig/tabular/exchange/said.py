"""What an answer of a language model says: wordings with weights, in the forms that tools write."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from disambig._core.messages import quote_value
from disambig.candidates.checks import is_missing
from disambig.tabular.labels.percentages import read_percentages

# Where answers are, in a line or in an object; the first that is there.
ANSWER_KEYS = (
    *("answers", "answer", "responses", "response", "choices", "completions", "completion"),
    *("outputs", "output", "predictions", "prediction", "labels", "label", "content"),
)
_NAME_KEYS = ("label", "answer", "name", "category", "class", "text", "content", "value", "token")
_SHARES = ("probability", "prob", "p", "confidence", "score", "weight", "share", "likelihood")
_UP_TO_ONE = ("confidence", "probability")
_PERCENTAGES = ("percent", "percentage")
_LOGARITHMS = ("logprob", "log_prob", "logprobability", "log_probability")
_RANKS = ("rank", "position")
SCORE_KEYS = (*_SHARES, *_PERCENTAGES, *_LOGARITHMS, *_RANKS)
_INNER_KEYS = ("body", "message", *ANSWER_KEYS)
_DEEPEST = 8
_LONGEST = 20_000
_FENCE = re.compile(r"^```[a-zA-Z]*\s*|\s*```$")
_LISTED = re.compile(r"(?:(?P<number>\d{1,3})[.)]|[-*\N{BULLET}])\s+(?P<entry>\S.*)")
_NAMED = re.compile(
    r"[\W_]*(?:(?:final|my|the) )?(?:answer|label|category|class|prediction)(?: is)?[\W_]*[:=]\s*"
    r"(?P<answer>\S.*)",
    re.IGNORECASE,
)
_CONFIDENCE = re.compile(
    r"[\W_]*(?:confidence|probability)[\W_]*[:=]\s*(?P<number>\d{1,3}(?:\.\d{1,9})?)\s*%?",
    re.IGNORECASE,
)


class Said(NamedTuple):
    """One answer: what it names, each with a weight."""

    wordings: Sequence[tuple[str, float]]


def said_in(
    value: Any, model: str | None = None, depth: int = 0
) -> Iterator[tuple[str | None, Said]]:
    """Yield the answers in a value, each with the model that gave it, where that is known.

    Raises ``ValueError`` for what cannot be an answer.
    """
    if depth > _DEEPEST:
        raise ValueError("answers inside of answers, too deep")
    if isinstance(value, str):
        yield from _said_in_text(value, model, depth)
    elif isinstance(value, Mapping):
        yield from _said_in_object(value, model, depth)
    elif isinstance(value, list | tuple):
        yield from _said_in_list(value, model, depth)
    elif isinstance(value, bool | int | float) and not is_missing(value):
        yield model, Said([(str(value), 1.0)])
    elif not is_missing(value):
        raise ValueError(f"an answer of the type {type(value).__name__}")


def _said_in_list(
    values: Sequence[Any], model: str | None, depth: int
) -> Iterator[tuple[str | None, Said]]:
    """Read a list of answers, or of the labels of one answer with a score each."""
    objects = [each for each in values if isinstance(each, Mapping)]
    in_per_cent = any(map(_is_above_one, objects))
    scores = [_score(each, in_per_cent=in_per_cent) for each in objects]
    if values and len(objects) == len(values) and None not in scores:
        pairs = [(_name(each), score or 0.0) for each, score in zip(objects, scores, strict=True)]
        if all(name is not None for name, _ in pairs):
            yield model, Said([(str(name), score) for name, score in pairs])
            return
    if values and all(_is_pair(each) for each in values):
        yield model, Said([(name, _weight(number)) for name, number in values])
        return
    for each in values:
        yield from said_in(each, model, depth + 1)


def _said_in_object(
    value: Mapping[str, Any], model: str | None, depth: int
) -> Iterator[tuple[str | None, Said]]:
    """Read a label with its score, labels with weights, a reply of an interface, or models."""
    model = value["model"] if isinstance(value.get("model"), str) else model
    tokens = _likely_tokens(value)
    if tokens:
        yield model, Said(tokens)
        return
    name, score = _name(value), _score(value, in_per_cent=_is_above_one(value))
    if name is not None:
        if score is None:
            yield from said_in(name, model, depth + 1)
        else:
            yield model, Said([(name, score)])
        return
    inner = next((key for key in _INNER_KEYS if key in value), None)
    if inner is not None:
        yield from said_in(value[inner], model, depth + 1)
        return
    if value and all(_is_number(each) or is_missing(each) for each in value.values()):
        weights = [(name, _weight(each)) for name, each in value.items() if not is_missing(each)]
        yield model, Said(weights)
        return
    for of_model, each in value.items():
        yield from said_in(each, str(of_model), depth + 1)


def _said_in_text(text: str, model: str | None, depth: int) -> Iterator[tuple[str | None, Said]]:
    """Read JSON in a string, a list of guesses, "Answer: cat", percentages, or just a wording."""
    text = _FENCE.sub("", text.strip()[:_LONGEST]).strip()
    if not text:
        return
    if text[0] in "[{":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            pass  # a wording with a bracket
        else:
            yield from said_in(value, model, depth + 1)
            return
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    listed = [match for match in map(_LISTED.fullmatch, lines) if match]
    if len(listed) > 1:
        yield model, Said(_listed(listed))
        return
    named = [match["answer"] for match in map(_NAMED.match, lines) if match]
    confidence = next((match["number"] for match in map(_CONFIDENCE.match, lines) if match), None)
    if named:
        text = named[-1]
    pairs = _percentages(text)
    if confidence is not None and len(pairs) == 1:
        number = float(confidence)
        pairs = [(pairs[0][0], number / 100 if number > 1 else number)]
    yield model, Said(pairs)


def _listed(listed: Sequence[re.Match[str]]) -> list[tuple[str, float]]:
    """Return guesses one below the other: with percentages, or by rank if they are numbered."""
    found = [(_percentages(match["entry"]), match["number"]) for match in listed]
    if any("%" in match["entry"] for match in listed):
        return [pair for pairs, _ in found for pair in pairs]
    return [
        (pairs[0][0], 1.0 if number is None else 1 / max(1, int(number))) for pairs, number in found
    ]


def _percentages(text: str) -> list[tuple[str, float]]:
    try:
        return [(label, share / 100) for label, share in read_percentages(text)]
    except ValueError:
        return [(text, 1.0)]


def _name(value: Mapping[str, Any]) -> str | None:
    """Return what an object calls its label."""
    return next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)


def _score_key(value: Mapping[str, Any]) -> str | None:
    return next((key for key in SCORE_KEYS if not is_missing(value.get(key))), None)


def _is_above_one(value: Mapping[str, Any]) -> bool:
    """Tell whether a confidence must be in per cent, as nobody is surer than 1."""
    key = _score_key(value)
    number = value[key] if key in _UP_TO_ONE else None
    return number is not None and _weight(number) > 1


def _score(value: Mapping[str, Any], *, in_per_cent: bool) -> float | None:
    """Return the weight that an object gives its label, from the score that it has.

    ``in_per_cent`` tells whether a confidence of it, or of another label of the answer, is above 1.
    """
    key = _score_key(value)
    if key is None:
        return None
    number = value[key]
    if key in _LOGARITHMS:
        if not _is_number(number) or not number <= 0.001:
            raise ValueError(f"a log-probability above 0: {quote_value(number)}")
        return math.exp(min(0.0, number))
    if key in _RANKS:
        if not _is_number(number) or not number >= 1:
            raise ValueError(f"a rank that is not a number from 1: {quote_value(number)}")
        return 1 / float(number)
    weight = _weight(number)
    is_percentage = key in _PERCENTAGES or (key in _UP_TO_ONE and in_per_cent)
    has_sign = isinstance(number, str) and "%" in number
    return weight / 100 if is_percentage and not has_sign else weight


def _weight(number: Any) -> float:
    if isinstance(number, str):
        text = number.strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            raise ValueError(f"a weight that is not a number: {quote_value(number)}") from None
    if not _is_number(number) or not 0 <= number < math.inf:
        raise ValueError(f"a weight that is not 0 or more: {quote_value(number)}")
    return float(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and _is_number(value[1])
    )


def _likely_tokens(value: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return what an answer of one token could have been, as interfaces list it, by likelihood."""
    logprobs = value.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(tokens, list) or len(tokens) != 1 or not isinstance(tokens[0], Mapping):
        return []
    top = tokens[0].get("top_logprobs")
    if not isinstance(top, list):
        return []
    found = [
        (name.strip(), _score(each, in_per_cent=False) or 0.0)
        for each in top
        if isinstance(each, Mapping) and (name := _name(each)) is not None
    ]
    return [(name, weight) for name, weight in found if name]
