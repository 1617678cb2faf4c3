"""TensorFlow's twenty pooling ops under their own names, keyword-only, on arrays.

Results follow TensorFlow 2.21's CPU kernels; ``docs/differences.md`` lists where they differ on purpose. Dtypes and
layouts go beyond TensorFlow's: every op takes every dtype of its row in :data:`OPS`, in every layout.
"""

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
from poolgrad.specs import OPS

__all__ = [
    "OPS",
    "AvgPool",
    "AvgPool3D",
    "AvgPool3DGrad",
    "AvgPoolGrad",
    "FractionalAvgPool",
    "FractionalAvgPoolGrad",
    "FractionalMaxPool",
    "FractionalMaxPoolGrad",
    "FractionalPoolOutput",
    "MaxPool",
    "MaxPool3D",
    "MaxPool3DGrad",
    "MaxPool3DGradGrad",
    "MaxPoolGrad",
    "MaxPoolGradGrad",
    "MaxPoolGradGradV2",
    "MaxPoolGradGradWithArgmax",
    "MaxPoolGradV2",
    "MaxPoolGradWithArgmax",
    "MaxPoolV2",
    "MaxPoolWithArgmax",
    "MaxPoolWithArgmaxOutput",
    "stock_windows",
]
