"""Parameters that are declared in the body of a class, as in a dataclass."""

import inspect
from dataclasses import dataclass, field
from typing import Any, dataclass_transform


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class DeclaredParameters:
    """Makes every subclass a dataclass, whose ``__init__`` stores its parameters.

    scikit-learn reads the parameters of an estimator from the signature of ``__init__``, which
    therefore has to name those of the base classes too. Here a class declares its own, with
    defaults, and inherits the others:

        strength: float = 1.0

    All are given by keyword. A name that is not a parameter is a ``ClassVar``, or has
    ``field(init=False)``. Where a class writes an ``__init__``, it and its subclasses keep that.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited = cls.__init__  # or its own
        if inherited is not object.__init__ and not hasattr(inherited, "__signature__"):
            return  # written by hand
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        made = vars(cls)["__init__"]
        signature = inspect.signature(made)
        # A dataclass names inherited parameters first. Here those of the class come first.
        place = {name: n for n, name in enumerate(inspect.signature(inherited).parameters)}
        by_place = sorted(signature.parameters.values(), key=lambda one: place.get(one.name, 0))
        made.__signature__ = signature.replace(parameters=by_place)
