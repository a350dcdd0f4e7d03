"""What the head of a request for predictions asks, checked: options, and forms both ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from disambig._core.errors import DisambigError
from disambig._core.messages import did_you_mean, join_names, quote_value
from disambig.candidates.groups import PromiseKind
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.new_rows import WhatToSay

Form = Literal["application/json", "text/csv"]
FORMS: tuple[Form, ...] = get_args(Form)
_TRUE_OR_FALSE = {"true": True, "1": True, "false": False, "0": False}
# Of the query: what it is called there, and what it means.
_SET_OPTIONS = ("separator", "votes", "literal_labels", "column_per_label", "empty")
_GROUP_OPTIONS = ("group", "promise", "promise_strength")
QUERY = ("top", "labels", *_SET_OPTIONS, *_GROUP_OPTIONS)


class RequestError(DisambigError, ValueError):
    """A request that cannot be answered, and the status of HTTP that says so."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class Asked:
    """A request for predictions whose head is checked; its body is read where there is time."""

    what: WhatToSay
    sent: Form
    wanted: Form


def read_head(query: Sequence[tuple[str, str]], content_type: str, accept: str) -> Asked:
    """Return what the query and the headers of a request ask for."""
    return Asked(_read_query(query), _form_sent(content_type), _form_wanted(accept))


def _read_query(query: Sequence[tuple[str, str]]) -> WhatToSay:
    found: dict[str, list[str]] = {}
    for name, value in query:
        found.setdefault(name, []).append(value)
    for name in found:
        if name not in QUERY:
            hint = did_you_mean(name, QUERY)
            raise RequestError(
                f"There is no parameter {quote_value(name)}.{hint} Known: {', '.join(QUERY)}."
            )
    labels = found.pop("labels", None)
    given = {name: _only(name, values) for name, values in found.items()}
    try:
        sets = None
        if labels is not None:
            sets = LabelColumns(
                columns=tuple(labels),
                separator=given.get("separator", "|"),
                literal=_boolean(given, "literal_labels"),
                votes=_boolean(given, "votes"),
                column_per_label=_boolean(given, "column_per_label"),
                empty=given.get("empty", "refuse"),
            )
        elif alone := [name for name in (*_SET_OPTIONS, *_GROUP_OPTIONS) if name in given]:
            raise RequestError(
                f"{join_names(alone)} is about candidate labels of the rows. Name their column by "
                "'labels', or leave it out."
            )
        groups = RowGroups(
            group=given.get("group"),
            promise=_promise(given),
            promise_strength=_number(given, "promise_strength", DEFAULT_PROMISE_STRENGTH),
        )
        return WhatToSay(top=_count(given), labels=sets, groups=groups)
    except RequestError:
        raise
    except DisambigError as error:
        raise RequestError(str(error)) from None


def _only(name: str, values: list[str]) -> str:
    if len(values) > 1:
        raise RequestError(f"{name!r} may be given once. It came {len(values):,} times.")
    return values[0]


def _boolean(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false")
    if text.lower() not in _TRUE_OR_FALSE:
        raise RequestError(f"{name!r} must be true or false. Got {quote_value(text)}.")
    return _TRUE_OR_FALSE[text.lower()]


def _count(given: Mapping[str, str]) -> int:
    text = given.get("top", "1")
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
        raise RequestError(f"'top' must be a number of labels, 1 or more. Got {quote_value(text)}.")
    return int(text)


def _number(given: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(given.get(name, default))
    except ValueError:
        raise RequestError(f"{name!r} must be a number. Got {quote_value(given[name])}.") from None


def _promise(given: Mapping[str, str]) -> PromiseKind | None:
    for kind in get_args(PromiseKind):
        if given.get("promise", kind) == kind:
            return kind if "promise" in given else None
    known = " or ".join(get_args(PromiseKind))
    raise RequestError(f"'promise' must be {known}. Got {quote_value(given['promise'])}.")


def _form_sent(content_type: str) -> Form:
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charsets = [one.partition("=")[2].strip('"') for one in parameters if "charset" in one]
    if any(one not in ("utf-8", "utf8", "us-ascii") for one in charsets):
        raise RequestError(f"The body must be in UTF-8. Got {quote_value(charsets[0])}.", 415)
    for form in FORMS:
        if kind == form:
            return form
    raise RequestError(
        "Rows must be sent as application/json or text/csv. Got "
        f"{quote_value(kind) if kind else 'no type'}: set the header Content-Type.",
        415,
    )


def _form_wanted(accept: str) -> Form:
    """Return the form that a header ``Accept`` likes best; JSON where it does not mind."""
    best, form = 0.0, None
    for part in accept.lower().split(",") if accept.strip() else ["*/*"]:
        kind, *parameters = (one.strip() for one in part.split(";"))
        quality = 1.0
        for one in parameters:
            if one.startswith("q="):
                try:
                    quality = float(one[2:])
                except ValueError:
                    quality = 0.0
        fitting = [each for each in FORMS if kind in (each, "*/*", f"{each.partition('/')[0]}/*")]
        if fitting and quality > best:
            best, form = quality, fitting[0]
    if form is None:
        raise RequestError(
            f"Answers are application/json or text/csv. The header Accept asks for "
            f"{quote_value(accept)}: name one of the two, or leave it out.",
            406,
        )
    return form
