"""Pages for a browser: reports in one file, the review of doubtful rows; predictions over HTTP."""

from disambig._core.lazy import names_from_stub

__getattr__, __dir__, __all__ = names_from_stub(__name__, __file__)
