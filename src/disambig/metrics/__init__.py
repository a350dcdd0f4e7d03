"""Metrics, with and without true labels, their registry, and scikit-learn scorers."""

from disambig._core.lazy import names_from_stub

__getattr__, __dir__, __all__ = names_from_stub(__name__, __file__)
