"""Networks in ONNX say what predict_proba says, as onnxruntime computes it."""

import numpy as np
import onnxruntime
import pytest
from scipy.special import ndtri

from disambig import CandidateLabels, NCPDPlusClassifier
from disambig.methods.feature_scales import FeatureScale
from disambig.methods.networks.onnx_graph import OnnxGraph
from disambig.methods.networks.onnx_networks import add_calibration, add_scale
from disambig.solvers.calibration import Calibration
from disambig.tabular import export_onnx
from methods.instances import INSTANCES
from methods.ncpd.examples import NEW_X, X, Y, quick

FAR = np.vstack([NEW_X, 1e30 * NEW_X[:1], -1e30 * NEW_X[:1]])


def run(path, **inputs):
    return onnxruntime.InferenceSession(path).run(None, inputs)


def computed(tmp_path, add, values):
    """Return what nodes make of the columns of an array."""
    graph = OnnxGraph(reserved=["x"])
    result = add(graph, graph.input("x", float, values.shape[1]))
    graph.output(result, "y", float, values.shape[1])
    graph.write(tmp_path / "nodes.onnx", {})
    (found,) = run(tmp_path / "nodes.onnx", x=values)
    return found


@pytest.mark.parametrize(
    "method",
    [
        quick(),
        quick(hidden=(16, 8), n_networks=3),
        quick(hidden=()),
        quick(batch_norm=False),
        *(quick(activation=name) for name in ("gelu", "mish", "silu", "tanh")),
        quick(scaling="quantile"),
        NCPDPlusClassifier(
            select="none", second_view="quantile", hidden=8, epochs=3, ramp_epochs=1, random_state=0
        ),
        INSTANCES["ncpd_plus"],
        INSTANCES["pico"],
    ],
    ids=str,
)
def test_probabilities_are_those_of_the_method(tmp_path, method):
    fitted = method.fit(X, Y)
    export_onnx(fitted, tmp_path / "model.onnx")
    labels, probabilities = run(tmp_path / "model.onnx", X=FAR)
    np.testing.assert_allclose(probabilities, fitted.predict_proba(FAR), rtol=0, atol=1e-5)
    assert list(map(str, labels)) == list(map(str, fitted.predict(FAR)))


@pytest.mark.parametrize(("names", "kind"), [([10, 20, 30], np.int64), (list("abc"), object)])
def test_labels_are_integers_or_strings_as_they_were(tmp_path, names, kind):
    named = CandidateLabels.from_mask(Y.to_mask(), classes=names)
    fitted = quick().fit(X, named)
    export_onnx(fitted, tmp_path / "model.onnx")
    labels, _ = run(tmp_path / "model.onnx", X=NEW_X)
    assert labels.dtype == kind
    assert labels.tolist() == fitted.predict(NEW_X).tolist()


def test_normal_scores_are_those_of_the_scale(tmp_path):
    generator = np.random.default_rng(0)
    columns = [
        generator.normal(size=2000),
        generator.integers(0, 4, 2000),  # few values, so that many quantiles are equal
        np.full(2000, 3.0),
        generator.exponential(size=2000) ** 3,
        np.append(np.zeros(1999), 1.0),
    ]
    table = np.column_stack(columns).astype(float)
    scale = FeatureScale.fit("quantile", table)
    beyond = np.vstack([table.min(axis=0) - 1, table.max(axis=0) + 1])
    between = (scale.learned["quantiles_"][:-1] + scale.learned["quantiles_"][1:]) / 2
    values = np.vstack([table, scale.learned["quantiles_"], between, beyond])
    found = computed(tmp_path, lambda graph, x: add_scale(graph, x, scale), values)
    np.testing.assert_allclose(found, scale.apply(values), rtol=0, atol=1e-9)


def test_the_scores_of_one_row_are_zero(tmp_path):
    scale = FeatureScale.fit("quantile", np.array([[1.0, 2.0]]))
    values = np.array([[0.0, 2.0], [1.0, 3.0]])
    found = computed(tmp_path, lambda graph, x: add_scale(graph, x, scale), values)
    assert found.tolist() == [[0, 0], [0, 0]]


def test_the_inverse_of_the_normal_distribution_is_that_of_scipy(tmp_path):
    # Evenly spaced quantiles: the rank of a value between 0 and 1 is the value itself.
    scale = FeatureScale("quantile", {"quantiles_": np.array([[0.0], [1.0]])})
    values = np.concatenate([np.linspace(1e-7, 1 - 1e-7, 5001), 10 ** np.linspace(-7, -1, 200)])
    found = computed(tmp_path, lambda graph, x: add_scale(graph, x, scale), values[:, np.newaxis])
    np.testing.assert_allclose(found[:, 0], ndtri(values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("calibration", [Calibration(2.5, 0.1), Calibration(0.3, 0.0)])
def test_calibration_is_applied(tmp_path, calibration):
    probabilities = np.random.default_rng(1).dirichlet([0.05] * 6, size=50)
    found = computed(
        tmp_path, lambda graph, x: add_calibration(graph, x, calibration, 6), probabilities
    )
    np.testing.assert_allclose(found, calibration.apply(probabilities), rtol=0, atol=1e-12)
