"""Names of array types, defined once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FloatArray", "IndexArray", "IntArray"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
IndexArray = NDArray[np.int64]
