"""Type aliases shared by all layers."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Label = Hashable
AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
# SciPy ships no types: any of its sparse arrays.
Sparse = Any
# A dense (n, d) array, or a sparse one where a method takes it.
Features = Any
