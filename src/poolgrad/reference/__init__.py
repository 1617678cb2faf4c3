"""Slow definitions of every op in plain NumPy loops: the oracle that the fast code is tested against.

It shares no code with the rest of the package. Averages are exact fractions rounded once; maxima and their
gradients follow TensorFlow's rules and order of summation.

>>> import numpy as np
>>> from poolgrad import reference
>>> x = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)
>>> avg_pool = reference.RAW_OPS["AvgPool"]
>>> avg_pool(value=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME").ravel().tolist()
[3.0, 4.5, 7.5, 9.0]
"""

from ._functional import avg_pool, avg_pool_grad, max_pool, max_pool_grad, max_pool_grad_grad
from ._numbers import largest_finite, nearest, ulp
from ._raw_ops import RAW_OPS, exact_average
from ._sequences import Philox, pooling_sequence
from ._windows import Pooling

__all__ = [
    "RAW_OPS",
    "Philox",
    "Pooling",
    "avg_pool",
    "avg_pool_grad",
    "exact_average",
    "largest_finite",
    "max_pool",
    "max_pool_grad",
    "max_pool_grad_grad",
    "nearest",
    "pooling_sequence",
    "ulp",
]
