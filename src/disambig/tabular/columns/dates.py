"""Dates: the formats that are read, and the parts that are learned from."""

import datetime
import re
from typing import Literal

import numpy as np
import pandas as pd

from disambig._core.typing import AnyArray, FloatArray

DateFormat = Literal["ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"]
ISO_FORMAT: DateFormat = "ISO8601"
MONTH_FIRST: DateFormat = "%m/%d/%Y"
DATE_PARTS = ("days", "day of year", "weekday", "hour")

_TICKS_OF_HOUR = {"s": 3_600, "ms": 3_600 * 10**3, "us": 3_600 * 10**6, "ns": 3_600 * 10**9}
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_ZONE = r"( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?"
# pandas would also read others, such as a plain year, which is a number.
_PATTERNS: dict[DateFormat, re.Pattern[str]] = {
    ISO_FORMAT: re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_TIME}{_ZONE})?"),
    "%Y/%m/%d": re.compile(r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"),
    "%d.%m.%Y": re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"),
    MONTH_FIRST: re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"),
    "%d/%m/%Y": re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"),
}


def date_formats_of(strings: list[str]) -> list[DateFormat]:
    """Return the formats in which every string is a date, month first before day first."""
    return [name for name in _PATTERNS if _all_are_dates(strings, name)]


def parse_dates(strings: list[str], date_format: DateFormat) -> AnyArray:
    """Return moments in UTC, at midnight if no time is given; NaT for what is not a date."""
    pattern = _PATTERNS[date_format]
    matching = [text if pattern.fullmatch(text) else None for text in strings]
    parsed = pd.to_datetime(
        np.array(matching, dtype=object), format=date_format, utc=True, errors="coerce"
    )
    moments: AnyArray = parsed.tz_localize(None).to_numpy()
    return moments


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


def _all_are_dates(strings: list[str], date_format: DateFormat) -> bool:
    # The first string is enough to exclude most columns.
    if not _PATTERNS[date_format].fullmatch(strings[0]):
        return False
    return not np.isnat(parse_dates(strings, date_format)).any()
