"""Pages for a browser: reports in one file, and the review of doubtful rows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
