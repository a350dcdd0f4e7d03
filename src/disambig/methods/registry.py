"""Find methods by looking: every module below this package is read, no list is kept by hand."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import disambig.methods
from disambig._core.errors import ParameterError, UnknownNameError
from disambig.methods.base import PartialLabelClassifier


def all_methods() -> dict[str, type[PartialLabelClassifier]]:
    """Return the classes of all methods by name, in alphabetical order.

    See Also
    --------
    get_method : Returns one of them by its name.

    Examples
    --------
    >>> from disambig import all_methods
    >>> methods = all_methods()
    >>> methods["plknn"].__name__
    'PLKNN'
    >>> methods["plknn"].card.year
    2006
    """
    found = {
        method.card.name: method
        for module_name in _module_names()
        for method in _methods_in(importlib.import_module(module_name))
    }
    return dict(sorted(found.items()))


def get_method(name: str) -> type[PartialLabelClassifier]:
    """Return the class of a method.

    Parameters
    ----------
    name : str
        Name of a method from ``all_methods``, or ``package.module:Class`` for one outside disambig.

    See Also
    --------
    all_methods : Returns all of them.

    Examples
    --------
    >>> from disambig import get_method
    >>> get_method("sure")(penalty=0.05)
    SURE(penalty=0.05)
    """
    if ":" in name:
        return _method_from_elsewhere(name)
    # A method's module or package carries its name, but for the references, which share one:
    # importing the others can wait.
    for module_name in _module_names():
        if not {name, "reference"}.isdisjoint(module_name.split(".")):
            for method in _methods_in(importlib.import_module(module_name)):
                if method.card.name == name:
                    return method
    raise UnknownNameError("method", name, all_methods())


def _method_from_elsewhere(name: str) -> type[PartialLabelClassifier]:
    module_name, _, class_name = name.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except Exception as error:  # a module of the user may raise anything
        raise ParameterError(
            f"There is no method {name!r}: {error}. Needed is 'package.module:Class', and the "
            "module must be one that Python finds."
        ) from error
    if (
        not inspect.isclass(found)
        or not issubclass(found, PartialLabelClassifier)
        or inspect.isabstract(found)
        or not hasattr(found, "card")
    ):
        raise ParameterError(
            f"{name!r} is not a method. A method is a class that inherits PartialLabelClassifier, "
            "writes _fit and _predict_proba and has a card."
        )
    return found


@cache
def _module_names() -> tuple[str, ...]:
    path, prefix = disambig.methods.__path__, f"{disambig.methods.__name__}."
    return tuple(module.name for module in pkgutil.walk_packages(path, prefix))


def _methods_in(module: ModuleType) -> Iterator[type[PartialLabelClassifier]]:
    for value in vars(module).values():
        if (
            inspect.isclass(value)
            and issubclass(value, PartialLabelClassifier)
            and value.__module__ == module.__name__
            and not inspect.isabstract(value)
        ):
            yield value
