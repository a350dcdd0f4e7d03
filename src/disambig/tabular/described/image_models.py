"""Describers of images, by name: the built-in one, and networks with weights on this machine.

Nothing is ever downloaded: a model from somebody else may name any network. Weights are read from a
file that the name gives, or from where the library keeps what it has downloaded before.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from disambig._core.errors import ModelFileError, ParameterError, import_extra
from disambig._core.messages import did_you_mean, option, quote_value
from disambig._core.typing import AnyArray
from disambig.tabular.described.describers import Describer, UnreadableCellError
from disambig.tabular.described.image_descriptor import BuiltInDescriptor
from disambig.tabular.described.image_files import open_image

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import nn

_EXTRA = "image-models"
_NETWORK_NAME = re.compile(r"[\w.\-]+")
# Networks look at some 224 pixels; a larger photo is read at a smaller scale where that is quicker.
_SMALLEST = 512
# Most libraries scale the shorter side, and would make gigabytes of a line of pixels.
_LONGEST = 100
# Tensors that a file may have beside those of the network: of a last layer, which is not asked, or
# two. A file with more of them, and as a share, is one of another network.
_MOST_SPARE, _MOST_SPARE_SHARE = 4, 0.1


def find_image_describer(name: str | None) -> Describer:
    """Return a describer of images; None is the built-in one."""
    import_extra("PIL.Image", extra="images")  # before any file is read
    if name is None or name == BuiltInDescriptor.name:
        return BuiltInDescriptor()
    library, _, rest = name.partition(":")
    network, _, file = rest.partition(":")
    if library not in _LIBRARIES or not _NETWORK_NAME.fullmatch(network):
        raise ParameterError(
            f"Images are described by {BuiltInDescriptor.name!r}, or by a pretrained network such "
            "as 'torchvision:resnet18' or 'timm:resnet18', with ':FILE' behind it if its weights "
            f"are in a file. Got {quote_value(name)}."
        )
    weights = Path(file) if file else None
    if weights is None or not weights.is_file():
        made = _LIBRARIES[library](network)  # refuses names that the library does not know
        weights = weights or made.kept_at
        if weights is None or not weights.is_file():
            raise _no_weights(library, network, weights)
    changed = weights.stat()
    return _loaded(name, str(weights), (changed.st_mtime_ns, changed.st_size))


class _Network(NamedTuple):
    """A network of a library, not trained yet."""

    module: "nn.Module"  # from tensors of images to numbers that say what is in them
    to_tensor: Callable[[Any], Any]  # from an image to what the network takes
    kept_at: Path | None  # where the library keeps its weights


class PretrainedNetwork:
    """Describes images by what a network says before its last layer; a ``Describer``."""

    def __init__(self, name: str, network: _Network, weights: Path) -> None:
        import torch

        from disambig.engine.device import choose_device  # slow to import

        self.name = name
        with weights.open("rb") as file:
            self.fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
        _load(network.module, weights)
        self._device = choose_device("auto")
        self._module, self._to_tensor = network.module.eval().to(self._device), network.to_tensor
        self._torch = torch
        pillow = import_extra("PIL.Image", extra="images")
        said = self._numbers([self._to_tensor(pillow.new("RGB", (_SMALLEST, _SMALLEST)))])
        if said.ndim != 2:
            raise ParameterError(
                f"A network must give one row of numbers for an image. {name} gives an array of "
                f"the shape {said.shape[1:]}. Choose another."
            )
        self.width = said.shape[1]

    def describe(self, contents: Sequence[bytes]) -> list[AnyArray | str]:
        """Return the numbers of every image, or why it cannot be read."""
        said: list[AnyArray | str] = []
        readable: list[tuple[int, Any]] = []
        for place, content in enumerate(contents):
            try:
                # At once, because the tensor of a photo is much smaller.
                readable.append((place, self._to_tensor(_open(content))))
                said.append("")
            except UnreadableCellError as error:
                said.append(str(error))
        if readable:
            places, tensors = zip(*readable, strict=True)
            for place, numbers in zip(places, self._numbers(tensors), strict=True):
                finite = bool(np.isfinite(numbers).all())
                said[place] = numbers if finite else "makes the network give infinite numbers"
        return said

    def _numbers(self, tensors: Sequence[Any]) -> AnyArray:
        with self._torch.no_grad():
            said = self._module(self._torch.stack(list(tensors)).to(self._device))
        numbers: AnyArray = said.float().cpu().numpy()
        return numbers


def _open(content: bytes) -> "Image":
    image = open_image(content, smallest=_SMALLEST)
    if max(image.size) > _LONGEST * min(image.size):
        raise UnreadableCellError(f"is more than {_LONGEST} times as long as wide")
    return image


@lru_cache(maxsize=2)
def _loaded(name: str, weights: str, changed: tuple[int, int]) -> PretrainedNetwork:  # noqa: ARG001  # part of the key
    """Return a network with its weights, read again when the file has changed."""
    library, _, rest = name.partition(":")
    return PretrainedNetwork(name, _LIBRARIES[library](rest.partition(":")[0]), Path(weights))


def _from_torchvision(name: str) -> _Network:
    models = import_extra("torchvision.models", extra=_EXTRA)
    torch = import_extra("torch", extra=_EXTRA)
    _check_known(name, models.list_models(module=models), "torchvision")
    weights = models.get_model_weights(name).DEFAULT
    module = models.get_model(name, weights=None)
    linear = [path for path, part in module.named_modules() if isinstance(part, torch.nn.Linear)]
    if not linear:
        raise ParameterError(
            f"torchvision:{name} does not end in a linear layer, before which it could be asked. "
            "Choose another network."
        )
    parent, _, last = linear[-1].rpartition(".")
    setattr(module.get_submodule(parent), last, torch.nn.Identity())
    kept_at = Path(torch.hub.get_dir()) / "checkpoints" / Path(weights.url).name
    return _Network(module, weights.transforms(), kept_at)


def _from_timm(name: str) -> _Network:
    timm = import_extra("timm", extra=_EXTRA)
    data = import_extra("timm.data", extra=_EXTRA)
    hub = import_extra("huggingface_hub", extra=_EXTRA)
    _check_known(name, timm.list_models(), "timm", full=name.partition(".")[0])
    try:
        module = timm.create_model(name, pretrained=False, num_classes=0)
    except RuntimeError as error:  # for what is behind the point of a name
        raise ParameterError(f"timm cannot make {name!r}: {error} Choose another name.") from error
    to_tensor = data.create_transform(**data.resolve_model_data_config(module), is_training=False)
    repository = (module.pretrained_cfg or {}).get("hf_hub_id")
    found = repository and hub.try_to_load_from_cache(repository, "model.safetensors")
    kept_at = Path(found) if isinstance(found, str) else None
    return _Network(module, to_tensor, kept_at)


_LIBRARIES: dict[str, Callable[[str], _Network]] = {
    "torchvision": _from_torchvision,
    "timm": _from_timm,
}


def _check_known(name: str, known: Sequence[str], library: str, full: str | None = None) -> None:
    if (full or name) not in known:
        raise ParameterError(
            f"{library} has no network called {name!r}.{did_you_mean(name, known)} Its "
            "list_models() names all of them."
        )


def _load(module: "nn.Module", weights: Path) -> None:
    """Give a network the weights in a file, from which nothing is ever run."""
    import torch
    from safetensors.torch import load_file

    try:
        if weights.suffix.lower() == ".safetensors":
            state: Any = load_file(weights)
        else:
            state = torch.load(weights, map_location="cpu", weights_only=True)
    except Exception as error:  # torch and safetensors raise anything, and torch advises to run it
        reason = "it is damaged, or holds something other than tensors"
        raise _bad_weights(weights, reason) from error
    if isinstance(state, Mapping) and isinstance(state.get("state_dict"), Mapping):
        state = state["state_dict"]
    try:
        missing, spare = module.load_state_dict(state, strict=False)
    except Exception as error:  # of what is not a mapping, and of other shapes
        raise _bad_weights(weights, " ".join(str(error).split())[:300].rstrip(".")) from error
    if missing:
        raise _bad_weights(weights, f"it has no {', '.join(missing[:3])}")
    if len(spare) > max(_MOST_SPARE, _MOST_SPARE_SHARE * len(state)):
        raise _bad_weights(weights, f"the network has no {', '.join(spare[:3])}")


def _bad_weights(weights: Path, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{str(weights)!r} does not hold the weights of this network: {reason}. Give a "
        ".safetensors file, or a .pth file that holds tensors only: code in files is never run."
    )


def _no_weights(library: str, network: str, weights: Path | None) -> ParameterError:
    where = f"There is no file {str(weights)!r}" if weights else "None are in the cache of timm"
    call = (
        f"torchvision.models.get_model({network!r}, weights='DEFAULT')"
        if library == "torchvision"
        else f"timm.create_model({network!r}, pretrained=True)"
    )
    return ParameterError(
        f"{library}:{network} needs its weights on this machine, and nothing is downloaded here. "
        f"{where}. Let the library fetch them once, by {call}, or name a file that has them: "
        f"{option('image-model', f'{library}:{network}:FILE')}."
    )
