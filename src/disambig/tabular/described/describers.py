"""What turns the contents of cells into numbers, and how it is found by its name."""

from collections.abc import Sequence
from typing import Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field

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


class DescribedBy(BaseModel):
    """What a model keeps of a describer, so that new cells are described alike."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(max_length=1_000)
    width: int = Field(ge=1, le=1_000_000)
    fingerprint: str = Field(max_length=100)

    @classmethod
    def of(cls, describer: Describer) -> Self:
        """Return what is kept of a describer."""
        return cls(name=describer.name, width=describer.width, fingerprint=describer.fingerprint)
