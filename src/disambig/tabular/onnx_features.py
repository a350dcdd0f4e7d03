"""The features of a table as nodes of ONNX: gaps, ranges, scales, marks and categories."""

import re
from collections.abc import Mapping

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.messages import option
from disambig._core.typing import AnyArray
from disambig.methods.networks.onnx_graph import ML, OnnxGraph
from disambig.methods.networks.onnx_networks import add_scale
from disambig.tabular.columns.transformer import LARGEST_SCORE, FeatureTransformer
from disambig.tabular.columns.values import CategoryCodes, ColumnPlan, value_names
from disambig.tabular.table_cells import MISSING_TEXTS

EMBEDDINGS = "embeddings"
_WHOLE = re.compile(r"[+-]?[0-9]{1,16}")


def check_plan(plan: ColumnPlan) -> None:
    """Refuse columns that ONNX cannot read: texts and images."""
    for column in plan.columns:
        if column.kind in ("text", "image"):
            what = "free text" if column.kind == "text" else "images"
            raise ParameterError(
                f"ONNX takes numbers, dates as numbers and categories. Column {column.name!r} "
                f"holds {what}: fit without it ({option('ignore', column.name)}), or describe it "
                "by numbers in your own program and fit on these (--features FILE.npy, in Python "
                "embeddings=)."
            )


def inputs_of(plan: ColumnPlan) -> dict[str, dict[str, object]]:
    """Return the inputs: for each the column it comes from, and what it takes."""
    found: dict[str, dict[str, object]] = {}
    for column, names in zip(plan.columns, value_names(plan), strict=True):
        for name in names:
            kind = "string" if column.is_string else "double"
            found[name] = {"column": column.name, "kind": column.kind, "takes": kind}
    if plan.embeddings:
        name = EMBEDDINGS
        while name in found:
            name += "'"
        found[name] = {"column": None, "kind": "embedding", "takes": "double"}
    return found


def add_features(graph: OnnxGraph, plan: ColumnPlan, transformer: FeatureTransformer) -> str:
    """Add inputs for the columns of a table; return the features that the transformer makes."""
    values: dict[str, str] = {}
    blocks = []
    for name, about in inputs_of(plan).items():
        width = plan.embeddings if about["kind"] == "embedding" else 1
        values[name] = graph.input(name, str if about["takes"] == "string" else float, width)
        if about["takes"] == "double":
            blocks.append(values[name])
    parts = []
    if blocks:
        numbers = blocks[0] if len(blocks) == 1 else graph("Concat", *blocks, axis=1)
        parts += _add_numbers(graph, numbers, transformer)
    parts += [
        _add_category(graph, values[name], codes)
        for name, codes in transformer.state.categories.items()
        if codes.width
    ]
    return parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)


def _add_numbers(graph: OnnxGraph, numbers: str, transformer: FeatureTransformer) -> list[str]:
    """Add what is made of numbers: scaled ones, normal scores, marks of values and of gaps."""
    state, double = transformer.state, graph.onnx.TensorProto.DOUBLE
    place_of = {name: place for place, name in enumerate(transformer.numbers)}
    missing = graph("IsNaN", numbers)
    filled = graph("Where", missing, transformer.medians, numbers)
    X = graph("Min", graph("Max", filled, transformer.low), transformer.high)

    def columns(value: str, names: Mapping[str, object] | list[str]) -> str:
        return graph("Gather", value, np.array([place_of[name] for name in names]), axis=1)

    parts = [X if transformer.scale is None else add_scale(graph, X, transformer.scale)]
    if transformer.ranks is not None:
        scores = add_scale(graph, columns(X, state.tails), transformer.ranks)
        parts.append(graph("Min", graph("Max", scores, -LARGEST_SCORE), LARGEST_SCORE))
    if state.spikes:
        is_marked = graph("Equal", columns(X, state.spikes), np.array([*state.spikes.values()]))
        is_there = graph("Not", columns(missing, state.spikes))
        parts.append(graph("Cast", graph("And", is_marked, is_there), to=double))
    if state.gaps:
        parts.append(graph("Cast", columns(missing, state.gaps), to=double))
    return parts


def _add_category(graph: OnnxGraph, cells: str, codes: CategoryCodes) -> str:
    """Add columns of 0 and 1, all 0 for a category that was not seen where none was rare."""
    places = _places(codes)
    (unseen,) = codes.places(["\0"]).tolist()  # a text that no table can hold
    place = graph(
        "LabelEncoder",
        cells,
        domain=ML,
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=unseen,
    )
    # The place -1 is that of the last row.
    table: AnyArray = np.vstack([np.eye(codes.width), np.zeros(codes.width)])
    flat = graph("Reshape", place, np.array([-1]))
    return graph("Gather", table, flat, axis=0)


def _places(codes: CategoryCodes) -> dict[str, int]:
    """Return the column of every string; 3.0 is 3, and words such as NA are gaps."""
    names = [name for name in (*codes.frequent, *codes.rare) if name is not None]
    written = {f"{name}.0": name for name in names if _WHOLE.fullmatch(name)}
    cells = {**dict.fromkeys(sorted(MISSING_TEXTS)), **written, **{name: name for name in names}}
    return dict(zip(cells, codes.places(list(cells.values())).tolist(), strict=True))
