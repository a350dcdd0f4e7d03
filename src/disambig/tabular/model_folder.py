"""The folder of a model for tables: written as a whole, read after every part of it was checked.

``model.json`` says what the model is and what its other files are; ``features.safetensors`` holds
the fitted transformer, ``method.safetensors`` the fitted classifier. Nothing in them can run.
"""

import json
import os
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from disambig._core.array_file import read_arrays, write_arrays
from disambig._core.errors import DisambigError, ModelFileError, ParameterError, warn_caller
from disambig._core.files import check_replaceable, write_folder_atomically
from disambig._core.fingerprint import file_digest, has_digest
from disambig._core.parsing import parse_json, read_small_file
from disambig._core.temporaries import find_moved_aside
from disambig._core.typing import AnyArray, Features, FloatArray
from disambig._version import __version__
from disambig.methods.networks.predictor import read_predictor
from disambig.solvers.calibration import Calibration
from disambig.solvers.conformal import ConformalCalibration
from disambig.tabular.columns.transformer import FeatureTransformer, TransformerState
from disambig.tabular.columns.values import ColumnPlan
from disambig.tabular.columns.values_on_disk import Values, ValuesOnDisk
from disambig.tabular.estimate import Estimate

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

# Not by importing it, which takes a second: predicting by networks does without.
_SCIKIT_LEARN = version("scikit-learn")
# Bytes of a description; that of a table with 100,000 columns has a twentieth of it.
_LARGEST = 1_000_000_000

_KIND: Final = "disambig table model"
_FEATURES_KIND = "file of table features"
_VERSION: Final = 2
_DESCRIPTION, _FEATURES, _METHOD = "model.json", "features.safetensors", "method.safetensors"
# Of version 0.1, which is replaced by a new model but not read.
_OLD_FILES = {"features.skops", "method.skops"}
_FILES = {_DESCRIPTION, _FEATURES, _METHOD} | _OLD_FILES

# Of sums of probabilities, in doubles or from networks in single precision.
_TOLERANCE = 1e-4
_UNKNOWN_CATEGORY = "a category that no column has"
_LONGEST_REASON = 400
# While it is read.
_MOST_REPLACEMENTS = 20

Version = Annotated[str, Field(pattern=r"^[\w.+-]{1,40}$")]


@dataclass(frozen=True, eq=False)
class ModelParts:
    """What a folder holds: how columns become features, and features the chances of labels."""

    plan: ColumnPlan
    transformer: FeatureTransformer
    classifier: "PartialLabelClassifier"
    estimate: Estimate | None = None
    calibration: Calibration | None = None
    coverage: ConformalCalibration | None = None
    bad_rows: int = 0

    @property
    def classes(self) -> AnyArray:
        """The labels it can predict, in the column order of ``predict_proba``."""
        return self.classifier.classes_

    def probabilities_of(self, values: Values) -> FloatArray:
        """Return the same as ``predict_proba``, for values that ``column_values`` made."""
        if isinstance(values, ValuesOnDisk):
            return np.concatenate([self.probabilities_of(block) for _, block in values.blocks()])
        return self.probabilities_of_features(self.transformer.transform(values))

    def probabilities_of_features(self, X: Features) -> FloatArray:
        """Return calibrated probabilities, for features that the transformer made."""
        probabilities = self.classifier.predict_proba(X)
        return probabilities if self.calibration is None else self.calibration.apply(probabilities)


class _Description(BaseModel):
    """What ``model.json`` says."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, ser_json_inf_nan="constants"
    )

    kind: Literal["disambig table model"] = _KIND
    version: Literal[2] = _VERSION
    disambig: Version = __version__
    scikit_learn: Version = _SCIKIT_LEARN
    method: str
    classes: list[str | int | float | bool]
    plan: ColumnPlan
    estimate: Estimate | None
    # Models of version 0.2.0 have none of these.
    calibration: Calibration | None = None
    coverage: ConformalCalibration | None = None
    bad_rows: int = Field(default=0, ge=0)
    files: dict[str, str]

    @field_validator("calibration")
    @classmethod
    def _check_calibration(cls, value: Calibration | None) -> Calibration | None:
        if value is not None and not (0 < value.power <= 100 and 0 <= value.doubt <= 1):
            raise ValueError("a calibration has a power up to 100, and a doubt from 0 to 1")
        return value

    @field_validator("coverage")
    @classmethod
    def _check_coverage(cls, value: ConformalCalibration | None) -> ConformalCalibration | None:
        highest = 1 + _TOLERANCE
        if value is not None and not (0 < value.coverage < 1 and 0 <= value.threshold <= highest):
            raise ValueError("a coverage is between 0 and 1, and its threshold from 0 to 1")
        return value


def check_model_folder_is_free(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where a model cannot be put without losing something else."""
    check_replaceable(folder, _is_model)


def check_method_can_be_saved(method: "PartialLabelClassifier") -> None:
    """Refuse a method, fitted or not, that needs code of somebody's own."""
    # slow to import
    from disambig.methods.registry import get_method
    from disambig.methods.saving import scaler_kind

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
    for name, value in method.get_params(deep=False).items():
        if name in ("estimator", "network") and value is not None:
            raise ParameterError(
                "A model for tables can be saved if all of it is disambig's own. Got something "
                f"for {name!r}, which is code: leave it out."
            )
        if hasattr(value, "transform"):
            scaler_kind(value)


def write_parts(parts: ModelParts, folder: str | os.PathLike[str]) -> None:
    """Write a folder that takes the place of an older model once it can be read again."""
    check_model_folder_is_free(folder)
    check_method_can_be_saved(parts.classifier)
    with write_folder_atomically(folder, _is_model) as temporary:
        state = {"state": parts.transformer.state.model_dump()}
        arrays = parts.transformer.to_arrays()
        write_arrays(temporary / _FEATURES, _FEATURES_KIND, _VERSION, arrays, state)
        parts.classifier.save(temporary / _METHOD)
        description = _Description(
            method=parts.classifier.card.name,
            classes=parts.classes.tolist(),
            plan=parts.plan,
            estimate=parts.estimate,
            calibration=parts.calibration,
            coverage=parts.coverage,
            bad_rows=parts.bad_rows,
            files={
                name: file_digest((temporary / name).read_bytes(), "sha256")
                for name in (_FEATURES, _METHOD)
            },
        )
        text = description.model_dump_json(indent=2)
        (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")
        try:
            _read_once(temporary)
        except ModelFileError as error:
            raise ParameterError(
                "A model can only be saved if it can be loaded again and can predict. This "
                f"one cannot: {error}"
            ) from error


def read_parts(folder: str | os.PathLike[str], *, only_predict: bool = False) -> ModelParts:
    """Return what a folder holds, whose networks may be for predictions only."""
    if not Path(folder).is_dir():
        raise _no_model(folder)
    parts, made_with = _read_undisturbed(Path(folder), only_predict=only_predict)
    if made_with.split(".")[:2] != _SCIKIT_LEARN.split(".")[:2]:
        warn_caller(
            f"The model {os.fspath(folder)!r} was made with scikit-learn {made_with}, and this is "
            f"{_SCIKIT_LEARN}: predictions may differ."
        )
    return parts


def _no_model(folder: str | os.PathLike[str]) -> ModelFileError:
    aside = find_moved_aside(Path(folder).resolve())
    if aside is None:
        return ModelFileError(f"There is no model {os.fspath(folder)!r}. Check the path.")
    return ModelFileError(
        f"There is no model {os.fspath(folder)!r}: a run that was replacing it has been killed. "
        f"Fit again, or rename the old one, {os.fspath(aside)!r}."
    )


def _read_undisturbed(folder: Path, *, only_predict: bool) -> tuple[ModelParts, str]:
    """Read a model from one folder, even if another takes its place meanwhile."""
    for _ in range(_MOST_REPLACEMENTS):
        before = _identity(folder)
        try:
            found = _read_once(folder, only_predict=only_predict)
        except ModelFileError:
            if _identity(folder) == before:
                raise
            continue
        if _identity(folder) == before:
            return found
    raise ModelFileError(
        f"The model {os.fspath(folder)!r} is replaced again and again while it is read. Try again "
        "later."
    )


def _identity(folder: Path) -> tuple[int, ...]:
    try:
        found = folder.stat()
    except OSError:  # a moment between two renames
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _read_once(folder: Path, *, only_predict: bool = False) -> tuple[ModelParts, str]:
    """Return the model, and the version of scikit-learn that it was made with."""
    description = _read_description(folder)
    _check_files(folder, description)
    path = folder / _METHOD
    predictor = method = None
    if only_predict:
        predictor = read_predictor(path, description.method, np.array(description.classes))
    if predictor is None:
        method = _method_class(folder, description)
    try:
        arrays, found = read_arrays(folder / _FEATURES, _FEATURES_KIND, _VERSION)
        state = TransformerState.model_validate_json(json.dumps(found.get("state")))
        transformer = FeatureTransformer.from_arrays(description.plan, state, arrays)
        classifier: Any = predictor if method is None else method.load(path)
        if classifier.classes_.tolist() != description.classes:
            raise ValueError("the labels of its method are not those that it names")
        parts = ModelParts(
            description.plan,
            transformer,
            classifier,
            description.estimate,
            description.calibration,
            description.coverage,
            description.bad_rows,
        )
        _check_predictions(parts)
    except Exception as error:  # parts that do not fit together may make each other raise anything
        raise _refused(folder, _one_line(error)) from error
    return parts, description.scikit_learn


def _is_model(folder: Path) -> bool:
    """Tell whether a folder is a model, and nothing else is in it."""
    if not all(entry.is_file() and entry.name in _FILES for entry in folder.iterdir()):
        return False
    try:
        content = read_small_file(folder / _DESCRIPTION, ModelFileError, largest=_LARGEST)
        description = parse_json(content, ModelFileError)
    except (OSError, ModelFileError):
        return False
    return isinstance(description, dict) and description.get("kind") == _KIND


def _read_description(folder: Path) -> _Description:
    path = folder / _DESCRIPTION
    if not path.is_file():
        raise _refused(folder, f"it has no file {_DESCRIPTION}")

    def refuse(reason: str) -> ModelFileError:
        return _refused(folder, f"its {_DESCRIPTION} is damaged ({reason})")

    content = read_small_file(path, refuse, largest=_LARGEST)
    found = parse_json(content, refuse)
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise _refused(folder, f"its {_DESCRIPTION} was not written by disambig")
    version = found.get("version")
    if version == 1:
        raise ModelFileError(
            f"{os.fspath(folder)!r} is a model that disambig 0.1 wrote, in a format that is no "
            "longer read. Fit it again, or predict with disambig 0.1."
        )
    if version != _VERSION:
        reason = f"it has the version {version!r}, and this disambig reads {_VERSION}"
        raise _refused(folder, reason)
    try:
        return _Description.model_validate_json(content)
    except ValidationError as error:
        raise _refused(folder, f"in its {_DESCRIPTION}, {_one_line(error)}") from error


def _method_class(folder: Path, description: _Description) -> "type[PartialLabelClassifier]":
    from disambig.methods.registry import get_method  # slow to import

    # What has a colon would be imported from wherever the file says.
    if ":" not in description.method:
        try:
            return get_method(description.method)
        except DisambigError:
            pass
    raise _refused(folder, f"this disambig has no method {description.method[:40]!r}")


def _check_files(folder: Path, description: _Description) -> None:
    if set(description.files) != {_FEATURES, _METHOD}:
        raise _refused(folder, f"it must be made of {_FEATURES} and {_METHOD}")
    for name, expected in description.files.items():
        path = folder / name
        if not path.is_file():
            raise _refused(folder, f"it has no file {name}")
        if not has_digest(path.read_bytes(), expected):
            raise _refused(folder, f"its {name} is damaged, or belongs to another model")


def _check_predictions(parts: ModelParts) -> None:
    """Predict two rows that nobody has seen: one of nothing but gaps, one of strange values."""
    expected, given = parts.classifier.n_features_in_, parts.transformer.n_features
    if expected != given:
        raise ValueError(f"its method needs {expected} features, and gets {given}")
    transformer = parts.transformer
    strange: tuple[tuple[list[str], list[Any], type], ...] = (
        (transformer.numbers, [None, 0.0], np.float64),
        (transformer.categories, [None, _UNKNOWN_CATEGORY], object),
        (list(transformer.texts), ["", _UNKNOWN_CATEGORY], object),
    )
    columns = [
        pd.DataFrame(dict.fromkeys(names, cells), dtype=kind) for names, cells, kind in strange
    ]
    values = pd.concat(columns, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these rows are nobody's concern
        parts.transformer.unseen_categories(values)
        probabilities = parts.probabilities_of(values)
    if probabilities.shape != (2, len(parts.classes)):
        raise ValueError("its method does not give one probability for each label")
    sums = probabilities.sum(axis=1)
    if not (probabilities.min() >= 0 and np.abs(sums - 1).max() <= _TOLERANCE):
        raise ValueError("its probabilities are negative or do not sum to one")


def _one_line(error: Exception) -> str:
    """Return what an exception says, in one line that fits into a message."""
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    return first if len(first) <= _LONGEST_REASON else f"{first[:_LONGEST_REASON]}..."


def _refused(folder: Path, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(folder)!r} is not a model folder that disambig can read: {reason}. "
        "Give a folder that disambig wrote, or write it again."
    )
