"""Partial label learning: train a classifier when one of several candidate labels is right.

Public names are listed in ``__init__.pyi`` and imported on first use.
"""

from disambig._core.lazy import names_from_stub

__getattr__, __dir__, __all__ = names_from_stub(__name__, __file__)
