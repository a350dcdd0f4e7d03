"""``export_onnx``: a fitted network, with the feature pipeline of its table, as an ONNX file."""

import os
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.typing import AnyArray
from disambig.methods.networks.onnx_graph import OnnxGraph
from disambig.methods.networks.onnx_networks import add_calibration, add_networks
from disambig.methods.networks.predictor import NetworkPredictor, predictor_of
from disambig.solvers.calibration import Calibration
from disambig.tabular.model_folder import ModelParts
from disambig.tabular.onnx_features import add_features, check_plan, inputs_of

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

_FEATURES, _LABEL, _PROBABILITIES = "X", "predicted_label", "probabilities"


def export_onnx(
    model: Union[ModelParts, "PartialLabelClassifier"], path: str | os.PathLike[str]
) -> None:
    """Write a fitted network as an ONNX file, which runs without Python, disambig and torch.

    The file holds all networks, whose probabilities are averaged as by ``predict_proba``, how
    features are scaled, and of a model for tables what becomes of gaps and categories, and the
    calibration of its probabilities.

    Inputs are one for each column, of shape (rows, 1): doubles for numbers and booleans, NaN where
    nothing is known, and strings for categories, ``""`` where nothing is known. A date has its
    parts as inputs, such as ``"day (weekday)"``, and embeddings are one input. A classifier that
    was not fitted to a table has one input ``X`` of doubles. Outputs are ``predicted_label`` and
    ``probabilities``; the metadata of the file say what the classes and the inputs are.

    Parameters
    ----------
    model : TableModel or NetworkClassifier
        A fitted model whose method trains networks.
    path : path
        The file, usually called ``.onnx``.

    See Also
    --------
    load_model : Loads the model that ``disambig fit`` wrote.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig import CandidateLabels, NCPDClassifier
    >>> from disambig.tabular import export_onnx
    >>> X = [[0.0], [0.1], [1.0], [1.1]]
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat", "dog", "dog|fox"])
    >>> method = NCPDClassifier(hidden=8, epochs=2, ramp_epochs=1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(method.fit(X, y), Path(folder, "animals.onnx"))
    ...     [file.name for file in Path(folder).iterdir()]
    ['animals.onnx']
    """
    networks = _networks_of(model.classifier if isinstance(model, ModelParts) else model)
    classes = networks.classes_
    about: dict[str, Any] = {"classes": classes.tolist()}
    calibration = Calibration()
    if isinstance(model, ModelParts):
        check_plan(model.plan)
        inputs = inputs_of(model.plan)
        about["inputs"] = inputs
        if model.coverage is not None:  # labels of that probability cannot be ruled out
            about["threshold"] = model.coverage.threshold
        graph = OnnxGraph(reserved=list(inputs))
        X = add_features(graph, model.plan, model.transformer)
        calibration = model.calibration or calibration
    else:
        graph = OnnxGraph(reserved=[_FEATURES])
        X = graph.input(_FEATURES, float, networks.n_features_in_)
    probabilities = add_calibration(
        graph, add_networks(graph, X, networks), calibration, len(classes)
    )
    best = graph("ArgMax", probabilities, axis=1, keepdims=0)
    names = _label_names(classes)
    label = graph("Gather", names, best, axis=0)
    graph.output(label, _LABEL, str if names.dtype == object else names.dtype, None)
    single = graph("Cast", probabilities, to=graph.onnx.TensorProto.FLOAT)
    graph.output(single, _PROBABILITIES, np.float32, len(classes))
    graph.write(path, about)


def _networks_of(classifier: Any) -> NetworkPredictor:
    """Return the networks of a fitted method; refuse one that has others, or none."""
    if isinstance(classifier, NetworkPredictor):
        return classifier
    if getattr(classifier, "network", None) is not None:
        raise ParameterError(
            "Networks are exported if they are disambig's own. Got a 'network' of yours: export "
            "the module that it makes by torch.onnx, or fit without it."
        )
    networks = predictor_of(classifier) if hasattr(classifier, "network") else None
    if networks is None:
        name = classifier.card.name if hasattr(classifier, "card") else type(classifier).__name__
        raise ParameterError(
            f"ONNX is for methods that train networks, such as ncpd, ncpd+ and proden. Got "
            f"{name}: fit with one of these (--method ncpd), or serve the model as it is "
            "('disambig serve')."
        )
    return networks


def _label_names(classes: AnyArray) -> AnyArray:
    """Return classes as ONNX can give them: integers, or else strings."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    return np.array([str(name) for name in classes.tolist()], dtype=object)
