"""What people are told of columns: which were left out and why, and what was guessed."""

from collections.abc import Collection, Sequence

from disambig._core.messages import join_names, option, printable
from disambig.tabular.columns.cells import UnusableColumnError
from disambig.tabular.columns.kinds import ColumnKind
from disambig.tabular.columns.numbers import PLAIN
from disambig.tabular.columns.values import ColumnPlan
from disambig.tabular.table_cells import UNNAMED

_MOST_REMARKS = 5
# They can give the label away.
LEAKING = ("identifier", "names", "counter")
# Why a column is left out, said of one and of several.
_WHY_LEFT_OUT = {
    "identifier": ("is an identifier", "are identifiers"),
    "names": ("holds names or codes", "hold names or codes"),
    "counter": ("counts the rows", "count the rows"),
    "constant": ("has one value in all rows", "have one value in all rows"),
    "empty": ("is empty", "are empty"),
}
_NO_NAME = " (the first column, which has no name)"


def unusable_message(unusable: list[UnusableColumnError], kinds: dict[str, ColumnKind]) -> str:
    """Return the error that columns were chosen by hand that cannot be learned from."""
    remarks = (kinds[each.name].remark for each in unusable if each.name in kinds)
    remark = next((f" {remark}" for remark in remarks if remark), "")
    return (
        "Features must be numbers, categories, booleans, dates or text. "
        f"{_what_they_hold(unusable)}. Choose others, or leave "
        f"{'it' if len(unusable) == 1 else 'them'} out: {option('ignore')}.{remark}"
    )


def unusable_notices(unusable: list[UnusableColumnError]) -> list[str]:
    """Say, in one notice, which columns cannot be learned from, and why."""
    if not unusable:
        return []
    columns = "a column" if len(unusable) == 1 else f"{len(unusable):,} columns"
    return [f"Left out {columns} that cannot be learned from: {_what_they_hold(unusable)}."]


def _what_they_hold(unusable: list[UnusableColumnError]) -> str:
    """Say what every unusable column holds, and what to do; alike ones together."""
    alike: dict[tuple[str, str], list[UnusableColumnError]] = {}
    for each in unusable:
        alike.setdefault((each.what, each.advice), []).append(each)
    clauses = []
    for (what, advice), some in alike.items():
        if len(some) == 1:
            clause = f"{printable(repr(some[0].name))} holds {what}{some[0].rows}"
        else:
            names = join_names((f"{each.name!r}{each.rows}" for each in some), longest=None)
            clause = f"{names} hold {what}"
        clauses.append(f"{clause}: {advice}")
    return "; ".join(clauses)


def no_features_message(kinds: dict[str, ColumnKind], unusable: list[UnusableColumnError]) -> str:
    """Return the error that no column is left to learn from, and why."""
    start = "A table needs at least one column that can be a feature."
    if not kinds and not unusable:
        return f"{start} Got none besides the labels and what was left out: add features."
    left_out = [
        f"{name!r} {_WHY_LEFT_OUT[kind.kind][0]}"
        for name, kind in kinds.items()
        if kind.kind in _WHY_LEFT_OUT
    ]
    reasons = filter(None, [join_names(left_out, most=4), _what_they_hold(unusable)])
    remark = next((f" {kind.remark}" for kind in kinds.values() if kind.remark), "")
    has_names = any(kind.kind == "names" for kind in kinds.values())
    words = f", or learn from the words of a column: {option('text')}" if has_names else ""
    return (
        f"{start} Got none: {'; '.join(reasons)}. Add features, or choose some: "
        f"{option('features')}{words}.{remark}"
    )


def writing_notices(kinds: dict[str, ColumnKind], used: Sequence[str]) -> list[str]:
    """Say which numbers are written in another way than 1234.5."""
    by_example: dict[str, list[str]] = {}
    for name in used:
        writing = kinds[name].writing
        if writing is not None and writing.example != PLAIN:
            by_example.setdefault(writing.example, []).append(repr(name))
    if not by_example:
        return []
    clauses = (f"in {join_names(names)} like {example}" for example, names in by_example.items())
    return [f"Numbers are read as they are written: {'; '.join(clauses)}."]


def text_notices(plan: ColumnPlan, *, named: Collection[str]) -> list[str]:
    """Say which columns were recognised as text, where there are others, which they may hide."""
    texts = [each.name for each in plan.columns if each.kind == "text" and each.is_string]
    names = [name for name in texts if name not in named]
    if not names or len(texts) == len(plan.columns):
        return []
    one = len(names) == 1
    what, it_is = (
        ("text: its words are", "it is") if one else ("texts: their words are", "they are")
    )
    return [
        f"Read {join_names(map(repr, names))} as {what} features. If {it_is} something else, use "
        f"{option('ignore')}."
    ]


def leakage_notices(leaking: Sequence[str], results: Sequence[str]) -> list[str]:
    """Say which columns hold labels, or are what a cleaning has added."""
    notices = []
    if leaking:
        holds, it = ("holds", "it") if len(leaking) == 1 else ("hold", "them")
        notices.append(
            f"Left out {join_names(map(repr, leaking))}, which {holds} labels and can give the "
            f"right one away; use {option('features')} to keep {it}. A column of true labels is "
            "named by --truth (truth=)."
        )
    if results:
        notices.append(f"Left out what an earlier cleaning has added: {join_names(results)}.")
    return notices


def notices_of_kinds(kinds: dict[str, ColumnKind], used: set[str]) -> list[str]:
    """Say which columns were left out for what they hold, and what was guessed of others."""
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if name not in used:
            by_kind.setdefault(kind.kind, []).append(name)
    notices = [_left_out_notice(kind, by_kind[kind]) for kind in _WHY_LEFT_OUT if kind in by_kind]
    remarks = [kind.remark for kind in kinds.values() if kind.remark]
    remarks += [
        f"The first column has no name, and is learned from as {name!r}: it does not number or "
        "name the rows."
        for name in kinds
        if name.startswith(UNNAMED) and name in used
    ]
    more = len(remarks) - _MOST_REMARKS
    if more > 0:
        remarks[_MOST_REMARKS:] = [f"The same, or similar, holds for {more:,} more columns."]
    return notices + remarks


def _left_out_notice(kind: str, names: list[str]) -> str:
    one = len(names) == 1
    they, them = ("it", "it") if one else ("they", "them")
    shown = (f"{name!r}{_NO_NAME if name.startswith(UNNAMED) else ''}" for name in names)
    start = f"Left out {join_names(shown)}, which {_WHY_LEFT_OUT[kind][not one]}"
    if kind not in LEAKING:
        return f"{start}: nothing can be learned from {them}."
    keep = f"use {option('features')} to keep {them}"
    if kind == "names":
        keep = f"use {option('text')} to learn from {'its' if one else 'their'} words"
    return f"{start}, because {they} can give the label away; {keep}."


def not_on_disk(names: list[str]) -> str:
    """Say that texts and images are not learned from where a table stays on disk."""
    one = len(names) == 1
    return (
        f"Texts and images are not learned from where the table stays on disk: "
        f"{join_names(map(repr, names))} {'is' if one else 'are'} left out. Embeddings of them, "
        "as columns of numbers, are."
    )
