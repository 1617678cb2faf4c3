"""Every pooling op and its gradient, exact and repeatable, with TensorFlow's names and without TensorFlow."""

from poolgrad import raw_ops
from poolgrad.errors import InvalidArgumentError, PoolGradError, UnsupportedError
from poolgrad.fractional import (
    fractional_avg_pool,
    fractional_avg_pool_grad,
    fractional_max_pool,
    fractional_max_pool_grad,
    fractional_max_pool_grad_grad,
    pooling_sequence,
)
from poolgrad.functional import (
    avg_pool,
    avg_pool_grad,
    max_pool,
    max_pool_grad,
    max_pool_grad_grad,
    max_unpool,
    max_unpool_grad,
)
from poolgrad.results import get_result_pool, release_results, set_result_pool
from poolgrad.routes import gradient_flow
from poolgrad.threads import get_num_threads, set_num_threads

__all__ = [
    "InvalidArgumentError",
    "PoolGradError",
    "UnsupportedError",
    "avg_pool",
    "avg_pool_grad",
    "fractional_avg_pool",
    "fractional_avg_pool_grad",
    "fractional_max_pool",
    "fractional_max_pool_grad",
    "fractional_max_pool_grad_grad",
    "get_num_threads",
    "get_result_pool",
    "gradient_flow",
    "max_pool",
    "max_pool_grad",
    "max_pool_grad_grad",
    "max_unpool",
    "max_unpool_grad",
    "pooling_sequence",
    "raw_ops",
    "release_results",
    "set_num_threads",
    "set_result_pool",
]


def __getattr__(name: str) -> type:
    """The studio for notebooks is loaded when it is named: it needs packages that nothing else does."""
    if name != "Studio":
        raise AttributeError(f"module 'poolgrad' has no attribute {name!r}")
    try:
        from poolgrad.studio.widget import Studio
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "traitlets"):
            raise
        raise ImportError(
            'poolgrad.Studio needs a notebook widget. To get it: pip install "poolgrad[notebook]"'
        ) from error
    return Studio
