"""Dates as people write them: the formats that are read, and the parts that are learned from."""

import datetime
import re
from collections import Counter
from itertools import chain
from typing import Literal

import numpy as np
import pandas as pd

from disambig._core.typing import AnyArray, FloatArray

# The date of each; a time of day may follow.
DateFormat = Literal[
    "ISO8601",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y-%m-%d",
    "%Y.%m.%d",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%d %b %Y",
    "%b %d %Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%y",
    "%d %b %y",
    "%Y%m%d",
]
ISO_FORMAT: DateFormat = "ISO8601"
# Digits alone, which are a number unless the name of the column says that they are dates.
DIGITS: DateFormat = "%Y%m%d"
# Of dates that can be read in two ways, which one is taken, and the other.
_MONTH_FIRST: dict[DateFormat, DateFormat] = {
    "%m/%d/%Y": "%d/%m/%Y",
    "%m-%d-%Y": "%d-%m-%Y",
    "%m/%d/%y": "%d/%m/%y",
}
DATE_PARTS = ("days", "day of year", "weekday", "hour")
# The first counts on; the others begin again.
REPEATING_PARTS = DATE_PARTS[1:]

_TICKS_OF_HOUR = {"s": 3_600, "ms": 3_600 * 10**3, "us": 3_600 * 10**6, "ns": 3_600 * 10**9}
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_ISO_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?"
_TIME = (
    r"(?:(?:T|,? )(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2}(?:\.[0-9]{1,9})?))?(?: ?(?P<half>[ap])\.?m\.?)?"
    rf"(?P<zone>{_ZONE}))?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_REST_OF_MONTHS = (
    *("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t(?:ember)?", "ober", "ember", "ember"),
)
_MONTH = "(?P<name>{})".format(
    "|".join(f"{start}(?:{rest})?" for start, rest in zip(_MONTHS, _REST_OF_MONTHS, strict=True))
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?"
_YEAR, _SHORT_YEAR = "(?P<year>[0-9]{4})", "(?P<year>[0-9]{2})"
_M, _D = "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_MM, _DD = "(?P<month>[0-9]{2})", "(?P<day>[0-9]{2})"
_ORDINAL = f"{_D}(?:st|nd|rd|th)?"
# pandas would also read others, such as a plain year, which is a number. Years of two digits, and
# dots behind the year, take months and days of two digits: 1.2.13 may be a version.
_DATES: dict[DateFormat, str] = {
    "%Y/%m/%d": f"{_YEAR}/{_M}/{_D}",
    "%d.%m.%Y": rf"{_D}\.{_M}\.{_YEAR}",
    "%m/%d/%Y": f"{_M}/{_D}/{_YEAR}",
    "%d/%m/%Y": f"{_D}/{_M}/{_YEAR}",
    "%Y-%m-%d": f"{_YEAR}-{_M}-{_D}",
    "%Y.%m.%d": rf"{_YEAR}\.{_MM}\.{_DD}",
    "%m-%d-%Y": f"{_M}-{_D}-{_YEAR}",
    "%d-%m-%Y": f"{_D}-{_M}-{_YEAR}",
    "%d %b %Y": rf"{_WEEKDAY}{_ORDINAL}(?: |-|\. ){_MONTH}\.?,?[ -]{_YEAR}",
    "%b %d %Y": rf"{_WEEKDAY}{_MONTH}\.? {_ORDINAL},? {_YEAR}",
    "%m/%d/%y": f"{_M}/{_D}/{_SHORT_YEAR}",
    "%d/%m/%y": f"{_D}/{_M}/{_SHORT_YEAR}",
    "%d.%m.%y": rf"{_DD}\.{_MM}\.{_SHORT_YEAR}",
    "%d %b %y": rf"{_D}[ -]{_MONTH}[ -]{_SHORT_YEAR}",
    DIGITS: f"(?P<year>(?:19|20)[0-9]{{2}}){_MM}{_DD}",
}
_PATTERNS: dict[DateFormat, re.Pattern[str]] = {
    ISO_FORMAT: re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_ISO_TIME})?"),
    **{
        name: re.compile(date if name == DIGITS else date + _TIME, re.IGNORECASE | re.ASCII)
        for name, date in _DATES.items()
    },
}
_FIRST_SHORT_YEAR = 1969  # as in POSIX: 69 is 1969, and 68 is 2068
_MOST_LOOKED_AT = 1_000


def date_formats_of(strings: list[str]) -> list[DateFormat]:
    """Return the formats in which every string is a date, month first before day first."""
    return [name for name in _PATTERNS if name != DIGITS and _all_are_dates(strings, name)]


def are_dates_of_digits(strings: list[str]) -> bool:
    """Tell whether every string is a date such as 20241231, after 1900."""
    return _all_are_dates(strings, DIGITS)


def parse_dates(strings: list[str], date_format: DateFormat) -> AnyArray:
    """Return moments in UTC, at midnight if no time is given; NaT for what is not a date."""
    pattern = _PATTERNS[date_format]
    if date_format == ISO_FORMAT:
        in_iso = [text if pattern.fullmatch(text) else None for text in strings]
    else:
        matches = map(pattern.fullmatch, strings)
        in_iso = [None if match is None else _as_iso(match) for match in matches]
    parsed = pd.to_datetime(
        np.array(in_iso, dtype=object), format=ISO_FORMAT, utc=True, errors="coerce"
    )
    moments: AnyArray = parsed.tz_localize(None).to_numpy()
    return moments


def _as_iso(match: re.Match[str]) -> str | None:
    """Return a date, and the time behind it, as ISO 8601 has it."""
    parts = match.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:  # digits
        year += 1900 if year + 1900 >= _FIRST_SHORT_YEAR else 2000
    name = parts.get("name")
    month = int(parts["month"]) if name is None else _MONTHS.index(name[:3].lower()) + 1
    date = f"{year:04}-{month:02}-{int(parts['day']):02}"
    if parts.get("hour") is None:
        return date
    hour = int(parts["hour"])
    if parts["half"] is not None:
        if not 1 <= hour <= 12:  # hours on a clock
            return None
        hour = hour % 12 + (12 if parts["half"] in "pP" else 0)
    zone = parts["zone"].strip().upper().replace("UTC", "Z").replace("GMT", "Z")
    return f"{date}T{hour:02}:{parts['minute']}:{parts['second'] or '00'}{zone}"


def example_of(date_format: DateFormat) -> str:
    """Return an example of a date in a format."""
    pattern = "%Y-%m-%d" if date_format == ISO_FORMAT else date_format
    return datetime.date(2024, 12, 31).strftime(pattern)


def date_parts(moments: AnyArray) -> dict[str, FloatArray]:
    """Return the parts of moments that are learned from, NaN for NaT.

    Days are counted from 1970, with the time of day as a fraction.
    """
    missing = np.isnat(moments)
    midnights = moments.astype("datetime64[D]")
    day_numbers = midnights.astype(np.int64)
    ticks = _TICKS_OF_HOUR[np.datetime_data(moments.dtype)[0]]
    hours = moments.astype(np.int64) % (24 * ticks) / ticks
    days_of_year = (midnights - midnights.astype("datetime64[Y]")).astype(np.int64) + 1
    weekdays = (day_numbers + 3) % 7  # from Monday, 0; the first day of 1970 was a Thursday
    parts = (day_numbers + hours / 24, days_of_year, weekdays, hours)
    return {
        name: np.where(missing, np.nan, part) for name, part in zip(DATE_PARTS, parts, strict=True)
    }


def remark_on_dates(name: str, formats: list[DateFormat]) -> str:
    """Say what was assumed of dates that can be read in several ways."""
    remarks = []
    if _MONTH_FIRST.get(formats[0]) in formats:
        remarks.append(
            f"The dates in {name!r} can be read with the month first or the day first: the month "
            "is taken to be first. Write them as 2024-12-31 if that is wrong."
        )
    if formats[0].endswith("%y"):
        remarks.append(
            f"The years in {name!r} have two digits, and are taken to be from {_FIRST_SHORT_YEAR} "
            f"to {_FIRST_SHORT_YEAR + 99}."
        )
    return " ".join(remarks)


def most_frequent_format(strings: list[str]) -> DateFormat | None:
    """Return the format of most dates among some strings, if most of these are dates at all."""
    looked_at = strings[:_MOST_LOOKED_AT]
    fitting = [
        [name for name in _PATTERNS if name != DIGITS and _PATTERNS[name].fullmatch(text)]
        for text in looked_at
    ]
    if 2 * sum(map(bool, fitting)) <= len(looked_at):
        return None
    return Counter(chain.from_iterable(fitting)).most_common(1)[0][0]


def _all_are_dates(strings: list[str], date_format: DateFormat) -> bool:
    # The first string is enough to exclude most columns.
    if not _PATTERNS[date_format].fullmatch(strings[0]):
        return False
    return not np.isnat(parse_dates(strings, date_format)).any()
