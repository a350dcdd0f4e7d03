"""What a partial label is: candidate sets, how to make them, and what they can teach."""

from disambig._core.lazy import names_from_stub

__getattr__, __dir__, __all__ = names_from_stub(__name__, __file__)
