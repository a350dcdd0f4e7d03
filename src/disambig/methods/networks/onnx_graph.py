"""An ONNX graph that grows node by node; numbers and arrays among inputs become constants."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from disambig._core.errors import import_extra
from disambig._core.files import write_atomically
from disambig._core.typing import AnyArray
from disambig._version import __version__

# Of 2022: whatever runs ONNX knows these.
_OPSET, _ML_OPSET, _IR_VERSION = 17, 2, 8
ML = "ai.onnx.ml"
ROWS = "rows"  # the length of all inputs and outputs


class OnnxGraph:
    """Nodes, constants, inputs and outputs, in the order in which they were added.

    Call it with an operator of ONNX, its inputs and its attributes: it returns the name of the
    result. ``graph("Add", "x", 1.0)`` is ``x + 1``, in double precision.
    """

    def __init__(self, reserved: Sequence[str] = ()) -> None:
        self.onnx: Any = import_extra("onnx", extra="onnx")
        self._taken = set(reserved)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def __call__(
        self,
        operator: str,
        *inputs: str | float | np.generic | AnyArray,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; return the name of its result."""
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        result = self._name(operator)
        node = self.onnx.helper.make_node(operator, names, [result], domain=domain, **attributes)
        self._nodes.append(node)
        return result

    def input(self, name: str, kind: Any, width: int) -> str:
        """Add an input with so many columns, of a type of NumPy; return its name."""
        self._inputs.append(self._value(name, kind, [ROWS, width]))
        return name

    def output(self, value: str, name: str, kind: Any, width: int | None) -> str:
        """Make a value an output, with so many columns or none; return its name there."""
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        shape = [ROWS] if width is None else [ROWS, width]
        self._outputs.append(self._value(name, kind, shape))
        return name

    def write(self, path: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
        """Check the model and write it to a file; ``about`` is kept with it, as JSON."""
        helper = self.onnx.helper
        graph = helper.make_graph(
            self._nodes, "disambig", self._inputs, self._outputs, self._constants
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(ML, _ML_OPSET)],
            ir_version=_IR_VERSION,
            producer_name="disambig",
            producer_version=__version__,
        )
        helper.set_model_props(
            model, {name: json.dumps(value, ensure_ascii=False) for name, value in about.items()}
        )
        self.onnx.checker.check_model(model, full_check=True)
        with write_atomically(path) as temporary:
            temporary.write_bytes(model.SerializeToString(deterministic=True))

    def _constant(self, value: float | np.generic | AnyArray) -> str:
        name, array = self._name("constant"), np.asarray(value)
        if array.dtype == object or array.dtype.kind == "U":
            texts = [str(one).encode() for one in array.ravel().tolist()]
            kind = self.onnx.TensorProto.STRING
            tensor = self.onnx.helper.make_tensor(name, kind, array.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self._constants.append(tensor)
        return name

    def _value(self, name: str, kind: Any, shape: list[Any]) -> Any:
        helper = self.onnx.helper
        of_strings = kind is str
        element = (
            self.onnx.TensorProto.STRING
            if of_strings
            else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        )
        return helper.make_tensor_value_info(name, element, shape)

    def _name(self, what: str) -> str:
        name = f"{what}_{len(self._nodes) + len(self._constants)}"
        while name in self._taken:  # a column may be called anything
            name += "'"
        self._taken.add(name)
        return name
