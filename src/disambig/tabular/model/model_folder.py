"""A model for tables as a folder: text, numbers, and nothing that could run.

``model.json`` says what the model is and what its other files are; ``features.skops`` holds the
fitted transformer; ``method.skops``, or ``method.safetensors`` for networks, the fitted method.
"""

import json
import os
import warnings
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
import sklearn
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sklearn.compose import ColumnTransformer

from disambig._core.errors import DisambigError, ModelFileError, ParameterError
from disambig._core.files import check_replaceable, write_folder_atomically
from disambig._core.fingerprint import file_digest, has_digest
from disambig._version import __version__
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import get_method
from disambig.tabular.columns.plan import ColumnPlan
from disambig.tabular.estimate import Estimate
from disambig.tabular.model.model_checks import check_model
from disambig.tabular.model.skops_file import one_line, read_skops, write_skops
from disambig.tabular.model.table_model import TableModel

__all__ = [
    "check_method_can_be_saved",
    "check_model_folder_is_free",
    "load_model",
    "save_model",
]

_KIND: Final = "disambig table model"
_VERSION: Final = 1
_DESCRIPTION, _FEATURES = "model.json", "features.skops"
_METHOD, _METHOD_OF_NETWORKS = "method.skops", "method.safetensors"
_FILES = {_DESCRIPTION, _FEATURES, _METHOD, _METHOD_OF_NETWORKS}

Version = Annotated[str, Field(pattern=r"^[\w.+-]{1,40}$")]


class _Description(BaseModel):
    """What ``model.json`` says."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, ser_json_inf_nan="constants"
    )

    kind: Literal["disambig table model"] = _KIND
    version: Literal[1] = _VERSION
    disambig: Version = __version__
    scikit_learn: Version = sklearn.__version__
    method: str
    classes: list[str | int | float | bool]
    plan: ColumnPlan
    estimate: Estimate | None
    files: dict[str, str]


def check_model_folder_is_free(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where a model cannot be put without losing something that is none.

    Parameters
    ----------
    folder : path
        Where a model is to be written, perhaps after hours of training.
    """
    check_replaceable(folder, _is_model)


def check_method_can_be_saved(method: PartialLabelClassifier) -> None:
    """Refuse a method, fitted or not, that needs code of somebody's own.

    Parameters
    ----------
    method : PartialLabelClassifier
        The method.
    """
    name = type(method).card.name if hasattr(type(method), "card") else ""
    try:
        is_ours = ":" not in name and get_method(name) is type(method)
    except DisambigError:
        is_ours = False
    if not is_ours:
        raise ParameterError(
            f"A model can be saved if its method is one of disambig's own. Got "
            f"{type(method).__module__}:{type(method).__name__}, which is code: whoever loads the "
            "model would run it."
        )
    if method.get_params(deep=False).get("network") is not None:
        raise ParameterError(
            "A model for tables can be saved if its networks are disambig's own. Got networks "
            "made by 'network', which is code: leave it out."
        )


def save_model(model: TableModel, folder: str | os.PathLike[str]) -> None:
    """Write a model; one that is there is replaced when the new one is complete.

    Parameters
    ----------
    model : TableModel
        The model.
    folder : path
        Where to. Anything there that is no model is left alone, and refused.
    """
    check_model_folder_is_free(folder)
    check_method_can_be_saved(model.method)
    _check_class_names(model.method.classes_.tolist())
    try:
        check_model(model)
    except Exception as error:
        raise ParameterError(
            f"A model that is saved must be able to predict. This one is not: {one_line(error)}."
        ) from error
    with write_folder_atomically(folder, _is_model) as temporary:
        write_skops(model.transformer, temporary / _FEATURES)
        file = _file_of(type(model.method))
        if file == _METHOD_OF_NETWORKS:
            model.method.save(temporary / file)
        else:
            write_skops(_without_generator(model.method), temporary / file, finite=True)
        description = _Description(
            method=model.method.card.name,
            classes=model.method.classes_.tolist(),
            plan=model.plan,
            estimate=model.estimate,
            files={
                name: file_digest((temporary / name).read_bytes(), "sha256")
                for name in (_FEATURES, file)
            },
        )
        (temporary / _DESCRIPTION).write_text(
            description.model_dump_json(indent=2), encoding="utf-8"
        )


def load_model(folder: str | os.PathLike[str]) -> TableModel:
    """Return the model in a folder; nothing in it is run, whoever wrote it.

    Parameters
    ----------
    folder : path
        The folder.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ModelFileError(f"There is no model {os.fspath(folder)!r}. Check the path.")
    description = _read_description(place)
    method_class = _method_class(place, description)
    file = _file_of(method_class)
    _check_files(place, description, file)
    transformer = read_skops(place / _FEATURES, ColumnTransformer)
    method = _read_method(place / file, method_class)
    model = TableModel(description.plan, transformer, method, description.estimate)
    try:
        if method.classes_.tolist() != description.classes:
            raise ValueError("the labels of its method are not those that it names")
        check_model(model)
    except Exception as error:  # parts that do not fit together may make each other raise anything
        raise _refused(place, one_line(error)) from error
    _warn_of_another_version(place, description.scikit_learn)
    return model


def _is_model(folder: Path) -> bool:
    """Tell whether a folder is a model, and nothing else is in it."""
    if not all(entry.is_file() and entry.name in _FILES for entry in folder.iterdir()):
        return False
    try:
        description = json.loads((folder / _DESCRIPTION).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(description, dict) and description.get("kind") == _KIND


def _file_of(method_class: type[PartialLabelClassifier]) -> str:
    return _METHOD_OF_NETWORKS if hasattr(method_class, "load") else _METHOD


def _check_class_names(names: list[Any]) -> None:
    unfit = next((name for name in names if not isinstance(name, str | int | float | bool)), None)
    if unfit is not None:
        raise ParameterError(
            "A model can be saved if its labels are texts, numbers or booleans. "
            f"Got {unfit!r}: rename the labels."
        )


def _without_generator(method: PartialLabelClassifier) -> PartialLabelClassifier:
    """Return the method, or a copy without the generator that it was made with."""
    seed = method.get_params(deep=False).get("random_state")
    if isinstance(seed, int | np.integer | None):
        return method
    # A plain copy would make what a method does not keep, such as an index of its rows.
    copied = object.__new__(type(method))
    copied.__dict__.update(method.__dict__, random_state=None)
    return copied


def _read_description(place: Path) -> _Description:
    path = place / _DESCRIPTION
    if not path.is_file():
        raise _refused(place, f"it has no file {_DESCRIPTION}")
    try:
        content = path.read_bytes()
        found = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(place, f"its {_DESCRIPTION} is damaged ({one_line(error)})") from error
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise _refused(place, f"its {_DESCRIPTION} was not written by disambig")
    if found.get("version") != _VERSION:
        raise _refused(
            place,
            f"it has the version {found.get('version')!r}, and this disambig reads {_VERSION}",
        )
    try:
        return _Description.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _refused(place, f"in its {_DESCRIPTION}, {where}: {first['msg']}") from error


def _method_class(place: Path, description: _Description) -> type[PartialLabelClassifier]:
    # What has a colon would be imported from wherever the file says.
    if ":" not in description.method:
        try:
            return get_method(description.method)
        except DisambigError:
            pass
    raise _refused(place, f"this disambig has no method {description.method[:40]!r}")


def _check_files(place: Path, description: _Description, file_of_method: str) -> None:
    if set(description.files) != {_FEATURES, file_of_method}:
        raise _refused(place, f"it must be made of {_FEATURES} and {file_of_method}")
    for name, expected in description.files.items():
        path = place / name
        if not path.is_file():
            raise _refused(place, f"it has no file {name}")
        if not has_digest(path.read_bytes(), expected):
            raise _refused(place, f"its {name} is damaged, or belongs to another model")


def _read_method(path: Path, method_class: type[PartialLabelClassifier]) -> PartialLabelClassifier:
    if path.name == _METHOD:
        return read_skops(path, method_class, finite=True)
    try:
        method: PartialLabelClassifier = method_class.load(path)
    except ModelFileError:
        raise
    except Exception as error:  # such as networks of somebody's own, which need code
        raise _refused(path.parent, one_line(error)) from error
    return method


def _warn_of_another_version(place: Path, version: str) -> None:
    if version.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"The model {os.fspath(place)!r} was made with scikit-learn {version}, and this is "
            f"{sklearn.__version__}: predictions may differ.",
            stacklevel=4,
        )


def _refused(place: Path, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(place)!r} is no model that can be read: {reason}. "
        "Give a folder that disambig wrote, or write it again."
    )
