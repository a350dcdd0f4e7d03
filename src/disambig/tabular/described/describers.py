"""Describers, which turn the contents of cells into numbers: found by name, kept by a model."""

from collections.abc import Sequence
from typing import Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field

from disambig._core.errors import TableError
from disambig._core.messages import option
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

    def find(self, kind: DescribedKind, name: str | None) -> Describer:
        """Return the describer again, by another name if one is given; refuse a different one."""
        describer = find_describer(kind, name or self.name)
        if (describer.width, describer.fingerprint) != (self.width, self.fingerprint):
            raise TableError(
                f"New {kind}s must be described as in training. The model was trained with "
                f"{self.name!r} ({self.width:,} numbers, fingerprint {self.fingerprint[:12]}), and "
                f"{describer.name!r} gives {describer.width:,} numbers with the fingerprint "
                f"{describer.fingerprint[:12]}: its weights or its version differ. Give the same "
                f"weights: {option(f'{kind}-model')}."
            )
        return describer


def find_describer(kind: DescribedKind, name: str | None) -> Describer:
    """Return the describer of a name; None is the one that is used by default."""
    # not always needed
    if kind == "text":
        from disambig.tabular.described.text_models import find_text_describer

        return find_text_describer(name)
    from disambig.tabular.described.image_models import find_image_describer

    return find_image_describer(name)
