"""What an answer of a language model says: wordings with weights, in the forms that tools write."""

import json
import math
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from disambig._core.messages import quote_value
from disambig.candidates.checks import is_missing
from disambig.tabular.labels.percentages import read_percentages
from disambig.tabular.table_cells import text_of

# Where answers are, in a line or in an object; the first that is there.
ANSWER_KEYS = (
    *("answers", "answer", "responses", "response", "choices", "completions", "completion"),
    *("outputs", "output", "predictions", "prediction", "labels", "label", "content"),
)
_NAME_KEYS = (
    *("label", "answer", "category", "class", "prediction", "response", "completion", "output"),
    *("name", "text", "content", "value", "token"),
)
_SHARES = ("probability", "prob", "p", "confidence", "score", "weight", "share", "likelihood")
_STATED = ("confidence", "probability")
_PERCENTAGES = ("percent", "percentage")
_LOGARITHMS = ("logprob", "log_prob", "logprobability", "log_probability")
_RANKS = ("rank", "position")
SCORE_KEYS = (*_SHARES, *_PERCENTAGES, *_LOGARITHMS, *_RANKS)
# What lists of numbers are called beside a list of labels, and what their numbers are.
LISTS_OF_SCORES = {
    **{"scores": "score", "probabilities": "probability", "probs": "prob", "weights": "weight"},
    **{"confidences": "confidence", "percentages": "percentage", "logprobs": "logprob"},
    "ranks": "rank",
}
_INNER_KEYS = ("body", "message", *ANSWER_KEYS)
_DEEPEST = 8
# Longer texts are not taken apart.
_LONGEST = 20_000
# Products and sums of larger weights might not be numbers.
_LARGEST_WEIGHT = 1e100
# Behind it is the answer of a model that writes down its thoughts.
_END_OF_THOUGHTS = "</think>"
_FENCE = "```"
_LISTED = re.compile(r"(?:(?P<number>\d{1,3})[.)]|[-*\N{BULLET}])\s+(?P<entry>\S.*)")
_NAMED = re.compile(
    r"(?:^|[.!?]\s)[\W_]{0,9}(?:(?:final|my|the) )*(?:answer|label|category|class|prediction)"
    r"(?:(?: is)?[\W_]{0,9}?[:=]| is\b)\s*(?P<answer>\S.*)",
    re.IGNORECASE,
)
_CONFIDENCE = re.compile(
    r"[\W_]*(?:confidence|probability)[\W_]*[:=]\s*(?P<number>\d{1,3}(?:\.\d{1,9})?)\s*%?",
    re.IGNORECASE,
)


class Said(NamedTuple):
    """One answer: what it names, each with a weight."""

    wordings: Sequence[tuple[str, float]]
    # Whether weights are confidences as a model states them, perhaps of 5, of 10 or in per cent.
    stated: bool = False
    in_words: str | None = None  # a confidence that is not a number, such as "high"


class _Score(NamedTuple):
    """The weight that an object gives its label, if it is a number, and how it is written."""

    weight: float | None = None
    stated: bool = False
    in_words: str | None = None


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
        yield model, Said([(text_of(value) or "", 1.0)])
    elif not is_missing(value):
        raise ValueError(f"an answer of the type {type(value).__name__}")


def _said_in_list(
    values: Sequence[Any], model: str | None, depth: int
) -> Iterator[tuple[str | None, Said]]:
    """Read a list of answers, or of the labels of one answer with a score each."""
    if values and all(isinstance(each, Mapping) for each in values):
        named = [(_name(each), _score(each)) for each in values]
        pairs = [
            (name, score.weight)
            for name, score in named
            if name is not None and score.weight is not None
        ]
        if len(pairs) == len(values):
            yield model, Said(pairs, stated=any(score.stated for _, score in named))
            return
    if values and all(_is_pair(each) for each in values):
        yield model, _weighted(values)
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
    side_by_side = _side_by_side(value)
    if side_by_side:
        yield from _said_in_list(side_by_side, model, depth + 1)
        return
    name, score = _name(value), _score(value)
    if name is not None:
        weight = 1.0 if score.weight is None else score.weight
        for of_model, said in said_in(name, model, depth + 1):
            weighted = [(wording, weight * share) for wording, share in said.wordings]
            stated, in_words = score.stated or said.stated, score.in_words or said.in_words
            yield of_model, Said(weighted, stated, in_words)
        return
    inner = next((key for key in _INNER_KEYS if key in value), None)
    if inner is not None:
        yield from said_in(value[inner], model, depth + 1)
        return
    if value and all(_is_weight(each) or is_missing(each) for each in value.values()):
        yield model, _weighted([pair for pair in value.items() if not is_missing(pair[1])])
        return
    for of_model, each in value.items():
        yield from said_in(each, str(of_model), depth + 1)


def _said_in_text(text: str, model: str | None, depth: int) -> Iterator[tuple[str | None, Said]]:
    """Read JSON in a string, a list of guesses, "Answer: cat", percentages, or just a wording."""
    text = text.rpartition(_END_OF_THOUGHTS)[2].strip()
    if not text:
        return
    if len(text) > _LONGEST:
        yield model, Said([(text, 1.0)])
        return
    text = _unfenced(text)
    if text[:1] in ("[", "{"):
        try:
            answers = list(said_in(json.loads(text), model, depth + 1))
        except (ValueError, RecursionError):
            pass  # a wording with a bracket, or what only the model knows
        else:
            yield from answers
            return
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    listed = [match for match in map(_LISTED.fullmatch, lines) if match]
    if len(listed) > 1:
        yield model, Said(_listed(listed))
        return
    named = [match["answer"] for match in map(_NAMED.search, lines) if match]
    confidence = next((match["number"] for match in map(_CONFIDENCE.match, lines) if match), None)
    if named:
        text = named[-1]
    pairs = _percentages(text)
    if confidence is not None and len(pairs) == 1:
        number = float(confidence)
        pairs = [(pairs[0][0], number / 100 if number > 1 else number)]
    yield model, Said(pairs)


def _unfenced(text: str) -> str:
    """Return the JSON between code fences, or else the text without fences around it."""
    _, fence, behind = text.partition(_FENCE)
    code = behind.partition(_FENCE)[0].lstrip(string.ascii_letters).strip()
    if code[:1] in ("[", "{"):
        return code
    return code if fence and text.startswith(_FENCE) and text.endswith(_FENCE) else text


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


def _score(value: Mapping[str, Any]) -> _Score:
    """Return the score of an object, if it has one."""
    key = next((key for key in SCORE_KEYS if not is_missing(value.get(key))), None)
    if key is None:
        return _Score()
    number, has_sign = _number(value[key]), isinstance(value[key], str) and "%" in value[key]
    if number is None:
        return _Score(in_words=value[key] if isinstance(value[key], str) else None)
    weight = _weight(number, key)
    if key in _PERCENTAGES and not has_sign:
        weight /= 100
    return _Score(weight, stated=key in _STATED and not has_sign)


def _weight(number: float, key: str = "weight") -> float:
    """Return the weight that a score of this name means."""
    if key in _LOGARITHMS:
        if not number <= 0.001:
            raise ValueError(f"a log-probability above 0: {quote_value(number)}")
        return math.exp(max(-1e3, min(0.0, number)))
    if key in _RANKS:
        if not number >= 1:
            raise ValueError(f"a rank that is not a number from 1: {quote_value(number)}")
        return 1 / number
    if not 0 <= number <= _LARGEST_WEIGHT:
        raise ValueError(f"a weight that is not 0 or more: {quote_value(number)}")
    return float(number)


def _number(value: Any) -> float | None:
    """Return a number, or that of a string such as 0.7 or 70%."""
    if isinstance(value, str):
        text = value.strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            return None
        return None if math.isnan(number) else number
    return value if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_weight(value: Any) -> bool:
    """Tell whether a value is a weight of its key. A string such as "1" may be an answer."""
    return _is_number(value) or (
        isinstance(value, str) and value.endswith("%") and _number(value) is not None
    )


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and _is_number(value[1])
    )


def _weighted(pairs: Sequence[tuple[str, Any]]) -> Said:
    """Return one answer of labels with numbers, which are logarithms if none is above 0."""
    numbers = [_number(value) or 0.0 for _, value in pairs]
    key = "logprob" if max(numbers, default=0) <= 0 > min(numbers, default=0) else "weight"
    weights = [_weight(number, key) for number in numbers]
    return Said([(str(name), weight) for (name, _), weight in zip(pairs, weights, strict=True)])


def _side_by_side(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an object for each label, where labels and their scores are lists of one length."""
    for names in (value[key] for key in ANSWER_KEYS if isinstance(value.get(key), list)):
        for plural, key in LISTS_OF_SCORES.items():
            scores = value.get(plural)
            if not isinstance(scores, list) or len(scores) != len(names):
                continue
            if all(map(_is_number, scores)) and all(isinstance(name, str) for name in names):
                return [
                    {"label": name, key: score} for name, score in zip(names, scores, strict=True)
                ]
    return []


def _likely_tokens(value: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return what an answer of one token could have been, as interfaces list it, by likelihood."""
    logprobs = value.get("logprobs")
    if not isinstance(logprobs, Mapping):
        return []
    tokens = logprobs.get("content", logprobs.get("top_logprobs"))
    if not isinstance(tokens, list) or len(tokens) != 1 or not isinstance(tokens[0], Mapping):
        return []
    # Interfaces for completions list logarithms by token.
    by_token = [{"token": token, "logprob": number} for token, number in tokens[0].items()]
    top = tokens[0].get("top_logprobs") if "content" in logprobs else by_token
    if not isinstance(top, list):
        return []
    found = [
        (name.strip(), _score(each).weight or 0.0)
        for each in top
        if isinstance(each, Mapping) and (name := _name(each)) is not None
    ]
    return [(name, weight) for name, weight in found if name]
