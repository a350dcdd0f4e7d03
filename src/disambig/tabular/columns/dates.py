"""Dates: the few ways of writing them that are understood, and what is learned from them."""

import datetime
import re
from typing import Literal

import numpy as np
import pandas as pd

from disambig._core.typing import AnyArray, FloatArray

__all__ = [
    "DATE_PARTS",
    "ISO_FORMAT",
    "MONTH_FIRST",
    "DateFormat",
    "date_formats_of",
    "date_parts",
    "example_of",
    "parse_dates",
]

DateFormat = Literal["ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"]
ISO_FORMAT: DateFormat = "ISO8601"
MONTH_FIRST: DateFormat = "%m/%d/%Y"
DATE_PARTS = ("days", "day of year", "weekday", "hour")

_TICKS_OF_HOUR = {"s": 3_600, "ms": 3_600 * 10**3, "us": 3_600 * 10**6, "ns": 3_600 * 10**9}
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_ZONE = r"( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?"
# pandas reads more than this: a plain year, for one, which is a number.
_PATTERNS: dict[DateFormat, re.Pattern[str]] = {
    ISO_FORMAT: re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_TIME}{_ZONE})?"),
    "%Y/%m/%d": re.compile(r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"),
    "%d.%m.%Y": re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"),
    MONTH_FIRST: re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"),
    "%d/%m/%Y": re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"),
}


def date_formats_of(texts: list[str]) -> list[DateFormat]:
    """Return the formats that every text is a date in, month first before day first."""
    return [name for name in _PATTERNS if _all_are_dates(texts, name)]


def parse_dates(texts: list[str], date_format: DateFormat) -> AnyArray:
    """Return moments in UTC, without a time where none is given; NaT for what is no date."""
    pattern = _PATTERNS[date_format]
    written = [text if pattern.fullmatch(text) else None for text in texts]
    parsed = pd.to_datetime(
        np.array(written, dtype=object), format=date_format, utc=True, errors="coerce"
    )
    moments: AnyArray = parsed.tz_localize(None).to_numpy()
    return moments


def example_of(date_format: DateFormat) -> str:
    """Return a date that is written so."""
    pattern = "%Y-%m-%d" if date_format == ISO_FORMAT else date_format
    return datetime.date(2024, 12, 31).strftime(pattern)


def date_parts(moments: AnyArray) -> dict[str, FloatArray]:
    """Return the parts of moments that are learned from, NaN for NaT.

    Days are counted from 1970, with the time of the day behind the point.
    """
    gone = np.isnat(moments)
    midnights = moments.astype("datetime64[D]")
    day_numbers = midnights.astype(np.int64)
    ticks = _TICKS_OF_HOUR[np.datetime_data(moments.dtype)[0]]
    hours = moments.astype(np.int64) % (24 * ticks) / ticks
    days_of_year = (midnights - midnights.astype("datetime64[Y]")).astype(np.int64) + 1
    weekdays = (day_numbers + 3) % 7  # from Monday, 0; the first day of 1970 was a Thursday
    parts = (day_numbers + hours / 24, days_of_year, weekdays, hours)
    return {
        name: np.where(gone, np.nan, part) for name, part in zip(DATE_PARTS, parts, strict=True)
    }


def _all_are_dates(texts: list[str], date_format: DateFormat) -> bool:
    # Most columns hold no dates, and the first cell tells.
    if not _PATTERNS[date_format].fullmatch(texts[0]):
        return False
    return not np.isnat(parse_dates(texts, date_format)).any()
