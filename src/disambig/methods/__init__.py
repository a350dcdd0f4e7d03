"""Methods that learn from candidate sets, and the references to compare them with."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
