"""Values of cells as text, and as what JSON can hold."""

import datetime
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from disambig.candidates.classes import is_missing
from disambig.tables.cell_text import is_collection

__all__ = ["plain_value", "written_text"]


def plain_value(value: Any) -> Any:
    """Return a value made of what JSON knows; whatever stands for nothing becomes None."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain_value(item) for item in value), key=str)  # the same every time
    if isinstance(value, np.ndarray):
        return [plain_value(item) for item in value] if value.ndim else plain_value(value[()])
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    return str(value)


def written_text(value: Any) -> str | None:
    """Return what stands in a text for a cell: JSON for several values, else as it prints."""
    if isinstance(value, str):
        return value
    if is_collection(value):
        return json.dumps(plain_value(value), ensure_ascii=False)
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return str(plain_value(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
