"""What a model keeps of a describer, and how one is found by its name."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from disambig._core.errors import TableError
from disambig._core.messages import option
from disambig.tabular.described.describers import DescribedKind, Describer


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
    # slow to import
    if kind == "text":
        from disambig.tabular.described.text_models import find_text_describer

        return find_text_describer(name)
    from disambig.tabular.described.image_models import find_image_describer

    return find_image_describer(name)
