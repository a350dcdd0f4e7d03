"""What a partial label is: candidate sets, how to make them, and what they can teach."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
