"""Describers of texts: pretrained models of sentence-transformers, from a folder or by name."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError, import_extra
from disambig._core.fingerprint import sha256_hex
from disambig._core.messages import option, printable, quote_value
from disambig._core.parsing import parse_json, read_small_file
from disambig._core.typing import AnyArray
from disambig.tabular.described.describers import Describer

_AT_A_TIME = 32
# Models read some hundred words; a tokenizer would take minutes for a megabyte.
_MOST_CHARACTERS = 20_000
# What embeddings depend on. Weights in the format of pickle would be run when they are loaded.
_FILES = (".json", ".txt", ".model", ".safetensors")
_WEIGHTS = "*.safetensors"
_MODULES, _LARGEST = "modules.json", 1_000_000
# Where parts of a model name classes. Some versions of the library import and call them, whatever
# they are.
_CONFIGURATIONS = ("config.json", "router_config.json")
_CLASS_KEYS = ("type", "types", "activation_function")
_OURS = ("sentence_transformers.", "torch.nn.")
_OWNER = "sentence-transformers"


class SentenceModel:
    """A model of sentence-transformers, whose files are on this machine.

    Parameters
    ----------
    name : str
        Path of a folder, or the name under which a hub has it and it was downloaded before.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        folder = _folder_of(name)
        self._model = _load(name, folder)
        self.width = self._encode([""]).shape[1]
        self.fingerprint = _fingerprint(folder)

    def describe(self, contents: Sequence[bytes]) -> list[AnyArray | str]:
        """Return the embedding of every text, which is given in UTF-8."""
        if not contents:
            return []
        rows = self._encode([content.decode() for content in contents])
        return [row if np.isfinite(row).all() else "gives no finite numbers" for row in rows]

    def _encode(self, texts: list[str]) -> AnyArray:
        said = self._model.encode(texts, batch_size=_AT_A_TIME, show_progress_bar=False)
        return np.asarray(said, dtype=np.float32)


def find_text_describer(name: str | None) -> Describer:
    """Return the describer of a name."""
    if not name:
        raise ParameterError(
            "Texts are described by a model of sentence-transformers. Got no name. Give a folder, "
            f"or the name of a model: {option('text-model')}."
        )
    return SentenceModel(name)


def as_content(text: str) -> bytes:
    """Return what a text is described by: its beginning."""
    return text[:_MOST_CHARACTERS].encode("utf-8", "replace")


def _folder_of(name: str) -> Path:
    """Return the folder with the files of a model; nothing is downloaded."""
    if Path(name).is_dir():
        return Path(name)
    hub = import_extra("huggingface_hub", extra="text")
    try:
        full = name if "/" in name else f"{_OWNER}/{name}"
        return Path(hub.snapshot_download(full, local_files_only=True))
    except Exception as error:  # also for names that no hub has
        raise ParameterError(
            "A text model must be a folder, or a model that was downloaded to this machine before. "
            f"Got {quote_value(name)}. Nothing is downloaded here: where that is possible, write "
            f"SentenceTransformer({name!r}).save('FOLDER') in Python, and give that folder."
        ) from error


def _load(name: str, folder: Path) -> Any:
    """Return the model in a folder; no code that comes with it is run."""
    library = import_extra("sentence_transformers", extra="text")
    _check_modules(name, folder)
    if not any(folder.rglob(_WEIGHTS)):
        raise _refused(name, f"it has no weights as {_WEIGHTS}")
    try:
        return library.SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # libraries raise anything for files that are not theirs
        raise _refused(name, printable(str(error) or type(error).__name__, 300)) from error


def _check_modules(name: str, folder: Path) -> None:
    """Refuse parts that are not those of sentence-transformers: they are code of somebody's own."""
    try:
        content = read_small_file(
            folder / _MODULES, lambda reason: _refused(name, reason), largest=_LARGEST
        )
    except FileNotFoundError:
        raise _refused(name, f"it has no file {_MODULES}") from None
    modules = parse_json(content, lambda reason: _refused(name, f"in its {_MODULES}, {reason}"))
    types = [
        part.get("type") if isinstance(part, dict) else None
        for part in (modules if isinstance(modules, list) else [None])
    ]
    strange = [each for each in types if not str(each).startswith(_OURS[0])]
    for path in (path for file in _CONFIGURATIONS for path in sorted(folder.rglob(file))):
        content = read_small_file(path, lambda reason: _refused(name, reason), largest=_LARGEST)
        of_part = parse_json(content, lambda reason: _refused(name, reason))
        strange += [each for each in _classes_in(of_part) if not each.startswith(_OURS)]
    if strange:
        raise _refused(name, f"its part {quote_value(strange[0])} would run code")


def _classes_in(value: Any) -> Iterator[str]:
    """Yield the classes that the configuration of a part names; "gelu" is a name, not a class."""
    given = [value.get(key) for key in _CLASS_KEYS] if isinstance(value, dict) else []
    for each in given:
        for one in each.values() if isinstance(each, dict) else [each]:
            if isinstance(one, str) and "." in one:
                yield one


def _fingerprint(folder: Path) -> str:
    """Return the fingerprint of all that embeddings depend on, wherever the folder is."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in _FILES and path.is_file())
    return sha256_hex(
        *(
            part
            for path in files
            for part in (path.relative_to(folder).as_posix().encode(), path.read_bytes())
        )
    )


def _refused(name: str, reason: str) -> ParameterError:
    return ParameterError(
        f"{quote_value(name)} is not a text model that can be used: {reason}. Give the folder that "
        "SentenceTransformer.save wrote."
    )
