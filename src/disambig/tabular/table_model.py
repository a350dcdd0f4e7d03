"""A model for tables: columns become features, features become labels; and its folder.

``model.json`` says what the model is and what its other files are; ``features.safetensors`` holds
the fitted transformer, ``method.safetensors`` the fitted classifier. Nothing in them can run.
"""

import inspect
import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
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
from disambig._core.messages import join_names, option
from disambig._core.parameters import check_integer
from disambig._core.parsing import parse_json, read_small_file
from disambig._core.temporaries import find_moved_aside
from disambig._core.typing import AnyArray, Features, FloatArray, IntArray
from disambig._version import __version__
from disambig.candidates.groups import PromiseKind
from disambig.candidates.labels import CandidateLabels
from disambig.methods.networks.predictor import read_predictor
from disambig.solvers.calibration import Calibration
from disambig.solvers.conformal import ConformalCalibration, prediction_mask
from disambig.tabular.columns.transformer import FeatureTransformer, TransformerState
from disambig.tabular.columns.values import ColumnPlan, column_values
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.estimate import Estimate
from disambig.tabular.labels.label_cells import write_cells
from disambig.tabular.labels.label_columns import Labels
from disambig.tabular.labels.new_sets import rank_candidates, read_new_sets
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.listener import FitListener

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

# Not by importing it, which takes a second: predicting by networks does without.
_SCIKIT_LEARN = version("scikit-learn")

_PROBABILITIES_AT_A_TIME = 4_000_000
# Of what people read; predict_proba gives all of them.
_DECIMALS = 6
# Bytes of a description; that of a table with 100,000 columns has a twentieth of it.
_LARGEST = 1_000_000_000


@dataclass(frozen=True, eq=False)
class TableModel:
    """A classifier fitted to a table, with the columns it uses and how they become features.

    Attributes
    ----------
    plan : ColumnPlan
        Which columns are features, and what they hold.
    transformer : FeatureTransformer
        Fitted: fills in missing values, scales numbers, one-hot encodes categories, counts words.
    classifier : PartialLabelClassifier
        Fitted to the features that the transformer makes.
    estimate : Estimate or None
        How well it predicts held-out rows; None if that was not estimated.
    calibration : Calibration or None
        What makes its probabilities mean what they say, learned from held-out rows.
    coverage : ConformalCalibration or None
        Which labels predictions list because they cannot be ruled out; None if they do not.

    See Also
    --------
    fit_table : Trains it.
    load_model : Reads it from a folder.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import fit_table
    >>> tables = example_tables()
    >>> frame = tables["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=0
    ... )
    >>> predicted = model.predict(tables["new-vehicles.csv"])
    >>> set(predicted["predicted_label"]) <= {"bus", "opel", "saab", "van"}
    True
    """

    plan: ColumnPlan
    transformer: FeatureTransformer
    classifier: "PartialLabelClassifier"
    estimate: Estimate | None = None
    calibration: Calibration | None = None
    coverage: ConformalCalibration | None = None

    @property
    def classes(self) -> AnyArray:
        """The labels it can predict, in the column order of ``predict_proba``."""
        return self.classifier.classes_

    def predict_proba(
        self,
        frame: pd.DataFrame,
        *,
        described: DescribedColumns | None = None,
        embeddings: Any = None,
    ) -> FloatArray:
        """Return the probability of every label for every row of a table."""
        values = column_values(frame, self.plan, described, embeddings=embeddings)
        return self.probabilities_of(values)

    def predict(
        self,
        frame: pd.DataFrame,
        *,
        top: int = 1,
        labels: Labels | None = None,
        group: str | None = None,
        promise: PromiseKind | None = None,
        promise_strength: float = DEFAULT_PROMISE_STRENGTH,
        described: DescribedColumns | None = None,
        embeddings: Any = None,
        listener: FitListener | None = None,
    ) -> pd.DataFrame:
        """Return the most probable label of every row, or the ``top`` most probable ones.

        New rows may come with candidate sets of their own (``labels``), and in groups: labels are
        then chosen from the row's set. Warns of categories that the training table did not have.

        Parameters
        ----------
        frame : DataFrame
            A table with the feature columns of the training table, in any order; other columns
            are ignored.
        top : int, default=1
            How many labels to return for each row.
        labels : str, sequence of str, LabelColumns or CandidateLabels, optional
            The column or columns of candidate labels of these rows, of labels that the model
            knows. By default every label of the model is possible in every row.
        group : str, optional
            Column that names the group of every row, or "runs"; as in ``fit_table``.
        promise : {"cover", "exclusive"}, optional
            What is known of every group as a whole; see ``disambig.candidates.Promise``.
        promise_strength : float, default=0.9
            Share of the groups for which the promise is believed.
        described : DescribedColumns, optional
            Where the images of these rows are, and where their numbers are kept.
        embeddings : array-like of shape (n_rows, n_numbers), optional
            Those of these rows, if the model was trained with some.
        listener : FitListener, optional
            Is told how far the images are read.

        Returns
        -------
        predictions : DataFrame
            ``predicted_label`` and ``probability``, then ``label_2``, ``probability_2`` and so on.
            With ``coverage`` also ``possible_labels``: those that cannot be ruled out, the most
            probable first. With ``labels`` all of them are candidates of the row, probabilities are
            those given its set and its group, and cells are empty where a set has fewer labels.
        """
        check_integer("top", top, minimum=1)
        sets = self._sets_of(
            frame,
            labels,
            RowGroups(group=group, promise=promise, promise_strength=promise_strength),
        )
        values = column_values(frame, self.plan, described, listener, embeddings)
        for name, unseen in self.transformer.unseen_categories(values).items():
            warn_caller(
                f"Column {name!r} has values that the training table did not have; they are "
                f"ignored: {join_names(unseen)}."
            )
        count = min(top, len(self.classes))
        said = (
            self.probabilities_of(values.iloc[rows])
            for rows in slices_of_rows(len(values), len(self.classes))
        )
        threshold = None if self.coverage is None else self.coverage.threshold
        ranked = _rank_classes if sets is None else partial(_rank_candidates, sets)
        columns, shares, possible = ranked(said, count, threshold)
        names = self.classes
        if (columns < 0).any():  # sets of fewer labels: the last name is none
            names = np.array([*names.tolist(), None], dtype=object)
        result: dict[str, Any] = {}
        for place in range(count):
            ending = f"_{place + 1}" if place else ""
            label = f"label{ending}" if place else "predicted_label"
            result[label] = names[columns[:, place]]
            result[f"probability{ending}"] = shares[:, place].round(_DECIMALS)
        if threshold is not None:
            classes = [str(name) for name in self.classes.tolist()]
            rows = ([classes[column] for column in row] for row in possible)
            result["possible_labels"] = write_cells(rows, classes)
        return pd.DataFrame(result)

    def _sets_of(
        self, frame: pd.DataFrame, labels: Labels | None, groups: RowGroups
    ) -> CandidateLabels | None:
        """Return the candidate sets that new rows come with; None if they come with none."""
        if labels is not None:
            return read_new_sets(frame, labels, self.classes, groups)
        if groups != RowGroups():
            raise ParameterError(
                "For new rows, --group and --promise need candidate labels. Name their column by "
                f"{option('labels')}, or leave both out."
            )
        return None

    def probabilities_of(self, values: pd.DataFrame) -> FloatArray:
        """Return the same as ``predict_proba``, for values that ``column_values`` made."""
        probabilities = self.classifier.predict_proba(self.transformer.transform(values))
        return probabilities if self.calibration is None else self.calibration.apply(probabilities)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder. Loading it never unpickles anything.

        Parameters
        ----------
        folder : path
            Where to write. An existing model is replaced once the new one is complete; anything
            else is refused.
        """
        check_model_folder_is_free(folder)
        check_method_can_be_saved(self.classifier)
        with write_folder_atomically(folder, _is_model) as temporary:
            state = {"state": self.transformer.state.model_dump()}
            arrays = self.transformer.to_arrays()
            write_arrays(temporary / _FEATURES, _FEATURES_KIND, _VERSION, arrays, state)
            self.classifier.save(temporary / _METHOD)
            description = _Description(
                method=self.classifier.card.name,
                classes=self.classes.tolist(),
                plan=self.plan,
                estimate=self.estimate,
                calibration=self.calibration,
                coverage=self.coverage,
                files={
                    name: file_digest((temporary / name).read_bytes(), "sha256")
                    for name in (_FEATURES, _METHOD)
                },
            )
            text = description.model_dump_json(indent=2)
            (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")
            try:
                _read_model(temporary)
            except ModelFileError as error:
                raise ParameterError(
                    "A model can only be saved if it can be loaded again and can predict. This "
                    f"one cannot: {error}"
                ) from error


def slices_of_rows(n_rows: int, n_classes: int) -> list[slice]:
    """Return rows to predict at a time: a million rows of many classes would take gigabytes."""
    at_a_time = max(1, _PROBABILITIES_AT_A_TIME // n_classes)
    return [slice(start, start + at_a_time) for start in range(0, max(n_rows, 1), at_a_time)]


# The columns of the first labels of every row, their shares, and the columns that are possible.
Ranked = tuple[IntArray, FloatArray, list[list[int]]]


def _rank_classes(said: Iterable[FloatArray], count: int, threshold: float | None) -> Ranked:
    """Rank all classes by the probabilities of some rows at a time."""
    parts = []
    possible: list[list[int]] = []
    for probabilities in said:
        parts.append(_most_probable(probabilities, count))
        if threshold is not None:
            possible += _possible_columns(probabilities, threshold)
    columns, shares = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return columns, shares, possible


def _rank_candidates(
    sets: CandidateLabels, said: Iterable[FloatArray], count: int, threshold: float | None
) -> Ranked:
    """Rank the candidates of every row; what the model rules out is no longer possible."""
    ranked = rank_candidates(sets, said)
    return *ranked.first(count), [] if threshold is None else ranked.likely(threshold)


def _most_probable(probabilities: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    if count == 1:
        columns = probabilities.argmax(axis=1)[:, np.newaxis]
    else:
        # Stable, so that ties go to the first class, as in predict.
        columns = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    return columns, np.take_along_axis(probabilities, columns, axis=1)


def _possible_columns(probabilities: FloatArray, threshold: float) -> list[list[int]]:
    """Return the columns of the labels that cannot be ruled out, the most probable first.

    The predicted one is always among them, which covers more than was asked for, never less.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    counts = np.maximum(prediction_mask(probabilities, threshold).sum(axis=1), 1)
    return [row[:count] for row, count in zip(order.tolist(), counts.tolist(), strict=True)]


def untrained_model(
    plan: ColumnPlan, values: pd.DataFrame, classifier: "PartialLabelClassifier"
) -> tuple[TableModel, Features]:
    """Return a model whose transformer is fitted, and the features to fit its classifier on.

    Features are scaled once. Columns of a table have units of their own, so numbers are
    standardised here, columns of 0 and 1 are left alone, and the ``scaling`` of the classifier is
    set to "none". One whose ``scaling`` is another than its default does it by itself. Words of
    texts stay sparse features where the classifier takes such.
    """
    scaling = classifier.get_params(deep=False).get("scaling", "none")
    parameter = inspect.signature(type(classifier)).parameters.get("scaling")
    by_default = isinstance(scaling, str) and parameter is not None and scaling == parameter.default
    if by_default:
        classifier.set_params(scaling="none")
    by_table = by_default or (isinstance(scaling, str) and scaling == "none")
    kind: Literal["standard", "none"] = "standard" if by_table else "none"
    transformer = FeatureTransformer.fit(
        values,
        plan,
        scaling=kind,
        sparse=classifier.accepts_sparse and not classifier.prefers_dense,
    )
    return TableModel(plan, transformer, classifier), transformer.transform(values)


# ---- the folder

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
    # Models of version 0.2.0 have neither.
    calibration: Calibration | None = None
    coverage: ConformalCalibration | None = None
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


def load_model(folder: str | os.PathLike[str], *, only_predict: bool = False) -> TableModel:
    """Load the model in a folder. It is safe to load models from others: no code in it is run.

    Parameters
    ----------
    folder : path
        The folder that ``TableModel.save`` or ``disambig fit`` wrote.
    only_predict : bool, default=False
        Whether the model is used for predictions only. Networks are then computed in NumPy where
        possible, which saves the seconds that torch takes to import; their probabilities are the
        same up to rounding, in single precision.

    See Also
    --------
    TableModel : What it returns; its ``save`` wrote the folder.
    fit_table : Saves a model with ``out``.

    Examples
    --------
    >>> import tempfile
    >>> from disambig import fit_table, load_model
    >>> from disambig.datasets import example_tables
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fit_table(
    ...         frame,
    ...         method="plknn",
    ...         id="vehicle",
    ...         truth="checked",
    ...         out=f"{folder}/model",
    ...     )
    ...     model = load_model(f"{folder}/model")
    >>> type(model.classifier).__name__
    'PLKNN'
    """
    if not Path(folder).is_dir():
        raise _no_model(folder)
    model, made_with = _read_whole_model(Path(folder), only_predict=only_predict)
    if made_with.split(".")[:2] != _SCIKIT_LEARN.split(".")[:2]:
        warn_caller(
            f"The model {os.fspath(folder)!r} was made with scikit-learn {made_with}, and this is "
            f"{_SCIKIT_LEARN}: predictions may differ."
        )
    return model


def _no_model(folder: str | os.PathLike[str]) -> ModelFileError:
    aside = find_moved_aside(Path(folder).resolve())
    if aside is None:
        return ModelFileError(f"There is no model {os.fspath(folder)!r}. Check the path.")
    return ModelFileError(
        f"There is no model {os.fspath(folder)!r}: a run that was replacing it has been killed. "
        f"Fit again, or rename the old one, {os.fspath(aside)!r}."
    )


def _read_whole_model(folder: Path, *, only_predict: bool) -> tuple[TableModel, str]:
    """Read a model from one folder, even if another takes its place meanwhile."""
    for _ in range(_MOST_REPLACEMENTS):
        before = _identity(folder)
        try:
            found = _read_model(folder, only_predict=only_predict)
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


def _read_model(folder: Path, *, only_predict: bool = False) -> tuple[TableModel, str]:
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
        model = TableModel(
            description.plan,
            transformer,
            classifier,
            description.estimate,
            description.calibration,
            description.coverage,
        )
        _check_predictions(model)
    except Exception as error:  # parts that do not fit together may make each other raise anything
        raise _refused(folder, _one_line(error)) from error
    return model, description.scikit_learn


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


def _check_predictions(model: TableModel) -> None:
    """Predict two rows that nobody has seen: one of nothing but gaps, one of strange values."""
    expected, given = model.classifier.n_features_in_, model.transformer.n_features
    if expected != given:
        raise ValueError(f"its method needs {expected} features, and gets {given}")
    transformer = model.transformer
    strange: tuple[tuple[list[str], list[Any], type], ...] = (
        (transformer.numbers, [None, 0.0], np.float64),
        (transformer.categories, [None, _UNKNOWN_CATEGORY], object),
        (list(transformer.texts), ["", _UNKNOWN_CATEGORY], object),
    )
    parts = [
        pd.DataFrame(dict.fromkeys(names, cells), dtype=kind) for names, cells, kind in strange
    ]
    values = pd.concat(parts, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these rows are nobody's concern
        model.transformer.unseen_categories(values)
        probabilities = model.probabilities_of(values)
    if probabilities.shape != (2, len(model.classes)):
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
