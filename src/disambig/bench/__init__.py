"""Studies and their reports. The only layer that hands true labels to anything."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
