"""What turns the contents of cells into numbers: the interface of describers."""

from collections.abc import Sequence
from typing import Literal, Protocol

from disambig._core.typing import AnyArray

DescribedKind = Literal["image", "text"]


class UnreadableCellError(Exception):
    """A cell that nothing can be read from; says why."""


class Describer(Protocol):
    """Gives every content the same numbers, whatever else is in the table.

    Attributes
    ----------
    name : str
        By which ``find_describer`` finds it again.
    width : int
        How many numbers it gives.
    fingerprint : str
        Of all that the numbers depend on, such as weights: others mean other numbers.
    """

    name: str
    width: int
    fingerprint: str

    def describe(self, contents: Sequence[bytes]) -> list[AnyArray | str]:
        """Return ``width`` finite numbers for every content, or why it cannot be read."""
        ...
