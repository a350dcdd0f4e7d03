"""Dataclasses as groups of options: what a command takes, and how it is typed again."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, get_type_hints


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses whose fields are its options.

    A parameter annotated with a dataclass is replaced, in the signature that typer reads, by the
    fields of that dataclass; the command gets them back as one object.
    """
    parameters = inspect.signature(command).parameters
    hints = get_type_hints(command, include_extras=True)
    groups = {
        name: hints[name] for name in parameters if hasattr(hints[name], "__dataclass_fields__")
    }
    options = {name: _options_of(group) for name, group in groups.items()}

    @wraps(command)
    def flat(**given: Any) -> None:
        made = {
            name: group(**{option.name: given.pop(option.name) for option in options[name]})
            for name, group in groups.items()
        }
        command(**given, **made)

    every = [
        option
        for name in parameters
        for option in options.get(name, [parameters[name].replace(annotation=hints[name])])
    ]
    # What is needed comes before what is not.
    every.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    signature = inspect.Signature(
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in every]
    )
    flat.__signature__ = signature  # type: ignore[attr-defined]  # what inspect looks for
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    del flat.__wrapped__  # or its signature would be read
    return flat


def _options_of(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def option_words(*groups: Any) -> list[str]:
    """Return the options of dataclasses that are not the defaults, as they are typed."""
    words: list[str] = []
    for group in groups:
        for field in fields(group):
            value = getattr(group, field.name)
            name = f"--{field.name.replace('_', '-')}"
            if value is True:
                words.append(name)
            elif value != field.default:
                for one in value if isinstance(value, list) else [value]:
                    words += [name, str(one)]
    return words
