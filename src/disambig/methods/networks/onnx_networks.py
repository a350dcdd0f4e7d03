"""Networks, and the scales of their features, as nodes of ONNX."""

import numpy as np

from disambig._core.typing import FloatArray
from disambig.methods.feature_scales import (
    LARGEST_INPUT,
    SMALLEST_RANK,
    FeatureScale,
    are_constant,
)
from disambig.methods.networks.onnx_graph import OnnxGraph
from disambig.methods.networks.predictor import NetworkPredictor, Perceptrons
from disambig.solvers.calibration import SMALLEST_PROBABILITY, Calibration

# Of Wichura's algorithm AS 241 for the inverse of the normal distribution: numerators and
# denominators for the middle, and for tails down to a probability of 1e-11; lowest power first.
_MIDDLE = (
    (
        3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3,
        1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3,
    ),
    (
        1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
        2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)  # fmt: skip
_TAIL = (
    (
        1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
        3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
        1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)  # fmt: skip
_MIDDLE_ENDS, _SQUARED_END, _TAIL_START = 0.425, 0.180625, 1.6


def add_scale(graph: OnnxGraph, X: str, scale: FeatureScale) -> str:
    """Add what ``FeatureScale.apply`` does; return the scaled features."""
    if scale.kind == "quantile":
        return _add_normal_scores(graph, X, scale.learned["quantiles_"])
    center, size = scale.learned["center_"], scale.learned["scale_"]
    if not center.any() and (size == 1).all():
        return X
    return graph("Div", graph("Sub", X, center), size)


def add_networks(graph: OnnxGraph, X: str, networks: NetworkPredictor) -> str:
    """Add networks, which see doubles; return their probabilities, averaged over all of them."""
    total = None
    for weight, member in networks.members:
        shares = graph("Mul", _add_perceptrons(graph, X, member), weight)
        total = shares if total is None else graph("Add", total, shares)
    assert total is not None
    return graph("Div", total, sum(weight for weight, _ in networks.members))


def add_calibration(
    graph: OnnxGraph, probabilities: str, calibration: Calibration, n_classes: int
) -> str:
    """Add what ``Calibration.apply`` does; return calibrated probabilities."""
    if calibration == Calibration():
        return probabilities
    logarithms = graph("Log", graph("Max", probabilities, SMALLEST_PROBABILITY))
    spread = graph("Softmax", graph("Mul", logarithms, calibration.power), axis=-1)
    sure = graph("Mul", spread, 1 - calibration.doubt)
    return graph("Add", sure, calibration.doubt / n_classes)


def _add_perceptrons(graph: OnnxGraph, X: str, networks: Perceptrons) -> str:
    views = [add_scale(graph, X, scale) for scale in networks.scales]
    inputs = views[0] if len(views) == 1 else graph("Concat", *views, axis=1)
    inputs = graph("Min", graph("Max", inputs, -LARGEST_INPUT), LARGEST_INPUT)
    single = graph("Cast", inputs, to=graph.onnx.TensorProto.FLOAT)
    values = graph("Unsqueeze", single, np.array([0]))
    for number, layer in enumerate(networks.layers):
        if number:
            values = _add_activation(graph, values, networks.activation)
        values = graph("MatMul", graph("Sub", values, layer.mean), layer.weight)
        values = graph("Add", graph("Mul", values, layer.gamma), layer.bias)
    logits = graph("Cast", values, to=graph.onnx.TensorProto.DOUBLE)
    return graph("ReduceMean", graph("Softmax", logits, axis=-1), axes=[0], keepdims=0)


def _add_activation(graph: OnnxGraph, x: str, activation: str) -> str:
    one, half = np.float32(1), np.float32(0.5)
    match activation:
        case "relu":
            return graph("Relu", x)
        case "tanh":
            return graph("Tanh", x)
        case "silu":
            return graph("Mul", x, graph("Sigmoid", x))
        case "mish":
            return graph("Mul", x, graph("Tanh", graph("Softplus", x)))
        case "gelu":
            wave = graph("Erf", graph("Mul", x, np.sqrt(half)))
            return graph("Mul", graph("Mul", x, half), graph("Add", wave, one))
        case _:
            raise AssertionError(activation)


def _add_normal_scores(graph: OnnxGraph, X: str, quantiles: FloatArray) -> str:
    """Add the normal score of every value's rank, as ``feature_scales`` computes it."""
    low, high = quantiles[0], quantiles[-1]
    n_quantiles = len(quantiles)
    values = graph("Min", graph("Max", X, low), high)
    # Quantiles up to the value, and below it: equal ones may lie between.
    last = graph("Sub", _add_count(graph, values, quantiles, "LessOrEqual"), 1)
    first = _add_count(graph, values, quantiles, "Less")
    is_quantile = graph("LessOrEqual", first, last)
    before = graph("GatherElements", quantiles, last, axis=0)
    behind = graph("GatherElements", quantiles, first, axis=0)
    gap = graph("Where", is_quantile, 1.0, graph("Sub", behind, before))
    way = graph("Div", graph("Sub", values, before), gap)
    way = graph("Where", is_quantile, 0.5, way)
    double = graph.onnx.TensorProto.DOUBLE
    steps = graph("Cast", graph("Sub", first, last), to=double)
    place = graph("Add", graph("Cast", last, to=double), graph("Mul", way, steps))
    ranks = graph("Div", place, float(max(n_quantiles - 1, 1)))
    # Values at the ends and beyond them rank like the ends.
    ranks = graph("Where", graph("GreaterOrEqual", X, high), 1.0, ranks)
    ranks = graph("Where", graph("LessOrEqual", X, low), 0.0, ranks)
    ranks = graph("Max", ranks, SMALLEST_RANK)
    ranks = graph("Min", ranks, 1 - SMALLEST_RANK)
    scores = _add_normal_inverse(graph, ranks)
    return graph("Where", are_constant(low, high)[np.newaxis], 0.0, scores)


def _add_count(graph: OnnxGraph, values: str, table: FloatArray, comparison: str) -> str:
    """Add a binary search: how many numbers of each column of a table are below every value."""
    n_rows = 1 << len(table).bit_length()
    padded = np.full((n_rows, table.shape[1]), np.inf)
    padded[: len(table)] = table
    zero = graph.onnx.numpy_helper.from_array(np.zeros(1, dtype=np.int64))
    count = graph("ConstantOfShape", graph("Shape", values), value=zero)
    step = n_rows // 2
    while step:
        looked_at = graph("Add", count, step - 1)
        is_below = graph(comparison, graph("GatherElements", padded, looked_at, axis=0), values)
        steps = graph("Cast", is_below, to=graph.onnx.TensorProto.INT64)
        count = graph("Add", count, graph("Mul", steps, step))
        step //= 2
    return count


def _add_normal_inverse(graph: OnnxGraph, p: str) -> str:
    """Add the inverse of the normal distribution, which ONNX does not have."""
    q = graph("Sub", p, 0.5)
    squared = graph("Sub", _SQUARED_END, graph("Mul", q, q))
    middle = graph("Mul", q, _add_ratio(graph, squared, _MIDDLE))
    tail = graph("Min", p, graph("Sub", 1.0, p))
    root = graph("Sqrt", graph("Neg", graph("Log", tail)))
    far = _add_ratio(graph, graph("Sub", root, _TAIL_START), _TAIL)
    signed = graph("Mul", graph("Sign", q), far)
    is_middle = graph("LessOrEqual", graph("Abs", q), _MIDDLE_ENDS)
    return graph("Where", is_middle, middle, signed)


def _add_ratio(
    graph: OnnxGraph, x: str, polynomials: tuple[tuple[float, ...], tuple[float, ...]]
) -> str:
    results = []
    for coefficients in polynomials:
        *others, highest = coefficients
        value = graph("Mul", x, highest)
        for number, coefficient in enumerate(reversed(others)):
            value = graph("Add", value, coefficient)
            if number < len(others) - 1:
                value = graph("Mul", value, x)
        results.append(value)
    return graph("Div", *results)
