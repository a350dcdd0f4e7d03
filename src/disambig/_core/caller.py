"""Warn about what the user's own code said, however deep inside the package it is noticed."""

import sys
import warnings

__all__ = ["warn_caller"]

_PACKAGE = __name__.partition(".")[0]


def warn_caller(message: str) -> None:
    """Warn with the line of the first caller that is not part of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE
