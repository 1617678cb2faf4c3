"""TensorFlow's twenty pooling ops under their own names, keyword-only, on arrays.

Results follow TensorFlow 2.21's CPU kernels; ``docs/differences.md`` lists where they differ on purpose. Dtypes and
layouts go beyond TensorFlow's: every op takes every dtype of its row in :data:`OPS`, in every layout.
"""

from poolgrad import specs
from poolgrad.attributes import stock_windows
from poolgrad.raw_ops._argmax import (
    MaxPoolGradGradWithArgmax,
    MaxPoolGradWithArgmax,
    MaxPoolWithArgmax,
    MaxPoolWithArgmaxOutput,
)
from poolgrad.raw_ops._averages import AvgPool, AvgPool3D, AvgPool3DGrad, AvgPoolGrad
from poolgrad.raw_ops._fractional import (
    FractionalAvgPool,
    FractionalAvgPoolGrad,
    FractionalMaxPool,
    FractionalMaxPoolGrad,
    FractionalPoolOutput,
)
from poolgrad.raw_ops._maxima import (
    MaxPool,
    MaxPool3D,
    MaxPool3DGrad,
    MaxPool3DGradGrad,
    MaxPoolGrad,
    MaxPoolGradGrad,
    MaxPoolGradGradV2,
    MaxPoolGradV2,
    MaxPoolV2,
)
from poolgrad.specs import Spec

# In TensorFlow's order, which the table of ops follows.
__all__ = [  # noqa: RUF022
    "AvgPool",
    "AvgPoolGrad",
    "AvgPool3D",
    "AvgPool3DGrad",
    "MaxPool",
    "MaxPoolV2",
    "MaxPoolGrad",
    "MaxPoolGradV2",
    "MaxPoolGradGrad",
    "MaxPoolGradGradV2",
    "MaxPool3D",
    "MaxPool3DGrad",
    "MaxPool3DGradGrad",
    "MaxPoolWithArgmax",
    "MaxPoolGradWithArgmax",
    "MaxPoolGradGradWithArgmax",
    "FractionalAvgPool",
    "FractionalAvgPoolGrad",
    "FractionalMaxPool",
    "FractionalMaxPoolGrad",
    "FractionalPoolOutput",
    "MaxPoolWithArgmaxOutput",
    "OPS",
    "Spec",
    "stock_windows",
]

OPS = {name: specs.OPS[name] for name in __all__ if name in specs.OPS}
"""Every op by its name, as data."""
