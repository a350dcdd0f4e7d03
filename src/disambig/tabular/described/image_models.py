"""Describers of images, by name."""

from disambig._core.errors import ParameterError
from disambig._core.messages import quote_value
from disambig.tabular.described.describers import Describer
from disambig.tabular.described.image_descriptor import BuiltInDescriptor


def find_image_describer(name: str | None) -> Describer:
    """Return a describer of images; None is the built-in one."""
    if name is None or name == BuiltInDescriptor.name:
        return BuiltInDescriptor()
    raise ParameterError(
        f"Images are described by {BuiltInDescriptor.name!r}, or by a network such as "
        f"'torchvision:resnet18'. Got {quote_value(name)}."
    )
