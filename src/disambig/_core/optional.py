"""Import libraries that an extra installs."""

import importlib
from typing import Any

from disambig._core.errors import MissingExtraError

__all__ = ["import_extra"]


def import_extra(module: str, *, extra: str) -> Any:
    """Return a module; if it is missing, say which extra of disambig installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"This needs {module}, which cannot be imported ({error}). "
            f"Install it: pip install 'disambig[{extra}]'."
        ) from error
