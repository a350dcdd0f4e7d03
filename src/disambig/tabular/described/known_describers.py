"""The describers there are, found by their names."""

from disambig._core.errors import TableError
from disambig.tabular.described.describers import DescribedBy, DescribedKind, Describer
from disambig.tabular.described.image_models import find_image_describer
from disambig.tabular.described.text_models import find_text_describer


def find_describer(kind: DescribedKind, name: str | None) -> Describer:
    """Return the describer of a name; None is the one that is used by default."""
    return {"image": find_image_describer, "text": find_text_describer}[kind](name)


def find_again(kept: DescribedBy, kind: DescribedKind, name: str | None) -> Describer:
    """Return the describer that a model was trained with; refuse another one.

    It may have another name now, such as that of a file that was moved.
    """
    describer = find_describer(kind, name or kept.name)
    if (describer.width, describer.fingerprint) != (kept.width, kept.fingerprint):
        raise TableError(
            f"New {kind}s must be described as in training. The model was trained with "
            f"{kept.name!r} ({kept.width:,} numbers, fingerprint {kept.fingerprint[:12]}), and "
            f"{describer.name!r} gives {describer.width:,} numbers with the fingerprint "
            f"{describer.fingerprint[:12]}: its weights or its version differ. Give the same "
            f"weights: --{kind}-model."
        )
    return describer
